//! Settings, each knowing where its value came from: default < config file < environment < flag.
//!
//! The text of the configuration file and the variables come in; settings and warnings go out. A
//! value that makes no sense is left at what it was before, with a warning that names it.

/// What can be set for the HTTP gateway.
pub mod http;

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use trellis_protocol::control::SettingStatus;
use trellis_protocol::endpoint::Variables;
use zeroize::Zeroize as _;

use http::HttpSettings;

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    ConfigFile,
    Environment,
    /// A flag of the command line.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Default => "default",
            Self::ConfigFile => "config file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        })
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

impl<T> Setting<T> {
    /// A value that nobody set.
    pub(crate) fn default(value: T) -> Self {
        Self { value, source: Source::Default }
    }

    /// Replaces the value; the later source wins.
    pub fn set(&mut self, value: T, source: Source) {
        *self = Self { value, source };
    }

    fn report(&self, name: &str, shown: impl Fn(&T) -> String) -> SettingStatus {
        SettingStatus { name: name.to_owned(), value: shown(&self.value), source: self.source.to_string() }
    }

    fn set_some(&mut self, value: Option<T>, source: Source) {
        if let Some(value) = value {
            self.set(value, source);
        }
    }
}

/// Everything that can be set for the daemon as a whole. What belongs to a session comes with its greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `idle_seconds`: a daemon started on demand leaves after so long without clients.
    pub idle_seconds: Setting<u64>,
    /// `grace_seconds`: a tree that no session works with any more is watched for so long.
    pub grace_seconds: Setting<u64>,
    /// `claim_grace_seconds`: claims of a session whose connection broke end after so long.
    pub claim_grace_seconds: Setting<u64>,
    /// `log_level`: error, warn, info, debug or trace.
    pub log_level: Setting<String>,
    /// `roots`: projects that are known without any session in them.
    pub roots: Setting<Vec<PathBuf>>,
    /// `adopt_projects`: a directory that is seen to be a project can be named although nobody worked in it yet.
    pub adopt_projects: Setting<bool>,
    /// `journal_days`: records of writes and displaced texts are kept for so long.
    pub journal_days: Setting<u64>,
    /// `journal_mib`: and so much of them at most.
    pub journal_mib: Setting<u64>,
    /// `feed_days`: changes stay in the feed for so long.
    pub feed_days: Setting<u64>,
    /// `feed_changes`: and so many of them at least.
    pub feed_changes: Setting<u64>,
    /// `max_directories`: so many directories of one tree are watched and searched.
    pub max_directories: Setting<usize>,
    /// `[http]`: the gateway.
    pub http: HttpSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            idle_seconds: Setting::default(30 * 60),
            grace_seconds: Setting::default(10 * 60),
            claim_grace_seconds: Setting::default(60),
            log_level: Setting::default("info".to_owned()),
            roots: Setting::default(Vec::new()),
            adopt_projects: Setting::default(true),
            journal_days: Setting::default(30),
            journal_mib: Setting::default(512),
            feed_days: Setting::default(30),
            feed_changes: Setting::default(100_000),
            max_directories: Setting::default(50_000),
            http: HttpSettings::default(),
        }
    }
}

/// With less, the files that are being written would be more than the bound.
const MIN_JOURNAL_MIB: u64 = 16;
/// Days, MiB or changes; more is a slip of the pen.
const MAX_RETENTION: u64 = 1 << 24;
const LOG_LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

