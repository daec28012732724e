//! Which project a call is about.
//!
//! An argument, the session's directory or its roots come in, the canonical directory of a project
//! goes out. A project can be named if a session or the configuration made it known, or if it is seen to be one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::RwLock;

mod error;
mod names;
mod store;
mod worktrees;

pub use error::{Interface, NotAProject, ProjectError, ProjectSelector};
pub use names::{ProjectNameError, ProjectNames};
pub use store::ProjectStore;
pub use worktrees::TreeId;

use crate::clock::Now;

/// What a project has, once something was kept in it.
const PROJECT_MARKER: &str = ".todo";

/// What the root of a checkout has. In a worktree or submodule of git it is a file.
const VCS_DIRECTORIES: [&str; 5] = [".git", ".hg", ".jj", ".svn", ".bzr"];

/// So many names of a directory are gone through for one that makes it a project.
const MAX_NAMES_SEARCHED: usize = 10_000;

/// What a session says about its project. Paths are as they were given.
#[derive(Debug, Clone, Default)]
pub struct SessionDirectories<'a> {
    /// The setting `TODO_PROJECT_ROOT`.
    pub configured: Option<&'a Path>,
    /// Where the host started the session.
    pub directory: Option<&'a Path>,
    /// The host's roots, once it has told them.
    pub roots: Arc<Vec<PathBuf>>,
    pub door: Interface,
}

impl SessionDirectories<'_> {
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.configured.into_iter().chain(self.directory).chain(self.roots.iter().map(PathBuf::as_path))
    }
}

/// The known projects, as canonical paths. Never `/` or a home.
#[derive(Debug)]
pub struct ProjectRegistry {
    projects: RwLock<BTreeSet<PathBuf>>,
    home: Option<PathBuf>,
    /// Kept from one daemon to the next.
    store: Option<ProjectStore>,
    /// Names that make a directory a project, besides version control.
    marks: Vec<&'static str>,
    /// Whether a project that nobody worked in yet becomes known when it is named.
    adopts: bool,
}

impl ProjectRegistry {
    /// None yet. The home says nothing about what a session works on, whatever it holds.
    pub fn new(home: Option<PathBuf>) -> Self {
        let home = home.and_then(|home| canonical(&home));
        Self { projects: RwLock::default(), home, store: None, marks: Vec::new(), adopts: false }
    }

    /// A directory with version control or one of these names below it is a project. Whether such a one can be named
    /// although nobody worked in it yet is a setting.
    #[must_use]
    pub fn recognising(self, marks: Vec<&'static str>, adopts: bool) -> Self {
        Self { marks, adopts, ..self }
    }

    /// Those that were known before; what is learnt from now on is remembered as well.
    #[must_use]
    pub fn with_store(self, store: ProjectStore) -> Self {
        let before = store.projects().into_iter().filter(|path| path.is_absolute() && !self.is_home_or_root(path));
        self.projects.write().extend(before);
        Self { store: Some(store), ..self }
    }

    /// Makes the project of a directory known, because a session works there.
    pub fn remember(&self, directory: &Path, now: Timestamp) {
        if let (Some(project), Some(store)) = (self.add(directory), &self.store) {
            store.touch(&project, now);
        }
    }

    /// Makes the project of a directory known for as long as we live; which one that is.
    pub fn add(&self, directory: &Path) -> Option<PathBuf> {
        let project = self.project_of(&canonical(directory)?);
        if self.is_home_or_root(&project) {
            return None;
        }
        self.projects.write().insert(project.clone());
        Some(project)
    }

    fn is_home_or_root(&self, directory: &Path) -> bool {
        directory.parent().is_none() || self.home.as_deref() == Some(directory)
    }

    /// The nearest directory upward that has a mark, no further than the root of the checkout; else
    /// that root; else the start. A home under version control is no project of all that lies in it.
    fn project_of(&self, start: &Path) -> PathBuf {
        let upward = || start.ancestors().take_while(|above| *above == start || !self.is_home_or_root(above));
        let Some(checkout) = upward().position(is_checkout) else { return start.to_owned() };
        let marked = upward().take(checkout + 1).find(|above| is_marked(above));
        marked.or_else(|| upward().nth(checkout)).unwrap_or(start).to_owned()
    }

