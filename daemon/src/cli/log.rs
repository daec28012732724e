//! Where log lines go: stderr under a service manager or a terminal, else a file that stays small.
//!
//! One line per event that a person would want to know. Bodies of requests never: what the libraries
//! we use would log of them is filtered out here.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::state_files;

/// A file larger than this is put aside.
const MAX_LOG_BYTES: u64 = 10 << 20;
/// How many files there are at most, the current one included.
const MAX_LOG_FILES: u32 = 5;

/// From now on log lines go somewhere.
pub fn begin(level: &str, file: Option<&Path>) {
    let ours = level.parse::<LevelFilter>().unwrap_or(LevelFilter::INFO);
    // Only what we say ourselves: libraries log what callers sent, at every level.
    let targets = Targets::new().with_target("trellis", ours);
    let layer = tracing_subscriber::fmt::layer().with_target(false);
    let layer = match file.and_then(|path| LogFile::open(path).ok()) {
        Some(log_file) => layer.with_ansi(false).with_writer(Mutex::new(log_file)).with_filter(targets).boxed(),
        None => layer.with_ansi(io::stderr().is_terminal()).with_writer(io::stderr).with_filter(targets).boxed(),
    };
    // A second call, in a test, changes nothing.
    let _ = tracing_subscriber::registry().with(layer).try_init();
    std::panic::set_hook(Box::new(|panic| {
        // The message may quote a user's text; the place says enough.
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a fault in Trellis; please report it");
    }));
}

/// A log file that is put aside when it is large.
struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = state_files::open_append(path)?;
        Ok(Self { path: path.to_owned(), size: file.metadata()?.len(), file })
    }

    fn roll(&mut self) -> io::Result<()> {
        let aside = |number: u32| self.path.with_extension(format!("log.{number}"));
        for number in (1..MAX_LOG_FILES - 1).rev() {
            let _ = state_files::rename(&aside(number), &aside(number + 1));
        }
        state_files::rename(&self.path, &aside(1))?;
        self.file = state_files::open_append(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.size > MAX_LOG_BYTES {
            self.roll()?;
        }
        self.file.write_all(line)?;
        self.size += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
