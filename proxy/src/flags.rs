//! Arguments → what the session may see and where it works. Parsed by hand, because a proxy starts often and must
//! start quickly.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use trellis_protocol::Surface;

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

/// The text of `--help`.
pub(crate) fn help(program: &str) -> String {
    format!(
        "{program}: brings Trellis to an AI host over stdin and stdout (MCP)\n\n\
         usage: {program} [flags]\n\n\
         \x20 --only FAMILY      one family, under its own tool names (trellis, vibe, todo, vine, vault, board)\n\
         \x20 --families A,B     these families beside trellis; all of them without this flag\n\
         \x20 --profile core     the tools of a day alone\n\
         \x20 --tools +X,-Y      show or hide single tools\n\
         \x20 --read-only        leave out every tool that writes files\n\
         \x20 --cwd DIR          work in DIR instead of the current directory\n\
         \x20 --version          print the version\n\
         \x20 --help             print this text\n"
    )
}

/// Reads the arguments that follow the program's name; or says why they make no sense.
pub(crate) fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut flags = Flags::default();
    let mut has_only = false;
    while let Some(word) = args.next() {
        let (name, attached) = split(&word);
        let name = name.to_str().unwrap_or_default();
        let mut value = || attached.clone().or_else(|| args.next()).ok_or_else(|| format!("{name} needs a value"));
        match name {
            "--only" | "--families" => {
                let list = text(name, value()?)?;
                if name == "--only" && list.contains(',') {
                    return Err(format!("--only takes one family, not `{list}`: use --families for several"));
                }
                let surface = match name {
                    "--only" => flags.surface.with_families(&list),
                    _ => flags.surface.with_families_and_common(&list),
                };
                flags.surface = surface.map_err(|error| error.to_string())?;
                has_only |= name == "--only";
            }
            "--profile" => {
                let profile = text(name, value()?)?;
                flags.surface = flags.surface.with_profile(&profile).map_err(|error| error.to_string())?;
            }
            "--tools" => {
                let list = text(name, value()?)?;
                flags.surface = flags.surface.with_tools(&list).map_err(|error| error.to_string())?;
            }
            "--cwd" => flags.directory = Some(value()?.into()),
            "--read-only" | "--version" | "--help" if attached.is_some() => {
                return Err(format!("{name} takes no value"));
            }
            "--read-only" => flags.surface.read_only = true,
            "--version" | "-V" => return Ok(Command::Version),
            "--help" | "-h" => return Ok(Command::Help),
            _ => return Err(format!("unknown argument `{}`", word.display())),
        }
    }
    if has_only && flags.surface.is_core() {
        return Err("--profile and --only exclude each other".to_owned());
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

fn text(flag: &str, value: OsString) -> Result<String, String> {
    value.into_string().map_err(|_| format!("the value of {flag} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: Result<Command, &str>) {
        let parsed = parse(words.iter().map(OsString::from));
        assert_eq!(parsed, expected.map_err(str::to_owned), "{words:?}");
    }

    #[test]
    fn flags_are_read_in_both_forms() {
        let surface = Surface::default()
            .with_families("trellis,vault,vine")
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
        check(&["--nonsense"], Err("unknown argument `--nonsense`"));
        check(&["word"], Err("unknown argument `word`"));
        check(&["--cwd"], Err("--cwd needs a value"));
        check(&["--read-only=yes"], Err("--read-only takes no value"));
        check(&["--profile", "core", "--only", "vine"], Err("--profile and --only exclude each other"));
        check(&["--profile=all"], Err("`all` is no profile: there is `core`"));
        check(&["--only", "vine,vault"], Err("--only takes one family, not `vine,vault`: use --families for several"));
        let bad_tool = trellis_protocol::surface::SurfaceError::BadTool("x".into()).to_string();
        check(&["--tools", "x"], Err(&bad_tool));
    }
}
