//! The system → what the protocol needs to know: variables, account, time zone, umask, and the settings that belong
//! to this session. Reads a few small system files and creates nothing. Secrets are never picked up here.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trellis_protocol::endpoint::{AccountEnvironment, DirectoryLayout};

/// Settings of a session that are no paths.
const WORDS: [&str; 5] =
    ["VIBE_READ_ONLY", "HARD_MAX_CHARS", "VAULT_SCAN_DEFAULT_CHUNK_LINES", "VAULT_SCAN_MAX_CHUNK_LINES", "LOG_LEVEL"];
/// Settings of a session that are paths.
const PATHS: [&str; 6] =
    ["VIBE_ROOT", "TODO_PROJECT_ROOT", "VAULT_ROOT", "WORKSPACE_ROOT", "BRIDGE_FILE_PATH", "BRIDGE_FILE"];
/// Settings of the gateway: they travel only when it is asked for, so that the daemon can say what became of them.
const GATEWAY: [&str; 4] = ["ENABLE_HTTP", "PORT", "HTTP_PORT", "HOST"];

/// Who may call the gateway: secrets, which never travel with a session.
const CREDENTIALS: [&str; 7] = [
    "API_KEYS",
    "JWT_SECRET",
    "JWT_ISSUER",
    "JWT_AUDIENCE",
    "ALLOWED_ORIGINS",
    "ALLOWED_HOSTS",
    "ALLOW_UNAUTHENTICATED",
];
/// What a program needs to know of the account, and people who look for a fault.
const ACCOUNT: [&str; 8] = ["HOME", "USER", "LOGNAME", "PATH", "LANG", "TZ", "TMPDIR", "RUST_BACKTRACE"];
/// Beginnings of names that are passed on to a daemon whatever follows.
const PREFIXES: [&str; 3] = ["LC_", "XDG_", "TRELLIS_"];

/// Tells a daemon that is started on demand in which directory it was needed. It runs in `/` itself, so that it keeps
/// no disk from being taken away.
pub(crate) const STARTED_IN: &str = "TRELLIS_STARTED_IN";

/// Asks the system about the account this program runs for.
pub fn gather() -> AccountEnvironment {
    let uid = rustix::process::geteuid().as_raw();
    let home = std::fs::read_to_string("/etc/passwd").ok().and_then(|text| home_in(&text, uid));
    let mut account = AccountEnvironment {
        variables: std::env::vars_os().collect(),
        account_home: home.unwrap_or_else(|| "/".into()),
        uid,
        has_run_user: std::fs::metadata(format!("/run/user/{uid}"))
            .is_ok_and(|found| found.is_dir() && found.uid() == uid),
        layout: DirectoryLayout::NATIVE,
    };
    if account.account_home == Path::new("/") {
        // Directory services keep no line in the file; `HOME` is then the best that is known.
        account.account_home = account.home();
    }
    account
}

/// In which project a host works that starts its servers elsewhere.
const HOST_PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// Where the session works: `--cwd`, else what the host names, else the current directory, else home when that one is
/// deleted.
pub(crate) fn directory(account: &AccountEnvironment, asked: Option<PathBuf>) -> Result<PathBuf, String> {
    let current = std::env::current_dir().unwrap_or_else(|_| account.home());
    let named = account.variable(HOST_PROJECT).map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
    let Some(asked) = asked else { return Ok(named.unwrap_or(current)) };
    let directory = resolved(&asked, &account.home(), &current);
    if directory.is_dir() { Ok(directory) } else { Err(format!("--cwd `{}` is not a directory", asked.display())) }
}

/// Where this program was started: as whoever started it on demand says, else the current directory.
pub fn started_in(account: &AccountEnvironment) -> Option<PathBuf> {
    account.variable(STARTED_IN).map(PathBuf::from).or_else(|| std::env::current_dir().ok())
}

/// The session's own settings, paths absolute. Keys and secrets stay here.
pub fn session_environment(account: &AccountEnvironment, directory: &Path) -> Vec<(String, String)> {
    let home = account.home();
    let word = |name: &str| Some((name.to_owned(), account.variable(name)?.to_str()?.to_owned()));
    let path = |name: &str| {
        let value = Path::new(account.variable(name)?);
        // A relative vault lies below the workspace, not below the session's directory.
        let stays = name == "VAULT_ROOT" && value.is_relative() && !value.starts_with("~");
        let value = if stays { value.to_owned() } else { resolved(value, &home, directory) };
        Some((name.to_owned(), value.to_str()?.to_owned()))
    };
    let gateway: &[&str] = if account.variable("ENABLE_HTTP").is_some() { &GATEWAY } else { &[] };
    PATHS.into_iter().filter_map(path).chain(WORDS.iter().chain(gateway).filter_map(|name| word(name))).collect()
}

/// Whether a daemon that is started on demand gets this variable. It lives on when its host is gone and serves others,
/// so it gets what it reads and nothing else: hosts have keys and tokens in their environment.
pub fn is_for_daemon(name: &str) -> bool {
    let lists: [&[&str]; 5] = [&ACCOUNT, &PATHS, &WORDS, &GATEWAY, &CREDENTIALS];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || lists.iter().any(|list| list.contains(&name))
}

