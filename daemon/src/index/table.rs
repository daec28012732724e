//! The list of documents beside the index: appended to before every commit, which names its length and digest.
//!
//! So the list is always the one that the index was made with: what was appended and not committed is beyond the
//! length, and anything else that happened to it shows in the digest. Rewritten when most of it is past.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{Entry, Section, TreeId};
use super::names::{Name, Names};
use super::schema::VERSION;
use crate::disk::{Digest, Identity, own};

/// Fewer records than this are never worth rewriting.
const FEW: usize = 20_000;

/// A tree: whose documents, and where.
pub type TreeName = (Arc<str>, PathBuf);

/// The list on the disk; without a file, only in memory.
#[derive(Debug)]
pub struct Table {
    file: Option<File>,
    name: String,
    length: u64,
    hasher: blake3::Hasher,
    names: usize,
    trees: usize,
    records: usize,
}

/// What the list says.
#[derive(Debug, Default, PartialEq)]
pub struct Listed {
    /// All words.
    pub names: Vec<Arc<str>>,
    /// All trees.
    pub trees: Vec<TreeName>,
    /// The documents, by their slots.
    pub entries: Vec<Option<Arc<Entry>>>,
}

/// What is new since the last commit.
#[derive(Debug, Default)]
pub struct News<'a> {
    /// All trees; those that are listed already are not listed again.
    pub trees: &'a [TreeName],
    /// Slots that are free again.
    pub gone: &'a [u32],
    /// Slots that have a document now.
    pub taken: &'a [(u32, Arc<Entry>)],
}

impl Table {
    /// A new list in a directory, or only in memory.
    pub fn new(directory: Option<&Path>) -> io::Result<Self> {
        let name = format!("documents-{:016x}", crate::chance::number());
        let file = directory.map(|directory| own::open_lasting(&directory.join(&name))).transpose()?;
        let hasher = blake3::Hasher::new();
        Ok(Self { file, name, length: 0, hasher, names: 0, trees: 0, records: 0 })
    }

    /// The list that a commit named; none if it is not the same any more.
    pub fn open(directory: &Path, seal: &str) -> Option<(Self, Listed)> {
        let mut parts = seal.split(' ');
        let (version, name, length, digest) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if version != VERSION.to_string() || !is_plain {
            return None;
        }
        let length: u64 = length.parse().ok()?;
        let path = directory.join(name);
        let mut bytes = Vec::new();
        File::open(&path).ok()?.take(length).read_to_end(&mut bytes).ok()?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes);
        if bytes.len() as u64 != length || hasher.finalize().to_hex().as_str() != digest {
            return None;
        }
        let mut listed = Listed::default();
        let mut reader = Reader(&bytes);
        let mut records = 0;
        while !reader.0.is_empty() {
            reader.record(&mut listed)?;
            records += 1;
        }
        own::shorten(&path, length).ok()?;
        let file = own::open_lasting(&path).ok()?;
        let (names, trees) = (listed.names.len(), listed.trees.len());
        Some((Self { file: Some(file), name: name.to_owned(), length, hasher, names, trees, records }, listed))
    }

    /// Appends what is new.
    pub fn append(&mut self, news: &News<'_>, names: &Names) -> io::Result<()> {
        let mut bytes = Vec::new();
        for word in names.from(self.names) {
            self.names += 1;
            bytes.push(b'n');
            text(&mut bytes, word.as_bytes());
        }
        for (family, root) in news.trees.iter().skip(self.trees) {
            use std::os::unix::ffi::OsStrExt as _;
            self.trees += 1;
            bytes.push(b't');
            text(&mut bytes, family.as_bytes());
            text(&mut bytes, root.as_os_str().as_bytes());
        }
        for slot in news.gone {
            bytes.push(b'g');
            number(&mut bytes, u64::from(*slot));
        }
        for (slot, entry) in news.taken {
            bytes.push(b'd');
            document(&mut bytes, *slot, entry);
        }
        self.records += news.gone.len() + news.taken.len();
        self.length += bytes.len() as u64;
        if let Some(file) = &mut self.file {
            self.hasher.update(&bytes);
            file.write_all(&bytes)?;
        }
        Ok(())
    }

    /// What a commit says about the list.
    pub fn seal(&self) -> String {
        format!("{VERSION} {} {} {}", self.name, self.length, self.hasher.finalize().to_hex())
    }

    /// Its file in the directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether most of it is past.
    pub fn is_worn(&self, documents: usize) -> bool {
        self.file.is_some() && self.records > FEW + 4 * documents
    }
}

