//! What a daemon takes of the system at one moment: read from `/proc` and from its state directory.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::bench::process::pss;

/// Figures of one moment.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Since the beginning.
    pub at: Duration,
    /// Answers that sessions have had until now.
    pub calls: u64,
    /// MiB in the journal, old texts included.
    pub journal: f64,
    /// MiB of memory, shared pages divided by those who share them.
    pub memory: f64,
    pub watches: usize,
    pub descriptors: usize,
    pub threads: usize,
}

/// One column of samples, and how much of a growth is none.
#[derive(Debug)]
pub struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    pub of: fn(&Sample) -> f64,
    /// A growth below this is noise …
    pub slack: f64,
    /// … and so is one below this share of the mean.
    pub share: f64,
}

/// What must be flat.
pub const FIGURES: [Figure; 5] = [
    Figure { name: "journal", unit: "MiB", of: |sample| sample.journal, slack: 8.0, share: 0.05 },
    Figure { name: "PSS", unit: "MiB", of: |sample| sample.memory, slack: 3.0, share: 0.08 },
    Figure { name: "watches", unit: "", of: |sample| sample.watches as f64, slack: 8.0, share: 0.05 },
    Figure { name: "descriptors", unit: "", of: |sample| sample.descriptors as f64, slack: 8.0, share: 0.05 },
    Figure { name: "threads", unit: "", of: |sample| sample.threads as f64, slack: 4.0, share: 0.1 },
];

impl Sample {
    pub fn take(pid: u32, state: &Path, at: Duration, calls: u64) -> Self {
        let journal = bytes_below(&state.join("journal")) as f64 / f64::from(1 << 20);
        let (descriptors, watches) = descriptors(pid);
        let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        Self { at, calls, journal, memory: pss(pid), watches, descriptors, threads }
    }

    /// The line above all samples.
    pub fn heading() -> String {
        format!(
            "{:>8} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8}",
            "seconds", "calls", "journal", "PSS", "watches", "files", "threads"
        )
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, calls, journal, memory, watches, descriptors, threads } = self;
        let at = at.as_secs();
        write!(
            formatter,
            "{at:>8} {calls:>10} {journal:>10.1} {memory:>10.1} {watches:>8} {descriptors:>8} {threads:>8}"
        )
    }
}

/// Open descriptors of a process, and the watches that they hold.
fn descriptors(pid: u32) -> (usize, usize) {
    let (mut count, mut watches) = (0, 0);
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten() {
        count += 1;
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        watches += text.lines().filter(|line| line.starts_with("inotify wd:")).count();
    }
    (count, watches)
}

/// The sum of all sizes; what goes meanwhile counts for nothing.
fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_measured() {
        let directory = tempfile::TempDir::new().expect("a directory");
        fs::create_dir_all(directory.path().join("journal/old")).expect("a directory");
        fs::write(directory.path().join("journal/old/text"), vec![b'x'; 1 << 20]).expect("a file");
        let inotify = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).expect("a descriptor");
        rustix::fs::inotify::add_watch(&inotify, directory.path(), rustix::fs::inotify::WatchFlags::CREATE)
            .expect("a watch");
        let sample = Sample::take(std::process::id(), directory.path(), Duration::ZERO, 0);
        assert_eq!((sample.journal, sample.watches), (1.0, 1));
        assert!(sample.descriptors > 2 && sample.threads > 0 && sample.memory > 0.1);
    }
}