/// The environment of a daemon that is started on demand.
pub(crate) fn daemon_environment(account: &AccountEnvironment) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    account.variables.iter().filter(|(name, _)| name.to_str().is_some_and(is_for_daemon))
}

/// The IANA name of the session's time zone; empty when it cannot be told.
pub fn time_zone(account: &AccountEnvironment) -> String {
    let named = account.variable("TZ").and_then(|name| name.to_str()).map(|name| name.trim_start_matches(':'));
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        return zone_in(name).unwrap_or(name).to_owned();
    }
    let link = std::fs::read_link("/etc/localtime").ok();
    if let Some(name) = link.as_deref().and_then(Path::to_str).and_then(zone_in) {
        return name.to_owned();
    }
    std::fs::read_to_string("/etc/timezone").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The process's umask. The system tells it only in exchange for another one, so this must run while the process
/// has one thread.
pub fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(mask);
    #[allow(clippy::useless_conversion, reason = "the width differs between systems")]
    mask.as_raw_mode().into()
}

/// The home directory of an account in the password database.
fn home_in(passwd: &str, uid: u32) -> Option<PathBuf> {
    let line = passwd.lines().find(|line| line.split(':').nth(2).and_then(|id| id.parse().ok()) == Some(uid))?;
    line.split(':').nth(5).filter(|home| home.starts_with('/')).map(PathBuf::from)
}

/// The zone's name in a path of the zone database.
fn zone_in(path: &str) -> Option<&str> {
    path.split_once("zoneinfo/").map(|(_, name)| name).filter(|name| !name.is_empty())
}

/// Expands `~` and makes a path absolute.
fn resolved(path: &Path, home: &Path, directory: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) if rest.as_os_str().is_empty() => home.to_owned(),
        Ok(rest) => home.join(rest),
        Err(_) => directory.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(variables: &[(&str, &str)]) -> AccountEnvironment {
        AccountEnvironment {
            variables: variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            account_home: "/home/ada".into(),
            uid: 1000,
            has_run_user: false,
            layout: DirectoryLayout::Xdg,
        }
    }

    fn check(variables: &[(&str, &str)], expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(session_environment(&account(variables), Path::new("/p")), expected);
    }

    #[test]
    fn paths_of_the_session_are_made_absolute() {
        check(
            &[("VIBE_ROOT", "~/v"), ("WORKSPACE_ROOT", "w")],
            &[("VIBE_ROOT", "/home/ada/v"), ("WORKSPACE_ROOT", "/p/w")],
        );
        check(&[("VAULT_ROOT", "notes")], &[("VAULT_ROOT", "notes")]);
        check(&[("VAULT_ROOT", "~")], &[("VAULT_ROOT", "/home/ada")]);
        check(
            &[("BRIDGE_FILE", "/b.json"), ("LOG_LEVEL", "debug")],
            &[("BRIDGE_FILE", "/b.json"), ("LOG_LEVEL", "debug")],
        );
    }

    #[test]
    fn secrets_and_unasked_gateway_settings_stay_at_home() {
        check(&[("API_KEYS", "k"), ("JWT_SECRET", "s"), ("HOST", "h"), ("PORT", "1"), ("VIBE_ROOT", "")], &[]);
        check(&[("ENABLE_HTTP", "true"), ("PORT", "1"), ("API_KEYS", "k")], &[("ENABLE_HTTP", "true"), ("PORT", "1")]);
    }

    #[test]
    fn a_daemon_gets_what_it_reads_and_no_more() {
        let account = account(&[
            ("HOME", "/home/ada"),
            ("LC_ALL", "C"),
            ("API_KEYS", "k"),
            ("VAULT_ROOT", "notes"),
            ("TRELLIS_SOCKET", "/s"),
            ("ANTHROPIC_API_KEY", "secret"),
            ("NOTIFY_SOCKET", "/run/n"),
            ("LD_PRELOAD", "/evil.so"),
            ("TRELLI", "x"),
        ]);
        let names: Vec<_> = daemon_environment(&account).map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "API_KEYS", "VAULT_ROOT", "TRELLIS_SOCKET"]);
    }

    #[test]
    fn the_home_is_found_by_the_account_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000:Ada,,,:/home/ada:/bin/bash\n";
        assert_eq!(home_in(passwd, 1000), Some("/home/ada".into()));
        assert_eq!(home_in(passwd, 7), None);
        assert_eq!(home_in("broken\n::\n", 0), None);
    }

    #[test]
    fn time_zones_have_their_names() {
        let zone = |value| time_zone(&account(&[("TZ", value)]));
        assert_eq!(zone(":Asia/Tokyo"), "Asia/Tokyo");
        assert_eq!(zone("/usr/share/zoneinfo/Europe/Madrid"), "Europe/Madrid");
        assert_eq!(zone_in("../usr/share/zoneinfo/Etc/UTC"), Some("Etc/UTC"));
    }
}
