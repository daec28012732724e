//! From the name that a caller gives a plan, a task graph in a `.vine` file, to the paths where it may be, in their order.
//!
//! Never touches the disk: whether anything is at a path is for others to ask. Paths are put together as JavaScript's `path.resolve`
//! does, because callers see them in messages.

use std::path::{Path, PathBuf};

use crate::families::SessionContext;

/// From where relative paths are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSearchPaths {
    /// The working directory, if the session has one.
    pub directory: Option<PathBuf>,
    /// The directories that the host told, looked in after that, in order.
    pub host_roots: Vec<PathBuf>,
    /// The host told no directory, and started the session at home or in `/`: errors then advise an absolute path.
    pub lacks_base: bool,
}

impl PlanSearchPaths {
    /// Of a session. A directory that was told with `--cwd` is the only root.
    pub fn of(session: &SessionContext) -> Self {
        let directory = session.directory.clone();
        let host_roots = match &directory {
            Some(directory) if session.has_explicit_directory => vec![directory.clone()],
            _ => session.roots().to_vec(),
        };
        let is_useful_base =
            |directory: &PathBuf| directory.parent().is_some() && session.home.as_ref() != Some(directory);
        let lacks_base = host_roots.is_empty() && !directory.as_ref().is_some_and(is_useful_base);
        Self { directory, host_roots, lacks_base }
    }
}

/// A file that should exist, and everywhere it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLookup {
    /// As the caller named it.
    pub argument: String,
    /// In this order; the first that exists is meant.
    pub candidates: Vec<PathBuf>,
    /// The path that is reported when none exists; none if there is no base for it.
    pub reported_path: Option<PathBuf>,
    /// A relative name without a useful base.
    pub lacks_base: bool,
}

impl PlanLookup {
    /// Everywhere the named file may be.
    pub fn of(argument: &str, search_paths: &PlanSearchPaths) -> Self {
        let mut candidates = Vec::new();
        for name in names(argument) {
            // An absolute name that exists counts as it was given.
            if name.starts_with('/') {
                candidates.push(PathBuf::from(&name));
            }
            let bases = search_paths.directory.iter().chain(&search_paths.host_roots);
            candidates.extend(bases.map(|base| resolve(base, &name)));
        }
        candidates.dedup();
        let absolute = argument.starts_with('/').then_some(Path::new("/"));
        let reported_path = search_paths.directory.as_deref().or(absolute).map(|base| resolve(base, argument));
        let lacks_base = search_paths.lacks_base && absolute.is_none();
        Self { argument: argument.to_owned(), candidates, reported_path, lacks_base }
    }

    /// Besides, where a relative name leads from a directory.
    #[must_use]
    pub fn or_relative_to(mut self, directory: &Path) -> Self {
        if !self.argument.starts_with('/') {
            self.candidates.extend(names(&self.argument).map(|name| resolve(directory, &name)));
        }
        self
    }
}

/// Where a new file is to be: relative names count from the working directory, never from the host's; `..` may leave it.
pub fn new_file(argument: &str, search_paths: &PlanSearchPaths) -> Option<PathBuf> {
    let name = if has_extension(argument) { argument.to_owned() } else { format!("{argument}.vine") };
    let base = search_paths.directory.as_deref().or_else(|| name.starts_with('/').then_some(Path::new("/")))?;
    Some(resolve(base, &name))
}

/// Whether a name has the extension of a plan.
pub fn is_vine(path: &str) -> bool {
    path.ends_with(".vine")
}

/// The name itself, and with the extension if it has none.
fn names(argument: &str) -> impl Iterator<Item = String> {
    let with_extension = (!has_extension(argument)).then(|| format!("{argument}.vine"));
    std::iter::once(argument.to_owned()).chain(with_extension)
}

/// The last part has a dot after its first character.
fn has_extension(argument: &str) -> bool {
    let last = argument.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    last != ".." && last.strip_prefix('.').unwrap_or(last).contains('.')
}