impl Settings {
    /// Reads the file's text, if there is a file, and the variables.
    pub fn read(file: Option<&str>, variables: &Variables) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut warnings = Vec::new();
        if let Some(text) = file {
            settings.take_file(text, &mut warnings);
        }
        settings.take_variables(variables, &mut warnings);
        (settings, warnings)
    }

    fn take_file(&mut self, text: &str, warnings: &mut Vec<String>) {
        let mut table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => {
                let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
                let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
                warnings.push(format!(
                    "config.toml{place} cannot be read, so no setting of it counts: {}",
                    error.message()
                ));
                return;
            }
        };
        for (name, value) in &table {
            let taken = match name.as_str() {
                "idle_seconds" => seconds(value).map(|seconds| self.idle_seconds.set(seconds, Source::ConfigFile)),
                "grace_seconds" => seconds(value).map(|seconds| self.grace_seconds.set(seconds, Source::ConfigFile)),
                "claim_grace_seconds" => {
                    seconds(value).map(|seconds| self.claim_grace_seconds.set(seconds, Source::ConfigFile))
                }
                "log_level" => {
                    value.as_str().and_then(log_level).map(|level| self.log_level.set(level, Source::ConfigFile))
                }
                "http" => value.as_table().map(|table| self.http.take_table(table, warnings)),
                "adopt_projects" => value.as_bool().map(|adopts| self.adopt_projects.set(adopts, Source::ConfigFile)),
                "journal_days" => at_least(1, value).map(|days| self.journal_days.set(days, Source::ConfigFile)),
                "journal_mib" => {
                    at_least(MIN_JOURNAL_MIB, value).map(|mib| self.journal_mib.set(mib, Source::ConfigFile))
                }
                "feed_days" => at_least(1, value).map(|days| self.feed_days.set(days, Source::ConfigFile)),
                "feed_changes" => at_least(1, value).map(|changes| self.feed_changes.set(changes, Source::ConfigFile)),
                "max_directories" => value
                    .as_integer()
                    .and_then(|count| usize::try_from(count).ok())
                    .filter(|count| *count > 0)
                    .map(|count| self.max_directories.set(count, Source::ConfigFile)),
                "roots" => paths(value).map(|roots| self.roots.set(roots, Source::ConfigFile)),
                _ => {
                    warnings.push(format!("config.toml: there is no setting `{name}`"));
                    continue;
                }
            };
            if taken.is_none() {
                warnings.push(format!("config.toml: `{name}` cannot have that value and is left as it was"));
            }
        }
        // Secrets are among them.
        table.iter_mut().for_each(|(_, value)| wipe(value));
    }

    fn take_variables(&mut self, variables: &Variables, warnings: &mut Vec<String>) {
        let variable = |name: &str| variables.get(name).map(OsStr::to_string_lossy);
        for (name, setting) in [
            ("TRELLIS_IDLE_SECONDS", &mut self.idle_seconds),
            ("TRELLIS_GRACE_SECONDS", &mut self.grace_seconds),
            ("TRELLIS_CLAIM_GRACE_SECONDS", &mut self.claim_grace_seconds),
        ] {
            let Some(text) = variable(name) else { continue };
            match text.trim().parse() {
                Ok(seconds) => setting.set(seconds, Source::Environment),
                Err(_) => warnings.push(format!("{name} cannot be `{text}` and is ignored")),
            }
        }
        if let Some(text) = variable("TRELLIS_LOG_LEVEL").or_else(|| variable("LOG_LEVEL")) {
            match log_level(&text) {
                Some(level) => self.log_level.set(level, Source::Environment),
                None => warnings.push(format!("the log level cannot be `{text}` and is ignored")),
            }
        }
        self.http.take_variables(variables, warnings);
    }

    /// For `trellisd status --settings`; no secret is among them.
    pub fn report(&self) -> Vec<SettingStatus> {
        let paths = |paths: &Vec<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let mut rows = vec![
            self.idle_seconds.report("idle_seconds", u64::to_string),
            self.grace_seconds.report("grace_seconds", u64::to_string),
            self.claim_grace_seconds.report("claim_grace_seconds", u64::to_string),
            self.log_level.report("log_level", String::clone),
            self.roots.report("roots", |roots| paths(roots).join(", ")),
            self.adopt_projects.report("adopt_projects", bool::to_string),
            self.journal_days.report("journal_days", u64::to_string),
            self.journal_mib.report("journal_mib", u64::to_string),
            self.feed_days.report("feed_days", u64::to_string),
            self.feed_changes.report("feed_changes", u64::to_string),
            self.max_directories.report("max_directories", usize::to_string),
        ];
        rows.extend(self.http.report());
        rows
    }
}