fn number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn text(bytes: &mut Vec<u8>, text: &[u8]) {
    number(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

/// A number that may be missing.
fn maybe(bytes: &mut Vec<u8>, name: Option<Name>) {
    number(bytes, name.map_or(0, |name| u64::from(name) + 1));
}

fn document(bytes: &mut Vec<u8>, slot: u32, entry: &Entry) {
    let Identity { device, inode, size, modified_ns, changed_ns } = entry.identity;
    number(bytes, u64::from(slot));
    number(bytes, u64::from(entry.tree));
    text(bytes, entry.path.as_bytes());
    [device, inode, size].into_iter().for_each(|value| number(bytes, value));
    bytes.extend(modified_ns.to_le_bytes());
    bytes.extend(changed_ns.to_le_bytes());
    bytes.extend(entry.digest.bytes());
    bytes.push(u8::from(entry.repaired));
    number(bytes, u64::from(entry.project));
    number(bytes, u64::from(entry.folder));
    maybe(bytes, entry.kind);
    maybe(bytes, entry.status);
    bytes.extend(entry.day.to_le_bytes());
    number(bytes, entry.sections.len() as u64);
    for section in &entry.sections {
        number(bytes, u64::from(section.start));
        number(bytes, u64::from(section.end));
        maybe(bytes, section.heading);
        bytes.extend(section.boost.to_le_bytes());
    }
}

/// Reads records back; anything odd is the end.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn record(&mut self, listed: &mut Listed) -> Option<()> {
        match self.take::<1>()?[0] {
            b'n' => listed.names.push(std::str::from_utf8(self.text()?).ok()?.into()),
            b't' => {
                use std::os::unix::ffi::OsStrExt as _;
                let family = std::str::from_utf8(self.text()?).ok()?.into();
                let root = std::ffi::OsStr::from_bytes(self.text()?).into();
                listed.trees.push((family, root));
            }
            b'g' => {
                let slot = self.small()? as usize;
                *listed.entries.get_mut(slot)? = None;
            }
            b'd' => {
                let (slot, entry) = self.document()?;
                let slot = slot as usize;
                // Slots are given one after the other.
                if slot > listed.entries.len() + (1 << 24) || entry.tree as usize >= listed.trees.len() {
                    return None;
                }
                if listed.entries.len() <= slot {
                    listed.entries.resize(slot + 1, None);
                }
                listed.entries[slot] = Some(Arc::new(entry));
            }
            _ => return None,
        }
        Some(())
    }

    fn document(&mut self) -> Option<(u32, Entry)> {
        let (slot, tree) = (self.small()?, self.small()? as TreeId);
        let path = std::str::from_utf8(self.text()?).ok()?.into();
        let (device, inode, size) = (self.number()?, self.number()?, self.number()?);
        let modified_ns = i128::from_le_bytes(self.take()?);
        let changed_ns = i128::from_le_bytes(self.take()?);
        let identity = Identity { device, inode, size, modified_ns, changed_ns };
        let digest = Digest::from_bytes(self.take()?);
        let repaired = self.take::<1>()?[0] != 0;
        let (project, folder) = (self.small()?, self.small()?);
        let (kind, status) = (self.maybe()?, self.maybe()?);
        let day = i32::from_le_bytes(self.take()?);
        let count = self.small()?;
        let mut sections = Vec::new();
        for _ in 0..count {
            let (start, end, heading) = (self.small()?, self.small()?, self.maybe()?);
            sections.push(Section { start, end, heading, boost: f32::from_le_bytes(self.take()?) });
        }
        let sections = sections.into();
        Some((slot, Entry { tree, path, identity, digest, repaired, project, folder, kind, status, day, sections }))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take::<1>()?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn maybe(&mut self) -> Option<Option<Name>> {
        Some(self.small()?.checked_sub(1))
    }

    fn text(&mut self) -> Option<&[u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests damage the files that are read")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn entry(path: &str) -> Arc<Entry> {
        let identity = Identity { device: 1, inode: u64::MAX, size: 3, modified_ns: -5, changed_ns: 1 << 70 };
        let section = Section { start: 1, end: 300, heading: Some(0), boost: 1.5 };
        let sections = Box::new([section, Section { heading: None, ..section }]);
        let digest = Digest::of(path.as_bytes());
        let (kind, status) = (Some(1), None);
        let path = path.into();
        Arc::new(Entry {
            tree: 0,
            path,
            identity,
            digest,
            repaired: true,
            project: 0,
            folder: 1,
            kind,
            status,
            day: -3,
            sections,
        })
    }

    #[test]
    fn what_was_committed_comes_back_and_nothing_else() {
        let home = TempDir::new().expect("a directory");
        let names = Names::default();
        names.name("## Ziel");
        names.name("計画");
        let trees = [(Arc::<str>::from("vibe"), PathBuf::from("/root"))];
        let mut table = Table::new(Some(home.path())).expect("a table");
        let taken = [(0, entry("a.md")), (1, entry("b.md"))];
        table.append(&News { trees: &trees, gone: &[], taken: &taken }, &names).expect("appended");
        table.append(&News { trees: &trees, gone: &[0], taken: &[(2, entry("ü.md"))] }, &names).expect("appended");
        let seal = table.seal();
        table.append(&News { trees: &trees, gone: &[1], taken: &[] }, &names).expect("appended");

        let (mut opened, listed) = Table::open(home.path(), &seal).expect("it opens");
        assert_eq!(listed.entries, [None, Some(entry("b.md")), Some(entry("ü.md"))]);
        assert_eq!((listed.names.len(), listed.trees), (2, trees.to_vec()));
        opened.append(&News { trees: &trees, gone: &[2], taken: &[] }, &names).expect("appended");
        let (_, listed) = Table::open(home.path(), &opened.seal()).expect("it opens again");
        assert_eq!(listed.entries, [None, Some(entry("b.md")), None]);

        let path = home.path().join(opened.name());
        let bytes = fs::read(&path).expect("bytes");
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            fs::write(&path, &damaged).expect("written");
            assert!(Table::open(home.path(), &opened.seal()).is_none(), "byte {place}");
        }
        fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
        assert!(Table::open(home.path(), &opened.seal()).is_none(), "cut off");
        for seal in ["", "1", "1 ../x 0 0", "9 documents-0 0 0", "x y z w"] {
            assert!(Table::open(home.path(), seal).is_none(), "{seal}");
        }
    }
}
