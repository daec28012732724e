//! Files of earlier daemons → their records. A file that cannot be read costs what it held, and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::segment::{self, SegmentContent, SegmentRecords};
use super::{BROKEN_PREFIX, Journal, JournalRecord, file_name};
use crate::state_files;

impl Journal {
    /// Records of earlier daemons that recovery has not gone through yet, oldest first.
    pub fn unrecovered(&self) -> io::Result<Vec<JournalRecord>> {
        Ok(self.read_all(&self.files("lane-")?))
    }

    /// Records that recovery has gone through, no older than this, oldest first.
    pub fn recovered(&self, age: Duration) -> io::Result<Vec<JournalRecord>> {
        let mut files = self.files("done-")?;
        files.retain(|path| self.retained.clock.age(path) <= age);
        Ok(self.read_all(&files))
    }

    /// Marks the records of earlier daemons as recovered, and truncates their segments.
    pub fn mark_recovered(&self) -> io::Result<()> {
        for path in self.files("lane-")? {
            // What could not be read has been named before.
            let Ok(bytes) = state_files::read_bytes(&path) else { continue };
            let settled = match segment::decode(&bytes) {
                SegmentContent::Records(SegmentRecords { used_bytes, .. }) => {
                    state_files::truncate(&path, used_bytes).and_then(|()| self.rename_settled(&file_name(&path)))
                }
                SegmentContent::Unused => {
                    state_files::remove(&path);
                    Ok(())
                }
                SegmentContent::OtherFormat | SegmentContent::Garbage => Ok(()),
            };
            if let Err(error) = settled {
                // The next daemon comes to the same end.
                self.report(format!("the journal cannot be written: {error}"));
                break;
            }
        }
        Ok(())
    }

    /// What is wrong with files of the journal, for people.
    pub fn problems(&self) -> Vec<String> {
        self.problems.lock().clone()
    }

    fn read_all(&self, files: &[PathBuf]) -> Vec<JournalRecord> {
        let mut entries = Vec::new();
        for path in files {
            entries.extend(self.read_segment(path));
        }
        entries.sort_by_key(|entry| entry.at);
        entries
    }

    /// The records of a segment. One that is not what it should be is named, and put aside if nothing can be made of
    /// it.
    fn read_segment(&self, path: &Path) -> Vec<JournalRecord> {
        let name = file_name(path);
        match state_files::read_bytes(path).map(|bytes| segment::decode(&bytes)) {
            Ok(SegmentContent::Records(SegmentRecords { records, damaged, .. })) => {
                if damaged > 0 {
                    self.report(format!("the journal's file `{name}` is damaged in {damaged} places; the rest counts"));
                }
                records
            }
            Ok(SegmentContent::Unused) => Vec::new(),
            Ok(SegmentContent::OtherFormat) => {
                self.report(format!("the journal's file `{name}` is of another version of Trellis and left to it"));
                Vec::new()
            }
            Ok(SegmentContent::Garbage) => self.put_aside(path, "holds no records"),
            Err(error) => self.put_aside(path, &format!("cannot be read: {error}")),
        }
    }

    fn put_aside(&self, path: &Path, why: &str) -> Vec<JournalRecord> {
        let name = file_name(path);
        let aside = format!("{BROKEN_PREFIX}{name}");
        let moved = match state_files::rename(path, &self.directory.join(&aside)) {
            Ok(()) => format!("it is now `{aside}`"),
            Err(_) => "it is left there".to_owned(),
        };
        self.report(format!("the journal's file `{name}` {why}; {moved}, and what it recorded is not known"));
        Vec::new()
    }

