//! Keys that `trellisd http key new` made, and those in the settings: who has one may call.
//!
//! A made key is shown once and kept only as its SHA-256, in a file of ours that is looked at before each
//! use, so that a running daemon knows of new and revoked ones. Comparing takes the same time whichever
//! key is right, or none.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};
use trellis_protocol::{Failure, FailureKind};
use zeroize::Zeroizing;

use crate::clock;
use crate::config::http::Secret;
use crate::state_files;

/// How every made key begins; such keys are also taken as bearer tokens.
pub const API_KEY_PREFIX: &str = "trellis_";

/// A made key, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Its name for `revoke`.
    pub id: String,
    /// What it is for, in its owner's words.
    pub name: String,
    /// When it was made.
    pub created: String,
    /// What is compared.
    pub sha256: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct ApiKeyFile {
    keys: Vec<ApiKey>,
}

/// Where made keys are kept.
pub fn path(state: &Path) -> PathBuf {
    state.join("http-keys.json")
}

/// All made keys, oldest first.
pub fn list(path: &Path) -> Result<Vec<ApiKey>, Failure> {
    let Some(text) = state_files::read(path) else { return Ok(Vec::new()) };
    let kept: ApiKeyFile = serde_json::from_str(&text).map_err(|error| {
        Failure::new("unreadable", FailureKind::Unreadable, format!("the file of keys cannot be read: {error}"))
            .with_hint("repair or remove http-keys.json in the state directory; its keys are void until then")
    })?;
    Ok(kept.keys)
}

/// Makes a key and returns it: the only time that it is seen.
pub fn create(path: &Path, name: &str) -> Result<(ApiKey, Zeroizing<String>), Failure> {
    let secret = secret().map_err(|error| write_failure(&error))?;
    let mut key = Zeroizing::new(String::with_capacity(API_KEY_PREFIX.len() + 2 * secret.len()));
    key.push_str(API_KEY_PREFIX);
    push_hex(&mut key, secret.as_slice());
    let digest = digest(&key);
    let made = ApiKey {
        id: digest[..8].to_owned(),
        name: name.to_owned(),
        created: clock::file_name_timestamp(),
        sha256: digest,
    };
    change(path, |keys| keys.push(made.clone()))?;
    Ok((made, key))
}

/// Makes a key void. Whether there was one of that name.
pub fn revoke(path: &Path, id: &str) -> Result<bool, Failure> {
    let mut found = false;
    change(path, |keys| {
        let before = keys.len();
        keys.retain(|key| key.id != id);
        found = keys.len() < before;
    })?;
    Ok(found)
}

/// Two who change the file take turns.
fn change(path: &Path, change: impl FnOnce(&mut Vec<ApiKey>)) -> Result<(), Failure> {
    let lock = state_files::open_append(&path.with_extension("lock"));
    let _lock = lock.and_then(|file| file.lock().map(|()| file)).map_err(|error| write_failure(&error))?;
    let mut keys = list(path)?;
    change(&mut keys);
    let text = serde_json::to_vec_pretty(&ApiKeyFile { keys }).unwrap_or_default();
    state_files::replace(path, &text).map_err(|error| write_failure(&error))
}

fn write_failure(error: &io::Error) -> Failure {
    Failure::new("unavailable", FailureKind::Unavailable, format!("the file of keys cannot be written: {error}"))
        .with_hint("check who owns the state directory and whether it may be written")
}

/// Bytes that nobody can guess, from the system's own source.
fn secret() -> io::Result<Zeroizing<[u8; 24]>> {
    let mut bytes = Zeroizing::new([0; 24]);
    File::open("/dev/urandom")?.read_exact(bytes.as_mut_slice())?;
    Ok(bytes)
}

/// What is compared instead of a key: as long for every key, so that its length tells nothing.
fn digest(key: &str) -> String {
    let mut digest = String::with_capacity(64);
    push_hex(&mut digest, &Sha256::digest(key.as_bytes()));
    digest
}

/// Within the text's capacity, so that no copy of what it holds is left behind.
fn push_hex(text: &mut String, bytes: &[u8]) {
    let digit = |number: u8| char::from_digit(number.into(), 16).unwrap_or_default();
    bytes.iter().for_each(|byte| text.extend([digit(byte >> 4), digit(byte & 15)]));
}

