//! What a vault is, where it is, and how much of it is shown at once: the session's settings become
//! a place and limits. Whether anything is at that place is for the disk to say.

use std::path::{Path, PathBuf};

use crate::disk::{SymlinkPolicy, TreeLocation};
use crate::families::SessionContext;
use crate::projects::ProjectSelector;

/// Larger files are neither read nor changed.
pub const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// Longer texts are not created, in bytes.
pub const CONTENT_LIMIT: usize = 4 * 1024 * 1024;

/// More entries of one directory are not listed.
pub const ENTRY_LIMIT: usize = 1000;

/// How much is shown at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// No text is longer, in characters.
    pub hard_max_chars: usize,
    /// Lines of a chunk when the caller does not say.
    pub default_chunk: usize,
    /// The largest chunk that a caller may ask for.
    pub max_chunk: usize,
    /// Whether a read must say how much it wants, as the vault's own clients expect.
    pub needs_range: bool,
}

impl Limits {
    /// As the session has set them.
    pub fn of(session: &SessionContext) -> Self {
        let max_chunk = session.count("VAULT_SCAN_MAX_CHUNK_LINES").unwrap_or(200);
        let default_chunk = session.count("VAULT_SCAN_DEFAULT_CHUNK_LINES").unwrap_or(80);
        Self {
            hard_max_chars: session.count("HARD_MAX_CHARS").unwrap_or(20_000),
            // A default that no caller could ask for would make the next call of a scan an error.
            default_chunk: default_chunk.min(max_chunk),
            max_chunk,
            needs_range: session.sees_one_family(),
        }
    }
}

/// Where the session's vault is. One that is set to an absolute path is the same for all projects; one below
/// `WORKSPACE_ROOT` is there whether or not it exists yet, so that the first file makes it in the right place.
pub fn place(session: &SessionContext, project_root: Option<&Path>) -> TreeLocation {
    let below = match session.path("VAULT_ROOT") {
        Some(path) if path.is_absolute() => return TreeLocation::Fixed(path.to_owned()),
        Some(path) => path.to_owned(),
        None => PathBuf::from("vault"),
    };
    let links = SymlinkPolicy::FollowInsideTree;
    match project_root {
        Some(path) => {
            let project = ProjectSelector::Named(path.to_owned());
            TreeLocation::InProject { unless: None, project, below, links }
        }
        None => match workspace(session) {
            Some(workspace) => TreeLocation::Fixed(workspace.join(below)),
            None => {
                let unless = session.directory.as_ref().map(|directory| directory.join(&below));
                TreeLocation::InProject { unless, project: ProjectSelector::Session, below, links }
            }
        },
    }
}

fn workspace(session: &SessionContext) -> Option<PathBuf> {
    let path = session.path("WORKSPACE_ROOT")?;
    match &session.directory {
        Some(directory) => Some(directory.join(path)),
        None => path.is_absolute().then(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(directory: Option<&str>, environment: &[(&str, &str)]) -> SessionContext {
        SessionContext {
            directory: directory.map(PathBuf::from),
            environment: environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..SessionContext::default()
        }
    }

    fn check(environment: &[(&str, &str)], named: Option<&str>, expected: TreeLocation) {
        assert_eq!(place(&session(Some("/srv"), environment), named.map(Path::new)), expected, "{environment:?}");
    }

    fn in_project(unless: Option<&str>, named: Option<&str>, below: &str) -> TreeLocation {
        let project = named.map_or(ProjectSelector::Session, |path| ProjectSelector::Named(path.into()));
        let links = SymlinkPolicy::FollowInsideTree;
        TreeLocation::InProject { unless: unless.map(PathBuf::from), project, below: below.into(), links }
    }

    #[test]
    fn the_settings_say_where_the_vault_is() {
        check(&[], None, in_project(Some("/srv/vault"), None, "vault"));
        check(&[("VAULT_ROOT", "")], None, in_project(Some("/srv/vault"), None, "vault"));
        check(&[("VAULT_ROOT", "/notes")], None, TreeLocation::Fixed("/notes".into()));
        check(&[("VAULT_ROOT", "/notes")], Some("/p"), TreeLocation::Fixed("/notes".into()));
        check(&[("VAULT_ROOT", "docs/v")], None, in_project(Some("/srv/docs/v"), None, "docs/v"));
        check(&[("WORKSPACE_ROOT", "/space")], None, TreeLocation::Fixed("/space/vault".into()));
        check(&[("WORKSPACE_ROOT", "sub")], None, TreeLocation::Fixed("/srv/sub/vault".into()));
        check(&[("WORKSPACE_ROOT", "/space"), ("VAULT_ROOT", "v")], None, TreeLocation::Fixed("/space/v".into()));
        check(&[("WORKSPACE_ROOT", "/space")], Some("/p"), in_project(None, Some("/p"), "vault"));
        assert_eq!(place(&session(None, &[]), None), in_project(None, None, "vault"));
        assert_eq!(place(&session(None, &[("WORKSPACE_ROOT", "sub")]), None), in_project(None, None, "vault"));
    }

    #[test]
    fn the_settings_say_how_much_is_shown() {
        let limits = |environment| {
            let Limits { hard_max_chars, default_chunk, max_chunk, .. } = Limits::of(&session(None, environment));
            (hard_max_chars, default_chunk, max_chunk)
        };
        assert_eq!(limits(&[]), (20_000, 80, 200));
        assert_eq!(limits(&[("HARD_MAX_CHARS", "10"), ("VAULT_SCAN_MAX_CHUNK_LINES", "5")]), (10, 5, 5));
        assert_eq!(limits(&[("VAULT_SCAN_DEFAULT_CHUNK_LINES", "300")]), (20_000, 200, 200));
        assert_eq!(limits(&[("HARD_MAX_CHARS", "0"), ("VAULT_SCAN_DEFAULT_CHUNK_LINES", "x")]), (20_000, 80, 200));
    }
}
