//! From what a caller names to what may be on the disk: candidates in their order, as pure text work.
//!
//! Whether anything is at a candidate is for the disk to say. Paths are put together as JavaScript's `path.resolve`
//! does, because callers see them in messages.

use std::path::{Path, PathBuf};

use crate::tools::Session;

/// From where relative paths are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The working directory, if the session has one.
    pub directory: Option<PathBuf>,
    /// After that, in order.
    pub roots: Vec<PathBuf>,
    /// Whether the host started the session at home or in `/`, where no plan is expected.
    pub is_nowhere: bool,
}

impl Ground {
    /// Of a session. A directory that was told with `--cwd` is the only root.
    pub fn of(session: &Session) -> Self {
        let directory = session.directory.clone();
        let roots = match &directory {
            Some(directory) if session.is_told => vec![directory.clone()],
            _ => session.roots().to_vec(),
        };
        let says_something =
            |directory: &PathBuf| directory.parent().is_some() && session.home.as_ref() != Some(directory);
        let is_nowhere = roots.is_empty() && !directory.as_ref().is_some_and(says_something);
        Self { directory, roots, is_nowhere }
    }
}

/// A file that should exist, and everywhere it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    /// As the caller named it.
    pub argument: String,
    /// In this order; the first that exists is meant.
    pub candidates: Vec<PathBuf>,
    /// What is meant when none exists; none if nothing says so.
    pub otherwise: Option<PathBuf>,
    /// A relative name in a session that was started nowhere in particular.
    pub is_nowhere: bool,
}

impl Sought {
    /// Everywhere the named file may be.
    pub fn of(argument: &str, ground: &Ground) -> Self {
        let mut candidates = Vec::new();
        for name in names(argument) {
            if name.starts_with('/') {
                candidates.push(PathBuf::from(&name));
            }
            let bases = ground.directory.iter().chain(&ground.roots);
            candidates.extend(bases.map(|base| resolve(base, &name)));
        }
        candidates.dedup();
        let absolute = argument.starts_with('/').then_some(Path::new("/"));
        let otherwise = ground.directory.as_deref().or(absolute).map(|base| resolve(base, argument));
        let is_nowhere = ground.is_nowhere && absolute.is_none();
        Self { argument: argument.to_owned(), candidates, otherwise, is_nowhere }
    }

    /// Besides, where a relative name leads from a directory.
    #[must_use]
    pub fn or_below(mut self, directory: &Path) -> Self {
        if !self.argument.starts_with('/') {
            self.candidates.extend(names(&self.argument).map(|name| resolve(directory, &name)));
        }
        self
    }
}

/// Where a new file is to be: relative ones are always below the working directory.
pub fn new_file(argument: &str, ground: &Ground) -> Option<PathBuf> {
    let name = if has_extension(argument) { argument.to_owned() } else { format!("{argument}.vine") };
    let base = ground.directory.as_deref().or_else(|| name.starts_with('/').then_some(Path::new("/")))?;
    Some(resolve(base, &name))
}

/// Whether a name says that a plan is there.
pub fn is_vine(path: &str) -> bool {
    path.ends_with(".vine")
}

/// The name itself, and with the extension if it has none.
fn names(argument: &str) -> impl Iterator<Item = String> {
    let with_extension = (!has_extension(argument)).then(|| format!("{argument}.vine"));
    std::iter::once(argument.to_owned()).chain(with_extension)
}

/// A dot in the last part that does not begin it.
fn has_extension(argument: &str) -> bool {
    let last = argument.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    last != ".." && last.strip_prefix('.').unwrap_or(last).contains('.')
}

/// An absolute path without `.`, `..` and doubled slashes; links are not asked.
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

    fn ground(directory: Option<&str>, roots: &[&str]) -> Ground {
        let roots = roots.iter().map(PathBuf::from).collect();
        Ground { directory: directory.map(PathBuf::from), roots, is_nowhere: false }
    }

    fn check(argument: &str, candidates: &[&str], otherwise: &str) {
        let sought = Sought::of(argument, &ground(Some("/w"), &["/r", "/s"]));
        let paths =
            |paths: &[PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>();
        assert_eq!(paths(&sought.candidates), candidates, "{argument}");
        assert_eq!(sought.otherwise, Some(otherwise.into()), "{argument}");
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
        let nowhere = Sought::of("plan.vine", &ground(None, &["/r"]));
        assert_eq!((nowhere.candidates, nowhere.otherwise), (vec![PathBuf::from("/r/plan.vine")], None));
        let child = Sought::of("c", &ground(Some("/w"), &[])).or_below(Path::new("/p"));
        assert_eq!(child.candidates, ["/w/c", "/w/c.vine", "/p/c", "/p/c.vine"].map(PathBuf::from));
        let absolute = Sought::of("/c.vine", &ground(Some("/w"), &[])).or_below(Path::new("/p"));
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
        let new = |argument| new_file(argument, &ground(Some("/w"), &["/r"])).expect("a path");
        assert_eq!(new("plan"), Path::new("/w/plan.vine"));
        assert_eq!(new("./sub//plan.txt"), Path::new("/w/sub/plan.txt"));
        assert_eq!(new("/abs/../plan"), Path::new("/plan.vine"));
        assert_eq!(new_file("plan", &ground(None, &["/r"])), None);
        assert_eq!(new_file("/plan", &ground(None, &[])), Some("/plan.vine".into()));
    }

    #[test]
    fn a_told_directory_is_the_only_root() {
        let session = |is_told| {
            let session = Session { directory: Some("/w".into()), is_told, ..Session::default() };
            session.set_roots(vec!["/r".into()]);
            session
        };
        assert_eq!(Ground::of(&session(true)), ground(Some("/w"), &["/w"]));
        assert_eq!(Ground::of(&session(false)), ground(Some("/w"), &["/r"]));
    }
}