/// The keys that a running daemon takes.
#[derive(Debug)]
pub struct Keyring {
    path: PathBuf,
    set: Vec<String>,
    made: Mutex<CachedKeyDigests>,
}

/// What the file of made keys held when it was last looked at.
#[derive(Debug, Default)]
struct CachedKeyDigests {
    stamp: Option<state_files::StatSignature>,
    digests: Vec<String>,
}

impl Keyring {
    /// The keys in the settings, and those in the file at this path.
    pub fn new(path: PathBuf, set: &[Secret]) -> Self {
        let set = set.iter().map(|key| digest(key.reveal())).collect();
        Self { path, set, made: Mutex::default() }
    }

    /// Whether this is a key, set or made.
    pub fn has(&self, key: &str) -> bool {
        let digest = digest(key);
        (among(&self.set, &digest) | among(&self.created().digests, &digest)).into()
    }

    /// Whether this is a made key.
    pub fn has_created(&self, key: &str) -> bool {
        among(&self.created().digests, &digest(key)).into()
    }

    /// What a key is called, from which it cannot be had: the beginning of its digest if it was made, and so cannot be
    /// guessed; else its place in the settings.
    pub fn public_name(&self, key: &str) -> Option<String> {
        let digest = digest(key);
        let is_made = bool::from(among(&self.created().digests, &digest));
        let place = || self.set.iter().position(|one| one.as_bytes().ct_eq(digest.as_bytes()).into());
        if is_made { Some(digest[..8].to_owned()) } else { place().map(|place| format!("setting {place}")) }
    }

    /// Whether there is any key at all.
    pub fn is_empty(&self) -> bool {
        self.created().digests.is_empty() && self.set.is_empty()
    }

    /// What the file of made keys holds now.
    fn created(&self) -> MutexGuard<'_, CachedKeyDigests> {
        let mut made = self.made.lock();
        made.refresh(&self.path);
        made
    }
}

impl CachedKeyDigests {
    fn refresh(&mut self, path: &Path) {
        let stamp = state_files::stat_signature(path);
        if stamp == self.stamp {
            return;
        }
        let keys = list(path).unwrap_or_else(|failure| {
            tracing::warn!("{failure}");
            Vec::new()
        });
        self.digests = keys.into_iter().map(|key| key.sha256).filter(|digest| digest.len() == 64).collect();
        self.stamp = stamp;
    }
}

/// Looks at every one, whatever the first ones say.
fn among(digests: &[String], digest: &str) -> Choice {
    digests.iter().fold(Choice::from(0), |found, one| found | one.as_bytes().ct_eq(digest.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn made_keys_are_known_at_once_and_void_once_revoked() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = path(directory.path());
        let ring = Keyring::new(path.clone(), &[]);
        assert!(ring.is_empty() && !ring.has(""));
        let (first, key) = create(&path, "web").expect("made");
        assert!(key.starts_with(API_KEY_PREFIX) && key.len() == API_KEY_PREFIX.len() + 48);
        assert!(ring.has(&key) && ring.has_created(&key) && !ring.is_empty());
        assert!(!ring.has(&key[1..]) && !ring.has(&key.to_uppercase()) && !ring.has(&first.sha256));
        let (second, other) = create(&path, "").expect("made");
        assert!(ring.has(&other) && ring.has(&key) && other != key);
        assert_eq!(list(&path).expect("readable"), [first.clone(), second]);
        assert!(revoke(&path, &first.id).expect("revoked") && !revoke(&path, &first.id).expect("gone already"));
        assert!(!ring.has(&key) && ring.has(&other));
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(!text.contains(other.as_str()), "the key itself is kept nowhere");
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test breaks its own file")]
    fn a_broken_file_opens_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = path(directory.path());
        let ring = Keyring::new(path.clone(), &[]);
        let (_, key) = create(&path, "").expect("made");
        assert!(ring.has(&key));
        std::fs::write(&path, "{").expect("written");
        assert!(!ring.has(&key) && ring.is_empty());
        assert!(create(&path, "").is_err(), "what cannot be read is not overwritten");
        std::fs::write(&path, r#"{"keys":[{"id":"x","name":"","created":"","sha256":""}]}"#).expect("written");
        assert!(!ring.has("") && !ring.has("x"));
    }
}
