//! What proves that a file holds the same bytes: the digest of them, and the stamp that the file system keeps.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use serde::{Deserialize, Serialize};

/// BLAKE3 of some bytes, for ourselves: what users see is SHA-256.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest of all that can be read.
    pub fn read(source: &mut impl io::Read) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(source)?;
        Ok(Self(*hasher.finalize().as_bytes()))
    }
}

impl Digest {
    /// What was written as 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || !text.is_ascii() {
            return None;
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

/// Which file, in which state. A file whose identity is the same has the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStamp {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// Measured in bytes.
    pub size: u64,
    /// When its content changed last.
    pub modified_ns: i128,
    /// When anything about it changed last; catches what keeps the other one.
    pub changed_ns: i128,
}

/// File systems stamp times in ticks of up to this length: within one tick a second change leaves the same times.
const TIMESTAMP_GRANULARITY_NS: i128 = 20_000_000;

impl FileStamp {
    /// Whether a file may have changed again since it was seen with these times, without other times to show for it.
    pub fn may_hide_a_change(&self, seen_at_ns: i128) -> bool {
        self.changed_ns.max(self.modified_ns) + TIMESTAMP_GRANULARITY_NS >= seen_at_ns
    }

    /// From what the system says about a file.
    pub fn of(metadata: &Metadata) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The same, where the file was not opened.
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    pub(super) fn of_stat(stat: &rustix::fs::Stat) -> Self {
        let nanoseconds = |seconds: i128, rest: i128| seconds * 1_000_000_000 + rest;
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified_ns: nanoseconds(stat.st_mtime as i128, stat.st_mtime_nsec as i128),
            changed_ns: nanoseconds(stat.st_ctime as i128, stat.st_ctime_nsec as i128),
        }
    }
}