    /// The launcher's word. Having been started at home or in `/` is none.
    fn session_directory(&self, session: &SessionDirectories<'_>) -> Option<PathBuf> {
        let configured = session.configured.filter(|path| path.is_absolute()).and_then(canonical);
        let started = || session.directory.and_then(canonical).filter(|path| !self.is_home_or_root(path));
        configured.or_else(started)
    }

    /// All of them by their names, with the session's own.
    pub fn names(&self, session: &SessionDirectories<'_>) -> ProjectNames {
        let launched = self.session_directory(session).or_else(|| pick_host_root(session));
        let own = launched.map(|start| self.project_of(&start));
        ProjectNames::new(self.projects.read().iter().cloned().collect(), own)
    }

    /// The directory, if it is a project or part of one.
    pub fn in_project(&self, directory: &Path) -> Option<PathBuf> {
        let directory = canonical(directory)?;
        self.check_project(&directory).is_ok().then_some(directory)
    }

    /// Whether a canonical directory can be seen to be a project of this user, or part of one.
    fn check_project(&self, directory: &Path) -> Result<(), NotAProject> {
        let project = self.project_of(directory);
        if self.is_home_or_root(directory) || self.is_home_or_root(&project) {
            return Err(NotAProject::HomeOrRoot);
        }
        let owner = fs::metadata(&project).map_err(|_| NotAProject::NotThere)?.uid();
        if owner != rustix::process::geteuid().as_raw() {
            return Err(NotAProject::OtherUser);
        }
        if is_checkout(&project) || self.marks.iter().any(|mark| has_mark(&project, mark)) {
            return Ok(());
        }
        let marks: Vec<String> = self.marks.iter().map(|mark| format!("`{mark}`")).collect();
        Err(NotAProject::Unmarked(marks.join(", ")))
    }

    /// The tree with this name: of the directory that is named or the session's if it has one, else of its project.
    /// Without a name it is the project itself. A project that nobody worked in yet becomes known when it is named,
    /// after `before_adopting`: it takes a closer look at the disk.
    pub fn tree<E: From<ProjectError>>(
        &self,
        selector: &ProjectSelector,
        below: &Path,
        session: &SessionDirectories<'_>,
        before_adopting: impl FnOnce() -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let start = match selector {
            ProjectSelector::Named(path) => self.named(path, session, before_adopting)?,
            ProjectSelector::Session => {
                let launched = self.session_directory(session).or_else(|| pick_host_root(session));
                launched.ok_or_else(|| ProjectError {
                    door: session.door,
                    named: None,
                    why: started_nowhere(session),
                })?
            }
        };
        if below.as_os_str().is_empty() {
            return Ok(self.project_of(&start));
        }
        let near = start.join(below);
        Ok(if near.is_dir() { near } else { self.project_of(&start).join(below) })
    }

    /// Whether a path leads out of the project of the canonical directory that it starts in. Nothing at all leads nowhere.
    #[expect(clippy::disallowed_methods, reason = "only to be compared; its files are opened below a handle")]
    pub fn leads_outside(&self, directory: &Path, path: &Path) -> bool {
        let project = canonical(directory).map(|directory| self.project_of(&directory));
        let real = fs::canonicalize(path);
        project.zip(real.ok()).is_some_and(|(project, real)| !real.starts_with(project))
    }

    /// The canonical directory that a session names, if it may.
    fn named<E: From<ProjectError>>(
        &self,
        path: &Path,
        session: &SessionDirectories<'_>,
        before_adopting: impl FnOnce() -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let refused = |why| ProjectError { door: session.door, named: Some(path.to_owned()), why };
        let path = &self.path_of(path, session).map_err(refused)?;
        let directory = canonical(path).ok_or_else(|| refused(NotAProject::NotThere))?;
        if self.may_access(&directory, session) {
            return Ok(directory);
        }
        if !self.adopts {
            return Err(refused(NotAProject::Unknown).into());
        }
        before_adopting()?;
        self.check_project(&directory).map_err(refused)?;
        self.remember(&directory, Now::read(&TimeZone::UTC).at);
        Ok(directory)
    }