/// An absolute path without `.`, `..` and doubled slashes; symbolic links are not resolved.
fn resolve(base: &Path, path: &str) -> PathBuf {
    let whole = base.join(path);
    let mut parts: Vec<std::ffi::OsString> = Vec::new();
    for part in whole.components() {
        match part {
            std::path::Component::ParentDir => {
                parts.pop();
            }
            std::path::Component::Normal(part) => parts.push(part.to_owned()),
            _ => {}
        }
    }
    Path::new("/").join(parts.iter().collect::<PathBuf>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search_paths(directory: Option<&str>, host_roots: &[&str]) -> PlanSearchPaths {
        let host_roots = host_roots.iter().map(PathBuf::from).collect();
        PlanSearchPaths { directory: directory.map(PathBuf::from), host_roots, lacks_base: false }
    }

    fn check(argument: &str, candidates: &[&str], reported_path: &str) {
        let lookup = PlanLookup::of(argument, &search_paths(Some("/w"), &["/r", "/s"]));
        let paths =
            |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>();
        assert_eq!(paths(&lookup.candidates), candidates, "{argument}");
        assert_eq!(lookup.reported_path, Some(reported_path.into()), "{argument}");
    }

    #[test]
    fn the_bare_name_is_tried_everywhere_first() {
        check("plan", &["/w/plan", "/r/plan", "/s/plan", "/w/plan.vine", "/r/plan.vine", "/s/plan.vine"], "/w/plan");
        check("a.b", &["/w/a.b", "/r/a.b", "/s/a.b"], "/w/a.b");
        check("x/../plan.", &["/w/plan.", "/r/plan.", "/s/plan."], "/w/plan.");
        check("/abs/plan.vine", &["/abs/plan.vine"], "/abs/plan.vine");
        check("/abs/x/../plan.vine", &["/abs/x/../plan.vine", "/abs/plan.vine"], "/abs/plan.vine");
        check("../../../x.vine", &["/x.vine"], "/x.vine");
        check("", &["/w", "/r", "/s", "/w/.vine", "/r/.vine", "/s/.vine"], "/w");
        let nowhere = PlanLookup::of("plan.vine", &search_paths(None, &["/r"]));
        assert_eq!((nowhere.candidates, nowhere.reported_path), (vec![PathBuf::from("/r/plan.vine")], None));
        let child = PlanLookup::of("c", &search_paths(Some("/w"), &[])).or_relative_to(Path::new("/p"));
        assert_eq!(child.candidates, ["/w/c", "/w/c.vine", "/p/c", "/p/c.vine"].map(PathBuf::from));
        let absolute = PlanLookup::of("/c.vine", &search_paths(Some("/w"), &[])).or_relative_to(Path::new("/p"));
        assert_eq!(absolute.candidates, [PathBuf::from("/c.vine")]);
    }

    #[test]
    fn an_extension_is_a_dot_inside_the_last_part() {
        for (argument, expected) in [
            ("plan", false),
            (".hidden", false),
            ("a.b/plan", false),
            ("..", false),
            ("", false),
            ("plan.", true),
            ("a.b", true),
            (".a.b", true),
            ("a.b/", true),
        ] {
            assert_eq!(has_extension(argument), expected, "{argument:?}");
        }
    }

    #[test]
    fn new_files_are_below_the_working_directory() {
        let new = |argument| new_file(argument, &search_paths(Some("/w"), &["/r"])).expect("a path");
        assert_eq!(new("plan"), Path::new("/w/plan.vine"));
        assert_eq!(new("./sub//plan.txt"), Path::new("/w/sub/plan.txt"));
        assert_eq!(new("/abs/../plan"), Path::new("/plan.vine"));
        assert_eq!(new_file("plan", &search_paths(None, &["/r"])), None);
        assert_eq!(new_file("/plan", &search_paths(None, &[])), Some("/plan.vine".into()));
    }

    #[test]
    fn a_told_directory_is_the_only_root() {
        let session = |is_told| {
            let session = SessionContext {
                directory: Some("/w".into()),
                has_explicit_directory: is_told,
                ..SessionContext::default()
            };
            session.set_roots(vec!["/r".into()]);
            session
        };
        assert_eq!(PlanSearchPaths::of(&session(true)), search_paths(Some("/w"), &["/w"]));
        assert_eq!(PlanSearchPaths::of(&session(false)), search_paths(Some("/w"), &["/r"]));
    }
}