fn wipe(value: &mut toml::Value) {
    match value {
        toml::Value::String(text) => text.zeroize(),
        toml::Value::Array(values) => values.iter_mut().for_each(wipe),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, value)| wipe(value)),
        _ => {}
    }
}

fn seconds(value: &toml::Value) -> Option<u64> {
    value.as_integer().and_then(|seconds| u64::try_from(seconds).ok())
}

fn at_least(least: u64, value: &toml::Value) -> Option<u64> {
    seconds(value).filter(|number| (least..=MAX_RETENTION).contains(number))
}

fn log_level(text: &str) -> Option<String> {
    let level = text.trim().to_ascii_lowercase();
    // The word of one of the servers we stand in for.
    let level = if level == "warning" { "warn".to_owned() } else { level };
    LOG_LEVELS.contains(&level.as_str()).then_some(level)
}

fn paths(value: &toml::Value) -> Option<Vec<PathBuf>> {
    let paths: Option<Vec<PathBuf>> = value.as_array()?.iter().map(|item| item.as_str().map(PathBuf::from)).collect();
    paths.filter(|paths| paths.iter().all(|path| path.is_absolute()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn the_later_source_wins_and_is_remembered() {
        let file = "idle_seconds = 60\nroots = [\"/srv/a\"]\nadopt_projects = false\n";
        let (settings, warnings) = Settings::read(Some(file), &variables(&[("TRELLIS_IDLE_SECONDS", "5")]));
        assert_eq!(settings.idle_seconds, Setting { value: 5, source: Source::Environment });
        assert_eq!(settings.roots, Setting { value: vec!["/srv/a".into()], source: Source::ConfigFile });
        assert_eq!(settings.adopt_projects, Setting { value: false, source: Source::ConfigFile });
        assert_eq!(settings.log_level.source, Source::Default);
        assert!(warnings.is_empty());
    }

    #[test]
    fn what_is_kept_can_be_set_within_reason() {
        let file = "journal_days = 7\njournal_mib = 64\nfeed_days = 1\nfeed_changes = 500\n";
        let (settings, warnings) = Settings::read(Some(file), &Variables::default());
        let rows: Vec<_> = settings.report().into_iter().map(|row| (row.name, row.value, row.source)).collect();
        for (name, value) in [("journal_days", "7"), ("journal_mib", "64"), ("feed_days", "1"), ("feed_changes", "500")]
        {
            assert!(rows.contains(&(name.into(), value.into(), "config file".into())), "{rows:?}");
        }
        assert!(warnings.is_empty(), "{warnings:?}");
        let file = "journal_days = 0\njournal_mib = 1\nfeed_days = -1\nfeed_changes = 9999999999\n";
        let (settings, warnings) = Settings::read(Some(file), &Variables::default());
        assert_eq!((settings, warnings.len()), (Settings::default(), 4));
    }

    #[test]
    fn nonsense_is_named_and_left_out() {
        let file = "idle_seconds = -1\nnew_thing = 1\nroots = [\"relative\"]\n";
        let (settings, warnings) = Settings::read(Some(file), &variables(&[("LOG_LEVEL", "loud")]));
        assert_eq!(settings, Settings::default());
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        let broken = "idle_seconds = 1\n\n= =\n";
        let (settings, warnings) = Settings::read(Some(broken), &variables(&[("LOG_LEVEL", "WARNING")]));
        assert_eq!((settings.log_level.value.as_str(), settings.idle_seconds.source), ("warn", Source::Default));
        assert!(warnings.len() == 1 && warnings[0].contains("config.toml, line 3"), "{warnings:?}");
    }
}
