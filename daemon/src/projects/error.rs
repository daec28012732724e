//! Which project a call is about, and the words for when that cannot be told: what is wrong, and what helps where the
//! call came from. Nothing here looks at the disk.

use std::path::{Path, PathBuf};

/// Longer paths are shown by their beginning.
const SHOWN_CHARS: usize = 80;

/// Which project a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectSelector {
    /// The caller named it.
    Named(PathBuf),
    /// The session's: its working directory, else its roots.
    Session,
}

/// How a session reaches us; it decides how a person can set the session's project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interface {
    #[default]
    Stdio,
    Http,
}

/// Why a call has no project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectError {
    pub door: Interface,
    /// What the caller named; none if it left the choice to the session.
    pub named: Option<PathBuf>,
    pub why: NotAProject,
}

/// What is wrong with a directory that should be a project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAProject {
    #[error("the session has neither a directory nor roots")]
    NoDirectory,
    #[error("a home directory or `/` is no project")]
    HomeOrRoot,
    #[error("no known project has that name{}", near(.0))]
    NoSuchName(Vec<String>),
    #[error("it may be {}", .0.join(" or "))]
    Ambiguous(Vec<String>),
    #[error("there is no such directory, or it cannot be opened")]
    NotThere,
    #[error("it belongs to another user")]
    OtherUser,
    /// With the names that a tree of ours may have.
    #[error("it holds neither version control nor a tree of Trellis ({0})")]
    Unmarked(String),
    #[error("no session has worked in it, and `adopt_projects = false` in config.toml allows no others")]
    Unknown,
}

fn near(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" (near are `{}`)", names.join("`, `")) }
}

impl NotAProject {
    /// Names that may have been meant.
    pub fn nearest(&self) -> &[String] {
        match self {
            Self::NoSuchName(names) | Self::Ambiguous(names) => names,
            _ => &[],
        }
    }
}

impl ProjectError {
    /// What is wrong and everything that helps; never the advice that has just been followed.
    pub fn message(&self) -> String {
        let Self { door, named, why } = self;
        match (named, door) {
            (Some(path), Interface::Stdio) => format!(
                "`project_root` cannot be `{}`: {why}; name a project, or have the host start this server in that \
                 directory, with `--cwd DIR` in its args or `TODO_PROJECT_ROOT` in its env",
                shown(path)
            ),
            (Some(path), Interface::Http) => format!(
                "`project_root` cannot be `{}`: {why}; name a project, or send that directory as `X-Trellis-Project`, \
                 or set `TRELLIS_HTTP_PROJECT` for the daemon",
                shown(path)
            ),
            (None, Interface::Stdio) => format!(
                "which project is meant? {why}: pass `project_root` with the absolute path or the name of one, or have the host \
                 start this server there, with `--cwd DIR` in its args or `TODO_PROJECT_ROOT` in its env"
            ),
            (None, Interface::Http) => format!(
                "which project is meant? {why}: pass `project_root` with the absolute path or the name of one, send it as \
                 `X-Trellis-Project`, or set `TRELLIS_HTTP_PROJECT` for the daemon"
            ),
        }
    }

    /// The next step, for families whose hints stand apart from their messages.
    pub fn hint(&self) -> &'static str {
        match self.named {
            Some(_) => "call again with another `project_root`, or do one of these first",
            None => "call again with `project_root`, or do one of these first",
        }
    }

    /// What the caller named, shortened.
    pub fn value(&self) -> Option<String> {
        self.named.as_deref().map(shown)
    }
}

fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_what_helps_at_its_door() {
        let reasons = [
            NotAProject::NoDirectory,
            NotAProject::HomeOrRoot,
            NotAProject::NoSuchName(vec!["web".to_owned()]),
            NotAProject::Ambiguous(vec!["a/web".to_owned()]),
            NotAProject::NotThere,
            NotAProject::OtherUser,
            NotAProject::Unmarked("`.todo`".to_owned()),
            NotAProject::Unknown,
        ];
        for why in reasons {
            for (door, ways) in [
                (Interface::Stdio, ["`--cwd DIR`", "`TODO_PROJECT_ROOT`"]),
                (Interface::Http, ["`X-Trellis-Project`", "`TRELLIS_HTTP_PROJECT`"]),
            ] {
                for named in [None, Some(PathBuf::from("/srv/x"))] {
                    let error = ProjectError { door, named: named.clone(), why: why.clone() };
                    let sentence = error.message();
                    assert!(ways.iter().all(|way| sentence.contains(way)), "{sentence}");
                    assert!(sentence.contains("`project_root`") && sentence.contains(&why.to_string()), "{sentence}");
                    assert_eq!(sentence.contains("pass `project_root`"), named.is_none(), "no circle: {sentence}");
                }
            }
        }
    }
}