    pub(super) fn report(&self, problem: String) {
        tracing::warn!("{problem}");
        let mut problems = self.problems.lock();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// Files of earlier daemons.
    fn files(&self, prefix: &str) -> io::Result<Vec<PathBuf>> {
        let ours = format!("lane-{}-", self.run);
        let mut files = Vec::new();
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(prefix) && !name.starts_with(&ours) {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }

    pub(super) fn rename_settled(&self, name: &str) -> io::Result<()> {
        let settled = self.directory.join(name.replacen("lane-", "done-", 1));
        state_files::rename(&self.directory.join(name), &settled)?;
        self.retained.clock.mark(&settled)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::segment::SEGMENT_HEADER_BYTES;
    use super::super::tests::{entry, journal};
    use super::*;

    fn check_damaged(damage: impl Fn(&mut Vec<u8>), expected: &[JournalRecord]) -> Vec<String> {
        let directory = TempDir::new().expect("a directory");
        let first = journal(directory.path(), "a");
        (1..=3).for_each(|sequence| first.append(&entry(sequence)).expect("it is written"));
        let segment = first.lanes_of("a");
        let mut bytes = fs::read(&segment).expect("it reads");
        damage(&mut bytes);
        state_files::replace(&segment, &bytes).expect("it is written");
        let second = journal(directory.path(), "b");
        assert_eq!(second.unrecovered().expect("it reads"), expected);
        second.mark_recovered().expect("it settles");
        assert_eq!(second.unrecovered().expect("it reads"), []);
        let recovered = journal(directory.path(), "c").recovered(Duration::MAX);
        assert_eq!(recovered.expect("it reads"), expected, "nothing is cut off");
        second.problems()
    }

    /// Where the second of three records begins.
    fn second_record() -> usize {
        SEGMENT_HEADER_BYTES + segment::encode(&entry(1)).expect("it fits").len()
    }

    #[test]
    fn r8_damage_hides_only_the_record_that_it_hit() {
        let others = [entry(1), entry(3)];
        for place in [0, 1, 2, 3, 4, 11, 12, 15] {
            let problems = check_damaged(|bytes| bytes[second_record() + place] ^= 0x41, &others);
            assert!(problems.len() == 1 && problems[0].contains("lane-a-000000.log"), "{place}: {problems:?}");
        }
        let problems = check_damaged(|bytes| bytes[second_record()..second_record() + 60].fill(0), &others);
        assert_eq!(problems.len(), 1, "{problems:?}");
        check_damaged(|bytes| bytes[..4].fill(b'x'), &[entry(1), entry(2), entry(3)]);
    }

    #[test]
    fn a_torn_last_entry_is_passed_over_without_a_word() {
        let third = 2 * second_record() - SEGMENT_HEADER_BYTES;
        let problems = check_damaged(|bytes| bytes[third + 20..].fill(0), &[entry(1), entry(2)]);
        assert_eq!(problems, [""; 0]);
        assert_eq!(check_damaged(|bytes| bytes[SEGMENT_HEADER_BYTES..].fill(0), &[]), [""; 0]);
    }

    #[test]
    fn a_file_of_which_nothing_can_be_made_is_put_aside_and_a_newer_one_left_alone() {
        let directory = TempDir::new().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        journal(directory.path(), "a").append(&entry(1)).expect("it is written");
        state_files::replace(&path("lane-newer-000000.log"), b"TRLSJ\0\0\x02...").expect("it is written");
        state_files::replace(&path("lane-torn-000000.log"), b"not a journal").expect("it is written");
        state_files::replace(&path("lane-new-000000.log"), b"").expect("it is written");
        // A directory cannot be read as a file.
        state_files::make_directory(&path("lane-odd-000000.log")).expect("a directory");
        state_files::make_directory(&path("done-odd-000000.log")).expect("a directory");
        let second = journal(directory.path(), "b");
        assert_eq!(second.unrecovered().expect("it reads"), [entry(1)]);
        second.mark_recovered().expect("it settles");
        assert_eq!(second.recovered(Duration::MAX).expect("it reads"), [entry(1)]);
        let mut names: Vec<String> =
            fs::read_dir(directory.path()).expect("listed").flatten().map(|entry| file_name(&entry.path())).collect();
        names.sort();
        let expected = [
            "broken-done-odd-000000.log",
            "broken-lane-odd-000000.log",
            "broken-lane-torn-000000.log",
            "done-a-000000.log",
            "lane-newer-000000.log",
            "old",
        ];
        assert_eq!(names, expected);
        let problems = second.problems().join("\n");
        for name in ["lane-newer", "lane-torn", "lane-odd", "done-odd"] {
            assert!(problems.contains(name), "{problems}");
        }
    }

    #[test]
    fn what_is_settled_is_short_and_still_there() {
        let directory = TempDir::new().expect("a directory");
        journal(directory.path(), "a").append(&entry(1)).expect("it is written");
        let second = journal(directory.path(), "b");
        second.mark_recovered().expect("it settles");
        assert_eq!(second.unrecovered().expect("it reads"), []);
        assert_eq!(second.recovered(Duration::MAX).expect("it reads"), [entry(1)]);
        let bytes = |name: &str| fs::read(directory.path().join(name)).expect("it reads");
        assert!(bytes("done-a-000000.log").len() < 1000);
    }
}
