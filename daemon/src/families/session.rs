//! What a tool may know about who is calling: directory, environment, zone, roots.
//!
//! Filled from the greeting of a proxy; the roots follow when the host has told them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

use crate::disk::Digest;
use crate::projects::{Interface, SessionDirectories};

/// Hexadecimal digits of a session's name that people see.
const SESSION_NAME_DIGITS: usize = 8;

/// One session, as the families see it.
#[derive(Debug, Default)]
pub struct SessionContext {
    /// The name under which the journal knows it; none for those that never come again.
    pub key: Option<String>,
    /// Where the host started the session, absolute. It may be a place that says nothing, such as `/` or a home.
    pub directory: Option<PathBuf>,
    /// How it reaches us.
    pub door: Interface,
    /// Whether the host's launcher named that directory with `--cwd`: then it is the only root, too.
    pub has_explicit_directory: bool,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The session's settings; paths among them are absolute.
    pub environment: BTreeMap<String, String>,
    /// Dates in names of new files are in this zone.
    pub zone: SessionTimeZone,
    /// New files get `0666 & !umask`.
    pub umask: u32,
    /// Settings whose nonsense has been logged.
    pub(crate) warned: Mutex<BTreeSet<String>>,
    /// What its surface shows, once that is known.
    pub(crate) surface: OnceLock<ShownFamilies>,
    /// The host's roots, once it has told them.
    pub(crate) roots: ArcSwapOption<Vec<PathBuf>>,
}

/// On whose behalf one call is made, as others may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The host's own name, short and without anything that could disturb a terminal.
    pub by: String,
    /// The session's name that people see: the same for as long as it lives, over restarts of the daemon too.
    pub session: String,
    pub link: CallerLink,
}

/// Whether anybody notices that a caller is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerLink {
    /// Its session is a connection.
    Connection,
    /// It comes and goes.
    Http,
}

/// Which families a session sees.
#[derive(Debug, Default)]
pub struct ShownFamilies {
    /// Those whose items it sees; all if none are named.
    pub with_items: Vec<&'static str>,
    pub is_alone: bool,
}

/// A zone; UTC until the session has told its own.
#[derive(Debug, Clone)]
pub struct SessionTimeZone(pub TimeZone);

impl Default for SessionTimeZone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl SessionContext {
    /// A setting that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A setting that must be an integer of at least 1; anything else is as if it were not set.
    pub fn count(&self, name: &str) -> Option<usize> {
        let value = self.variable(name)?;
        match value.trim().parse::<usize>() {
            Ok(count) if count >= 1 => Some(count),
            _ => {
                if self.warned.lock().insert(name.to_owned()) {
                    tracing::warn!(setting = name, "ignored: not an integer of at least 1");
                }
                None
            }
        }
    }

    /// A setting that holds a path.
    pub fn path(&self, name: &str) -> Option<&Path> {
        self.variable(name).map(Path::new)
    }

    /// A name for the session that lasts as long as it does, from which its key cannot be had.
    pub fn public_name(&self) -> Option<String> {
        self.key.as_deref().map(public_name)
    }

    /// Whether it sees items of a family.
    pub fn sees_items_of(&self, family: &str) -> bool {
        let all = |shown: &ShownFamilies| shown.with_items.is_empty() || shown.with_items.contains(&family);
        self.surface.get().is_none_or(all)
    }

    /// Whether it sees one family alone, exactly as that family's own programs know it.
    pub fn sees_one_family(&self) -> bool {
        self.surface.get().is_none_or(|shown| shown.is_alone)
    }

    /// The host's roots; none until it has told them.
    pub fn roots(&self) -> Arc<Vec<PathBuf>> {
        self.roots.load_full().unwrap_or_default()
    }

    /// What it says about its project.
    pub fn directories(&self) -> SessionDirectories<'_> {
        let (configured, directory) = (self.path("TODO_PROJECT_ROOT"), self.directory.as_deref());
        SessionDirectories { configured, directory, roots: self.roots(), door: self.door }
    }

    /// Takes note of the host's roots.
    pub fn set_roots(&self, roots: Vec<PathBuf>) {
        self.roots.store(Some(Arc::new(roots)));
    }
}

/// A name that people see, from which what it is made of cannot be had.
pub fn public_name(key: &str) -> String {
    let digest = Digest::of(key.as_bytes()).to_string();
    format!("s{}", digest.get(..SESSION_NAME_DIGITS).unwrap_or(&digest))
}
