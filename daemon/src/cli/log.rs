//! Where log lines go: stderr under a service manager or a terminal, else a file that stays small.
//!
//! One line per event that a person would want to know, and never more than one: control characters are escaped. Bodies
//! of requests never: what the libraries we use would log of them is filtered out here. A path is shown by its last two
//! names, which tell a tree and what is in it apart without telling where somebody keeps their files.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::state_files;

/// A file larger than this is put aside.
const MAX_LOG_BYTES: u64 = 10 << 20;
/// How many files there are at most, the current one included.
const MAX_LOG_FILES: u32 = 5;
/// Names of a path that are shown.
const SHOWN_NAMES: usize = 2;

/// From now on log lines go somewhere.
pub fn begin(level: &str, file: Option<&Path>) {
    let ours = level.parse::<LevelFilter>().unwrap_or(LevelFilter::INFO);
    // Only what we say ourselves: libraries log what callers sent, at every level.
    let targets = Targets::new().with_target("trellis", ours);
    let fields = debug_fn(|writer, field, value| match field.name() {
        "message" => writer.write_str(&loggable(&format!("{value:?}"))),
        name => write!(writer, "{name}={}", loggable(&format!("{value:?}"))),
    });
    let layer = tracing_subscriber::fmt::layer().with_target(false).fmt_fields(fields.delimited(" "));
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

/// A text as a log may hold it: on one line, and with the ends of long paths only.
fn loggable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let begins_path = first == '/' && !before.is_alphanumeric() && !"/:.~_-".contains(before);
        let length = if begins_path { path_length(rest, before) } else { first.len_utf8() };
        let (piece, after) = rest.split_at(length);
        let piece = if begins_path { path_end(piece) } else { piece };
        for character in piece.chars() {
            if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
                shown.extend(character.escape_default());
            } else {
                shown.push(character);
            }
        }
        before = text[..text.len() - after.len()].chars().next_back().unwrap_or(' ');
        rest = after;
    }
    shown
}

/// How far a path goes: up to the quote that it began with, else to the next blank or quote.
fn path_length(text: &str, before: char) -> usize {
    let closing = text.find(before).filter(|_| "`'\"".contains(before));
    closing.or_else(|| text.find(|end: char| end.is_whitespace() || "`'\",;)".contains(end))).unwrap_or(text.len())
}

/// The last names of a path; all of one that has no more.
fn path_end(path: &str) -> &str {
    let start = path.trim_end_matches('/').rmatch_indices('/').nth(SHOWN_NAMES - 1).map_or(0, |(at, _)| at);
    if start == 0 { path } else { &path[start + 1..] }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(loggable(text), expected);
    }

    #[test]
    fn a_path_is_shown_by_its_end() {
        check("`/home/ada/project/vault` is polled", "`project/vault` is polled");
        check("`/home/ada/my things/a b/vault` is polled", "`a b/vault` is polled");
        check("cannot open \"/home/ada/.cache/trellis/index/ab\": no", "cannot open \"index/ab\": no");
        check("failed at /home/ada/secret/x.md, again", "failed at secret/x.md, again");
        check("/home/ada/", "/home/ada/");
        check("/tools/vault_ls and /v1/tools/x", "/tools/vault_ls and tools/x");
        check("http://127.0.0.1:4001/a/b/c 1/2/3/4 a/b/c/d", "http://127.0.0.1:4001/a/b/c 1/2/3/4 a/b/c/d");
        check("`/home/ada", "`/home/ada");
        check("`/home/ada/x/y", "`x/y");
    }

    #[test]
    fn an_event_is_one_line() {
        check("a\nb\r\x1b[31mred\u{2028}", "a\\nb\\r\\u{1b}[31mred\\u{2028}");
        check("`/home/ada/pro\nject/vault`", "`pro\\nject/vault`");
        check("año 設定 `ok`", "año 設定 `ok`");
    }
}
