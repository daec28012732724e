//! Arguments → what the session may see and where it works. Parsed by hand, because a proxy starts often and must
//! start quickly.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use trellis_protocol::Surface;
use trellis_protocol::surface::SurfaceError;

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Serve the host on stdin and stdout.
    Serve(Flags),
    /// Print the version.
    Version,
    /// Print the help.
    Help,
}

/// The settings of one session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// What the session may see.
    pub(crate) surface: Surface,
    /// `--cwd`, as given.
    pub(crate) directory: Option<PathBuf>,
}

/// Arguments that make no sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FlagError {
    /// Not one of ours.
    Unknown(String),
    /// A flag that needs a value came without.
    NoValue(&'static str),
    /// A flag that takes no value came with one.
    UnwantedValue(&'static str),
    /// A value that is not text.
    NotText(&'static str),
    /// `--only` names exactly one family.
    NotOne(String),
    /// A list that cannot be understood.
    Surface(SurfaceError),
}

impl fmt::Display for FlagError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(word) => write!(formatter, "unknown argument `{word}`"),
            Self::NoValue(flag) => write!(formatter, "{flag} needs a value"),
            Self::UnwantedValue(flag) => write!(formatter, "{flag} takes no value"),
            Self::NotText(flag) => write!(formatter, "the value of {flag} is not UTF-8"),
            Self::NotOne(list) => {
                write!(formatter, "--only takes one family, not `{list}`: use --families for several")
            }
            Self::Surface(error) => error.fmt(formatter),
        }
    }
}

/// The text of `--help`.
pub(crate) fn help(program: &str) -> String {
    format!(
        "{program}: brings Trellis to an AI host over stdin and stdout (MCP)\n\n\
         usage: {program} [flags]\n\n\
         \x20 --only FAMILY      one family, under its own tool names (vibe, todo, vine, vault, board)\n\
         \x20 --families A,B     several families; all of them without this flag\n\
         \x20 --tools +X,-Y      show or hide single tools\n\
         \x20 --read-only        leave out every tool that writes files\n\
         \x20 --cwd DIR          work in DIR instead of the current directory\n\
         \x20 --version          print the version\n\
         \x20 --help             print this text\n"
    )
}

/// Reads the arguments that follow the program's name.
pub(crate) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Command, FlagError> {
    let mut flags = Flags::default();
    while let Some(word) = args.next() {
        let (name, attached) = split(&word);
        let mut value = |flag| attached.clone().or_else(|| args.next()).ok_or(FlagError::NoValue(flag));
        match name.to_str() {
            Some("--only") => {
                let family = text("--only", value("--only")?)?;
                if family.contains(',') {
                    return Err(FlagError::NotOne(family));
                }
                flags.surface = flags.surface.with_families(&family).map_err(FlagError::Surface)?;
            }
            Some("--families") => {
                let list = text("--families", value("--families")?)?;
                flags.surface = flags.surface.with_families(&list).map_err(FlagError::Surface)?;
            }
            Some("--tools") => {
                let list = text("--tools", value("--tools")?)?;
                flags.surface = flags.surface.with_tools(&list).map_err(FlagError::Surface)?;
            }
            Some("--cwd") => flags.directory = Some(value("--cwd")?.into()),
            Some("--read-only") => {
                alone("--read-only", attached)?;
                flags.surface.read_only = true;
            }
            Some("--version" | "-V") => return alone("--version", attached).map(|()| Command::Version),
            Some("--help" | "-h") => return alone("--help", attached).map(|()| Command::Help),
            _ => return Err(FlagError::Unknown(word.to_string_lossy().into_owned())),
        }
    }
    Ok(Command::Serve(flags))
}

/// `--name=value` → both halves; anything else is a name.
fn split(word: &OsStr) -> (&OsStr, Option<OsString>) {
    let bytes = word.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(place) if bytes.starts_with(b"--") => {
            (OsStr::from_bytes(&bytes[..place]), Some(OsString::from_vec(bytes[place + 1..].to_vec())))
        }
        _ => (word, None),
    }
}

fn text(flag: &'static str, value: OsString) -> Result<String, FlagError> {
    value.into_string().map_err(|_| FlagError::NotText(flag))
}

fn alone(flag: &'static str, attached: Option<OsString>) -> Result<(), FlagError> {
    if attached.is_none() { Ok(()) } else { Err(FlagError::UnwantedValue(flag)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: Result<Command, FlagError>) {
        assert_eq!(parse(words.iter().map(OsString::from)), expected, "{words:?}");
    }

    #[test]
    fn flags_are_read_in_both_forms() {
        let surface = Surface::default()
            .with_families("vault,vine")
            .and_then(|surface| surface.with_tools("-vault_ls"))
            .expect("good flags");
        let flags = Flags { surface: Surface { read_only: true, ..surface }, directory: Some("/p=q".into()) };
        check(
            &["--families", "vault,vine", "--tools=-vault_ls", "--read-only", "--cwd=/p=q"],
            Ok(Command::Serve(flags)),
        );
        check(&[], Ok(Command::Serve(Flags::default())));
        check(&["--read-only", "--version"], Ok(Command::Version));
        check(&["--help"], Ok(Command::Help));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        check(&["--nonsense"], Err(FlagError::Unknown("--nonsense".into())));
        check(&["word"], Err(FlagError::Unknown("word".into())));
        check(&["--cwd"], Err(FlagError::NoValue("--cwd")));
        check(&["--read-only=yes"], Err(FlagError::UnwantedValue("--read-only")));
        check(&["--only", "vine,vault"], Err(FlagError::NotOne("vine,vault".into())));
        check(&["--tools", "x"], Err(FlagError::Surface(SurfaceError::BadTool("x".into()))));
    }
}
