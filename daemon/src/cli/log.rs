//! Where log lines go: stderr under a service manager or a terminal, else a file that stays small.
//!
//! One line per event that a person would want to know. Bodies of requests never: what the libraries
//! we use would log of them is filtered out here.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::disk::own;

/// A file larger than this is put aside.
const LARGEST: u64 = 10 << 20;
/// How many files there are at most, the current one included.
const MOST_FILES: u32 = 5;

/// From now on log lines go somewhere.
pub fn begin(level: &str, file: Option<&Path>) {
    let ours = level.parse::<LevelFilter>().unwrap_or(LevelFilter::INFO);
    // Only what we say ourselves: libraries log what callers sent, at every level.
    let targets = Targets::new().with_target("trellis", ours);
    let layer = tracing_subscriber::fmt::layer().with_target(false);
    let layer = match file.and_then(|path| Rolling::open(path).ok()) {
        Some(rolling) => layer.with_ansi(false).with_writer(rolling).with_filter(targets).boxed(),
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
#[derive(Clone)]
struct Rolling(Arc<Mutex<Current>>);

struct Current {
    path: PathBuf,
    file: File,
    size: u64,
}

impl Rolling {
    fn open(path: &Path) -> io::Result<Self> {
        let file = own::open_lasting(path)?;
        let size = file.metadata()?.len();
        Ok(Self(Arc::new(Mutex::new(Current { path: path.to_owned(), file, size }))))
    }
}

impl Current {
    fn roll(&mut self) -> io::Result<()> {
        let aside = |number: u32| self.path.with_extension(format!("log.{number}"));
        for number in (1..MOST_FILES - 1).rev() {
            let _ = own::rename(&aside(number), &aside(number + 1));
        }
        own::rename(&self.path, &aside(1))?;
        self.file = own::open_lasting(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

impl Write for Rolling {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut current = self.0.lock();
        if current.size > LARGEST {
            current.roll()?;
        }
        current.file.write_all(line)?;
        current.size += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Rolling {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