    /// The directory that is meant by a path, by `~/…`, or by the name of a known project.
    pub fn path_of(&self, named: &Path, session: &SessionDirectories<'_>) -> Result<PathBuf, NotAProject> {
        if named.is_absolute() {
            return Ok(named.to_owned());
        }
        if let (Ok(below), Some(home)) = (named.strip_prefix("~"), &self.home) {
            return Ok(home.join(below));
        }
        let (names, name) = (self.names(session), named.to_string_lossy());
        names.find(&name).map(Path::to_owned).map_err(|error| match error {
            ProjectNameError::Ambiguous(candidates) => NotAProject::Ambiguous(candidates),
            ProjectNameError::Unknown => NotAProject::NoSuchName(names.nearest(&name)),
        })
    }

    /// Whether the session may name this canonical directory. Whole components are compared.
    fn may_access(&self, directory: &Path, session: &SessionDirectories<'_>) -> bool {
        let own = self.session_directory(session).map(|start| self.project_of(&start));
        own.into_iter()
            .chain(session.roots.iter().filter_map(|root| canonical(root)))
            .any(|known| directory.starts_with(known))
            || directory.ancestors().any(|above| self.projects.read().contains(above))
    }
}

/// Why the directory in which a session was started says nothing about its project.
fn started_nowhere(session: &SessionDirectories<'_>) -> NotAProject {
    match session.directory {
        None => NotAProject::NoDirectory,
        Some(directory) if canonical(directory).is_some() => NotAProject::HomeOrRoot,
        Some(_) => NotAProject::NotThere,
    }
}

/// Where the main worktree is, of which a directory is another one. No program is run for this.
pub fn main_worktree(directory: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(directory.join(".git")).ok()?;
    let git = directory.join(link.strip_prefix("gitdir:")?.trim());
    // `MAIN/.git/worktrees/NAME`
    let common = git.parent().filter(|above| above.ends_with("worktrees"))?.parent()?;
    canonical(common.parent().filter(|_| common.ends_with(".git"))?)
}

/// The only root, else the first that is marked, else the first.
fn pick_host_root(session: &SessionDirectories<'_>) -> Option<PathBuf> {
    let roots: Vec<PathBuf> = session.roots.iter().filter_map(|root| canonical(root)).collect();
    roots.iter().find(|root| is_marked(root)).or_else(|| roots.first()).cloned()
}

/// A directory's own path; none if it is no directory.
#[expect(clippy::disallowed_methods, reason = "a project is a name to compare; its files are opened below a handle")]
fn canonical(directory: &Path) -> Option<PathBuf> {
    fs::canonicalize(directory).ok().filter(|path| path.is_dir())
}

/// A link counts as well: who keeps his files there has to refuse it, not to overlook it.
fn is_marked(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(PROJECT_MARKER)).is_ok_and(|mark| !mark.is_file())
}

/// Whether something below a directory has this name, or one that ends like it.
fn has_mark(directory: &Path, mark: &str) -> bool {
    let Some(ending) = mark.strip_prefix('*') else { return fs::symlink_metadata(directory.join(mark)).is_ok() };
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.take(MAX_NAMES_SEARCHED).any(|name| name.to_string_lossy().ends_with(ending))
}

