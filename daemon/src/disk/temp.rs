//! Names of temp files: recognisable as ours, and which daemon's.

use std::ffi::OsStr;
use std::fmt;

use crate::ids;

const PREFIX: &str = ".trellis-";
const SUFFIX: &str = ".vtmp";

/// Names one daemon's temp files; another daemon has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaemonId(u32);

/// `.trellis-<daemon>-<16 random hex>.vtmp`, whatever the target is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TempName(String);

impl DaemonId {
    /// An id that no other daemon has, as far as chance allows.
    pub fn random() -> Self {
        Self(ids::random_u64() as u32)
    }

    /// A name that no other file has.
    pub fn new_temp_name(self) -> TempName {
        TempName(format!("{PREFIX}{self}-{:016x}{SUFFIX}", ids::random_u64()))
    }
}

impl fmt::Display for DaemonId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

impl TempName {
    /// A temp file's name, if it is one.
    pub fn parse(name: &str) -> Option<Self> {
        let middle = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        let (daemon, random) = middle.split_once('-')?;
        let is_hex = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_hex(daemon, 8) && is_hex(random, 16)).then(|| Self(name.to_owned()))
    }

    /// Another name of the same daemon.
    pub fn sibling(&self) -> Self {
        let daemon = &self.0[PREFIX.len()..PREFIX.len() + 8];
        Self(format!("{PREFIX}{daemon}-{:016x}{SUFFIX}", ids::random_u64()))
    }

    /// Whether it is a file of this daemon.
    pub fn is_from(&self, daemon: DaemonId) -> bool {
        self.0[PREFIX.len()..].starts_with(&daemon.to_string())
    }

    /// For the system.
    pub fn as_os_str(&self) -> &OsStr {
        OsStr::new(&self.0)
    }

    /// For the journal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_names_are_recognised_and_no_others() {
        let daemon = DaemonId::random();
        let name = daemon.new_temp_name();
        assert_eq!(TempName::parse(name.as_str()), Some(name.clone()));
        assert!(name.is_from(daemon) && name.sibling().is_from(daemon));
        assert_ne!(name, name.sibling());
        for other in
            [".trellis-x.vtmp", "a.vtmp", ".trellis-00000000-0000000000000000.tmp", ".trellis-00000000-xyz.vtmp"]
        {
            assert_eq!(TempName::parse(other), None, "{other}");
        }
    }
}