fn is_checkout(directory: &Path) -> bool {
    VCS_DIRECTORIES.iter().any(|name| {
        let found = fs::metadata(directory.join(name));
        found.is_ok_and(|found| found.is_dir() || (*name == ".git" && found.is_file()))
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Directories by their names; a name that ends in `!` is a file.
    fn home(names: &[&str]) -> (TempDir, PathBuf) {
        let directory = TempDir::new().expect("a temporary directory");
        let home = fs::canonicalize(directory.path()).expect("its own path");
        for name in names {
            match name.strip_suffix('!') {
                Some(file) => fs::write(home.join(file), "gitdir: elsewhere").expect("a file"),
                None => fs::create_dir_all(home.join(name)).expect("a directory"),
            }
        }
        (directory, home)
    }

    #[derive(Default)]
    struct Said<'a> {
        named: Option<&'a str>,
        variable: Option<&'a str>,
        directory: Option<&'a str>,
        roots: &'a [&'a str],
        learnt: &'a [&'a str],
        adopts: bool,
    }

    const TREE: [&str; 14] = [
        "repo/.git",
        "repo/a/b",
        "repo/marked/.todo",
        "repo/marked/deep",
        "repo-evil",
        "worktree",
        "worktree/.git!",
        "worktree/sub",
        "plain/.todo",
        "plain/sub",
        "hg/.hg",
        "hg/sub",
        "planned",
        "planned/a.vine!",
    ];

    fn check(said: Said<'_>, expected: Result<&str, NotAProject>) {
        let (_directory, home) = home(&TREE);
        let at = |name: &&str| if name.starts_with('/') { PathBuf::from(name) } else { home.join(name) };
        let (directory, configured) = (said.directory.as_ref().map(at), said.variable.as_ref().map(at));
        let session = SessionDirectories {
            configured: configured.as_deref(),
            directory: directory.as_deref(),
            roots: Arc::new(said.roots.iter().map(at).collect()),
            ..SessionDirectories::default()
        };
        let projects = ProjectRegistry::new(None).recognising(vec![".todo", "*.vine"], said.adopts);
        said.learnt.iter().for_each(|name| drop(projects.add(&at(name))));
        let which = said.named.as_ref().map_or(ProjectSelector::Session, |name| ProjectSelector::Named(at(name)));
        assert_eq!(project(&projects, &which, &session), expected.map(|name| home.join(name)));
    }

    /// The tree without a name is the project.
    fn project(
        projects: &ProjectRegistry,
        which: &ProjectSelector,
        session: &SessionDirectories<'_>,
    ) -> Result<PathBuf, NotAProject> {
        let tree: Result<_, ProjectError> = projects.tree(which, Path::new(""), session, || Ok(()));
        tree.map_err(|error| error.why)
    }

    fn unmarked() -> NotAProject {
        NotAProject::Unmarked("`.todo`, `*.vine`".to_owned())
    }

    #[test]
    fn a_project_is_looked_for_upward_to_the_root_of_the_checkout() {
        for (directory, expected) in [
            ("repo", "repo"),
            ("repo/a/b", "repo"),
            ("repo/marked", "repo/marked"),
            ("repo/marked/deep", "repo/marked"),
            ("worktree/sub", "worktree"),
            ("hg/sub", "hg"),
            ("plain", "plain"),
            ("plain/sub", "plain/sub"),
            ("repo-evil", "repo-evil"),
        ] {
            check(Said { directory: Some(directory), ..Said::default() }, Ok(expected));
        }
    }

    #[test]
    fn the_launcher_comes_before_the_roots() {
        let directory = Some("repo/a");
        check(Said { directory, variable: Some("plain"), roots: &["hg"], ..Said::default() }, Ok("plain"));
        check(Said { directory, variable: Some("gone"), ..Said::default() }, Ok("repo"));
        check(Said { directory, roots: &["hg"], ..Said::default() }, Ok("repo"));
        check(Said { directory: Some("gone"), roots: &["hg/sub"], ..Said::default() }, Ok("hg"));
        check(Said { roots: &["hg", "plain"], ..Said::default() }, Ok("plain"));
        check(Said { roots: &["hg", "repo"], ..Said::default() }, Ok("hg"));
        check(Said { roots: &["gone"], ..Said::default() }, Err(NotAProject::NoDirectory));
        check(Said { directory: Some("/"), ..Said::default() }, Err(NotAProject::HomeOrRoot));
        check(Said { directory: Some("gone"), ..Said::default() }, Err(NotAProject::NotThere));
        check(Said::default(), Err(NotAProject::NoDirectory));
    }

    #[test]
    fn without_adoption_only_known_projects_can_be_named() {
        let learnt = &["repo/a"];
        let unknown = || Err(NotAProject::Unknown);
        check(Said { named: Some("repo/a/b"), learnt, ..Said::default() }, Ok("repo"));
        check(Said { named: Some("repo/marked"), learnt, ..Said::default() }, Ok("repo/marked"));
        check(Said { named: Some("repo-evil"), learnt, ..Said::default() }, unknown());
        check(Said { named: Some("repo/../hg"), learnt, ..Said::default() }, unknown());
        check(Said { named: Some("repo/gone"), learnt, ..Said::default() }, Err(NotAProject::NotThere));
        check(Said { named: Some("hg"), directory: Some("hg/sub"), ..Said::default() }, Ok("hg"));
        check(Said { named: Some("plain/sub"), roots: &["plain"], ..Said::default() }, Ok("plain/sub"));
        check(Said { named: Some("plain"), roots: &["plain/sub"], ..Said::default() }, unknown());
        check(Said { named: Some("hg"), directory: Some("/"), ..Said::default() }, unknown());
        check(Said { named: Some("/"), learnt: &["/"], ..Said::default() }, unknown());
    }

    #[test]
    fn what_is_seen_to_be_a_project_can_be_named() {
        let adopts = true;
        for (named, expected) in [
            ("repo/a/b", Ok("repo")),
            ("worktree/sub", Ok("worktree")),
            ("hg", Ok("hg")),
            ("plain", Ok("plain")),
            ("planned", Ok("planned")),
            ("plain/sub", Err(unmarked())),
            ("repo-evil", Err(unmarked())),
            ("gone", Err(NotAProject::NotThere)),
            ("/", Err(NotAProject::HomeOrRoot)),
        ] {
            check(Said { named: Some(named), adopts, ..Said::default() }, expected);
        }
    }

    #[test]
    fn a_project_that_was_named_is_known_from_then_on() {
        let (_directory, home) = home(&["repo/.git", "repo/a"]);
        let projects = ProjectRegistry::new(None).recognising(Vec::new(), true);
        let session = SessionDirectories::default();
        assert!(!projects.may_access(&home.join("repo"), &session));
        let named = |path: PathBuf| project(&projects, &ProjectSelector::Named(path), &session);
        assert_eq!(named(home.join("repo/a")), Ok(home.join("repo")));
        assert!(projects.may_access(&home.join("repo"), &session));
        assert_eq!(named("nowhere".into()), Err(NotAProject::NoSuchName(Vec::new())));
    }

    #[test]
    fn a_link_does_not_make_a_project_known() {
        let (_directory, home) = home(&TREE);
        std::os::unix::fs::symlink(home.join("hg"), home.join("repo/out")).expect("a link");
        let projects = ProjectRegistry::new(None);
        projects.add(&home.join("repo"));
        let named = ProjectSelector::Named(home.join("repo/out"));
        assert_eq!(project(&projects, &named, &SessionDirectories::default()), Err(NotAProject::Unknown));
    }

    #[test]
    fn a_home_is_no_project_even_under_version_control() {
        let (_directory, home) = home(&[".git", ".todo", "work/sub"]);
        let projects = ProjectRegistry::new(Some(home.clone()));
        assert_eq!(projects.project_of(&home.join("work/sub")), home.join("work/sub"));
        assert_eq!(projects.add(&home), None);
        assert!(projects.projects.read().is_empty());
        let session = SessionDirectories { directory: Some(&home), ..SessionDirectories::default() };
        assert_eq!(projects.session_directory(&session), None);
    }

    #[test]
    fn what_was_known_before_can_be_named_but_no_home_and_no_link() {
        let (_directory, home) = home(&["home/.git", "repo/.git", "other"]);
        std::os::unix::fs::symlink("other", home.join("was")).expect("a link");
        let (store, _) = ProjectStore::open(home.join("roots.json"), Timestamp::UNIX_EPOCH);
        for name in ["repo", "home", "was"] {
            store.touch(&home.join(name), Timestamp::UNIX_EPOCH);
        }
        let projects = ProjectRegistry::new(Some(home.join("home"))).with_store(store);
        let reached = |name| projects.may_access(&home.join(name), &SessionDirectories::default());
        assert_eq!([reached("repo"), reached("home"), reached("other")], [true, false, false]);
    }

    #[test]
    fn a_tree_near_the_start_comes_before_the_project_s() {
        let (_directory, home) = home(&["repo/.git", "repo/vault", "repo/a/vault", "repo/b"]);
        let projects = ProjectRegistry::new(None);
        for (directory, expected) in [("repo/a", "repo/a/vault"), ("repo/b", "repo/vault")] {
            let directory = home.join(directory);
            let session = SessionDirectories { directory: Some(&directory), ..SessionDirectories::default() };
            let tree: Result<_, ProjectError> =
                projects.tree(&ProjectSelector::Session, Path::new("vault"), &session, || Ok(()));
            assert_eq!(tree, Ok(home.join(expected)));
        }
    }
}
