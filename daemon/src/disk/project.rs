//! Which project a call is about.
//!
//! An argument, the session's directory or its roots come in, the canonical directory of a project
//! goes out. A project can be named if a session or the configuration made it known, or if it is seen to be one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use parking_lot::RwLock;

use super::Eyes;
use super::known::Memory;
use crate::clock::Now;
use crate::families::need::{Unseen, WhichProject};
use crate::families::project::{NotAProject, ProjectError};
use crate::tools::Session;

/// What a project has, once something was kept in it.
const MARK: &str = ".todo";

/// What the root of a checkout has. In a worktree or submodule of git it is a file.
const CHECKOUTS: [&str; 5] = [".git", ".hg", ".jj", ".svn", ".bzr"];

/// So many names of a directory are gone through for one that makes it a project.
const MAX_NAMES_SEARCHED: usize = 10_000;

/// The known projects, as canonical paths. Never `/` or a home.
#[derive(Debug)]
pub struct Known {
    projects: RwLock<BTreeSet<PathBuf>>,
    home: Option<PathBuf>,
    /// Outlives us.
    memory: Option<Memory>,
    /// Names that make a directory a project, besides version control.
    marks: Vec<&'static str>,
    /// Whether a project that nobody worked in yet becomes known when it is named.
    adopts: bool,
}

impl Known {
    /// None yet. The home says nothing about what a session works on, whatever it holds.
    pub fn outside(home: Option<PathBuf>) -> Self {
        let home = home.and_then(|home| canonical(&home));
        Self { projects: RwLock::default(), home, memory: None, marks: Vec::new(), adopts: false }
    }

    /// A directory with version control or one of these names below it is a project. Whether such a one can be named
    /// although nobody worked in it yet is a setting.
    #[must_use]
    pub fn recognising(self, marks: Vec<&'static str>, adopts: bool) -> Self {
        Self { marks, adopts, ..self }
    }

    /// Those that were known before; what is learnt from now on is remembered as well.
    #[must_use]
    pub fn remembering(self, memory: Memory) -> Self {
        let before = memory.projects().into_iter().filter(|path| path.is_absolute() && !self.says_nothing(path));
        self.projects.write().extend(before);
        Self { memory: Some(memory), ..self }
    }

    /// Makes the project of a directory known, because a session works there.
    pub fn learn(&self, directory: &Path, now: Timestamp) {
        if let (Some(project), Some(memory)) = (self.trust(directory), &self.memory) {
            memory.see(&project, now);
        }
    }

    /// Makes the project of a directory known for as long as we live; which one that is.
    pub fn trust(&self, directory: &Path) -> Option<PathBuf> {
        let project = self.project_of(&canonical(directory)?);
        if self.says_nothing(&project) {
            return None;
        }
        self.projects.write().insert(project.clone());
        Some(project)
    }

    fn says_nothing(&self, directory: &Path) -> bool {
        directory.parent().is_none() || self.home.as_deref() == Some(directory)
    }

    /// The nearest directory upward that has a mark, no further than the root of the checkout; else
    /// that root; else the start. A home under version control is no project of all that lies in it.
    fn project_of(&self, start: &Path) -> PathBuf {
        let upward = || start.ancestors().take_while(|above| *above == start || !self.says_nothing(above));
        let Some(checkout) = upward().position(is_checkout) else { return start.to_owned() };
        let marked = upward().take(checkout + 1).find(|above| is_marked(above));
        marked.or_else(|| upward().nth(checkout)).unwrap_or(start).to_owned()
    }

    /// The launcher's word. Having been started at home or in `/` is none.
    fn launched_in(&self, session: &Session) -> Option<PathBuf> {
        let told = session.path("TODO_PROJECT_ROOT").filter(|path| path.is_absolute()).and_then(canonical);
        let started = || session.directory.as_deref().and_then(canonical).filter(|path| !self.says_nothing(path));
        told.or_else(started)
    }

    /// The directory, if it is a project or part of one.
    pub fn in_project(&self, directory: &Path) -> Option<PathBuf> {
        let directory = canonical(directory)?;
        self.check_project(&directory).is_ok().then_some(directory)
    }

    /// Whether a canonical directory can be seen to be a project of this user, or part of one.
    fn check_project(&self, directory: &Path) -> Result<(), NotAProject> {
        let project = self.project_of(directory);
        if self.says_nothing(directory) || self.says_nothing(&project) {
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

    /// The canonical directory that a session names, if it may. A project that nobody worked in yet becomes known.
    fn named(&self, path: &Path, eyes: &Eyes<'_>) -> Result<PathBuf, Unseen> {
        let refused = |why| {
            let (door, named) = (eyes.session.door, Some(path.to_owned()));
            Unseen::NoProject(Box::new(ProjectError { door, named, why }))
        };
        if !path.is_absolute() {
            return Err(refused(NotAProject::Relative));
        }
        eyes.may_look_in(path)?;
        let directory = canonical(path).ok_or_else(|| refused(NotAProject::NotThere))?;
        if self.is_reached(&directory, eyes.session) {
            return Ok(directory);
        }
        if !self.adopts {
            return Err(refused(NotAProject::Unknown));
        }
        eyes.may_wait()?;
        self.check_project(&directory).map_err(refused)?;
        self.learn(&directory, Now::read(&eyes.session.zone.0).at);
        Ok(directory)
    }

    /// Whether the session may name this canonical directory. Whole components are compared.
    fn is_reached(&self, directory: &Path, session: &Session) -> bool {
        let own = self.launched_in(session).map(|start| self.project_of(&start));
        let roots = session.roots();
        own.into_iter().chain(roots.iter().filter_map(|root| canonical(root))).any(|known| directory.starts_with(known))
            || directory.ancestors().any(|above| self.projects.read().contains(above))
    }
}

impl WhichProject {
    /// The project.
    pub fn project(&self, eyes: &Eyes<'_>) -> Result<PathBuf, Unseen> {
        Ok(eyes.projects.project_of(&self.start(eyes)?))
    }

    /// The tree with this name: of the directory that was named if it has one, else of its project. Without a name
    /// it is the project itself.
    pub fn tree(&self, below: &Path, eyes: &Eyes<'_>) -> Result<PathBuf, Unseen> {
        if below.as_os_str().is_empty() {
            return self.project(eyes);
        }
        let start = self.start(eyes)?;
        let near = start.join(below);
        Ok(if near.is_dir() { near } else { eyes.projects.project_of(&start).join(below) })
    }

    /// The canonical directory from which the project is looked for.
    fn start(&self, eyes: &Eyes<'_>) -> Result<PathBuf, Unseen> {
        let told = eyes.session.path("TODO_PROJECT_ROOT");
        let directories = told.into_iter().chain(eyes.session.directory.as_deref());
        directories.chain(eyes.session.roots().iter().map(PathBuf::as_path)).try_for_each(|it| eyes.may_look_in(it))?;
        match self {
            Self::Named(path) => eyes.projects.named(path, eyes),
            Self::Session => {
                let launched = eyes.projects.launched_in(eyes.session).or_else(|| among_roots(eyes.session));
                launched.ok_or_else(|| {
                    let (door, why) = (eyes.session.door, started_nowhere(eyes.session));
                    Unseen::NoProject(Box::new(ProjectError { door, named: None, why }))
                })
            }
        }
    }
}

/// Why the directory in which a session was started says nothing about its project.
fn started_nowhere(session: &Session) -> NotAProject {
    match &session.directory {
        None => NotAProject::NoDirectory,
        Some(directory) if canonical(directory).is_some() => NotAProject::HomeOrRoot,
        Some(_) => NotAProject::NotThere,
    }
}

/// The only root, else the first that is marked, else the first.
fn among_roots(session: &Session) -> Option<PathBuf> {
    let roots: Vec<PathBuf> = session.roots().iter().filter_map(|root| canonical(root)).collect();
    roots.iter().find(|root| is_marked(root)).or_else(|| roots.first()).cloned()
}

/// A directory's own path; none if it is no directory.
#[expect(clippy::disallowed_methods, reason = "a project is a name to compare; its files are opened below a handle")]
fn canonical(directory: &Path) -> Option<PathBuf> {
    fs::canonicalize(directory).ok().filter(|path| path.is_dir())
}

/// A link counts as well: who keeps his files there has to refuse it, not to overlook it.
fn is_marked(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(MARK)).is_ok_and(|mark| !mark.is_file())
}

/// Whether something below a directory has this name, or one that ends like it.
fn has_mark(directory: &Path, mark: &str) -> bool {
    let Some(ending) = mark.strip_prefix('*') else { return fs::symlink_metadata(directory.join(mark)).is_ok() };
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.take(MAX_NAMES_SEARCHED).any(|name| name.to_string_lossy().ends_with(ending))
}

fn is_checkout(directory: &Path) -> bool {
    CHECKOUTS.iter().any(|name| {
        let found = fs::metadata(directory.join(name));
        found.is_ok_and(|found| found.is_dir() || (*name == ".git" && found.is_file()))
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::disk::{Models, Reporter, Roots};

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
        let session = Session {
            directory: said.directory.as_ref().map(at),
            environment: said
                .variable
                .iter()
                .map(|name| ("TODO_PROJECT_ROOT".to_owned(), at(name).display().to_string()))
                .collect(),
            ..Session::default()
        };
        session.set_roots(said.roots.iter().map(at).collect());
        let projects = Known::outside(None).recognising(vec![".todo", "*.vine"], said.adopts);
        said.learnt.iter().for_each(|name| drop(projects.trust(&at(name))));
        let eyes = Eyes {
            roots: &Roots::default(),
            projects: &projects,
            models: &Models::default(),
            index: None,
            session: &session,
            reporter: &Reporter::default(),
            glance: None,
            trust: None,
        };
        let which = said.named.as_ref().map_or(WhichProject::Session, |name| WhichProject::Named(at(name)));
        let seen = |project: Result<PathBuf, Unseen>| match project {
            Ok(project) => Ok(project),
            Err(Unseen::NoProject(error)) => Err(error.why),
            Err(other) => panic!("{other:?}"),
        };
        let expected = expected.map(|name| home.join(name));
        assert_eq!(seen(which.tree(Path::new(""), &eyes)), expected, "the tree without a name is the project");
        assert_eq!(seen(which.project(&eyes)), expected);
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
        let projects = Known::outside(None).recognising(Vec::new(), true);
        let session = Session::default();
        let eyes = Eyes {
            roots: &Roots::default(),
            projects: &projects,
            models: &Models::default(),
            index: None,
            session: &session,
            reporter: &Reporter::default(),
            glance: None,
            trust: None,
        };
        assert!(!projects.is_reached(&home.join("repo"), &session));
        assert_eq!(WhichProject::Named(home.join("repo/a")).project(&eyes), Ok(home.join("repo")));
        assert!(projects.is_reached(&home.join("repo"), &session));
        let relative = WhichProject::Named("repo".into()).project(&eyes);
        assert!(matches!(relative, Err(Unseen::NoProject(error)) if error.why == NotAProject::Relative));
    }

    #[test]
    fn a_link_does_not_make_a_project_known() {
        let (_directory, home) = home(&TREE);
        std::os::unix::fs::symlink(home.join("hg"), home.join("repo/out")).expect("a link");
        let projects = Known::outside(None);
        projects.trust(&home.join("repo"));
        let eyes = Eyes {
            roots: &Roots::default(),
            projects: &projects,
            models: &Models::default(),
            index: None,
            session: &Session::default(),
            reporter: &Reporter::default(),
            glance: None,
            trust: None,
        };
        let named = home.join("repo/out");
        let refused = WhichProject::Named(named).project(&eyes);
        assert!(matches!(refused, Err(Unseen::NoProject(error)) if error.why == NotAProject::Unknown));
    }

    #[test]
    fn a_home_is_no_project_even_under_version_control() {
        let (_directory, home) = home(&[".git", ".todo", "work/sub"]);
        let projects = Known::outside(Some(home.clone()));
        assert_eq!(projects.project_of(&home.join("work/sub")), home.join("work/sub"));
        assert_eq!(projects.trust(&home), None);
        assert!(projects.projects.read().is_empty());
        let session = Session { directory: Some(home), ..Session::default() };
        assert_eq!(projects.launched_in(&session), None);
    }

    #[test]
    fn what_was_known_before_can_be_named_but_no_home_and_no_link() {
        let (_directory, home) = home(&["home/.git", "repo/.git", "other"]);
        std::os::unix::fs::symlink("other", home.join("was")).expect("a link");
        let (memory, _) = Memory::open(home.join("roots.json"), Timestamp::UNIX_EPOCH);
        for name in ["repo", "home", "was"] {
            memory.see(&home.join(name), Timestamp::UNIX_EPOCH);
        }
        let projects = Known::outside(Some(home.join("home"))).remembering(memory);
        let reached = |name| projects.is_reached(&home.join(name), &Session::default());
        assert_eq!([reached("repo"), reached("home"), reached("other")], [true, false, false]);
    }

    #[test]
    fn a_tree_near_the_start_comes_before_the_project_s() {
        let (_directory, home) = home(&["repo/.git", "repo/vault", "repo/a/vault", "repo/b"]);
        let projects = Known::outside(None);
        for (directory, expected) in [("repo/a", "repo/a/vault"), ("repo/b", "repo/vault")] {
            let session = Session { directory: Some(home.join(directory)), ..Session::default() };
            let eyes = Eyes {
                roots: &Roots::default(),
                projects: &projects,
                models: &Models::default(),
                index: None,
                session: &session,
                reporter: &Reporter::default(),
                glance: None,
                trust: None,
            };
            assert_eq!(WhichProject::Session.tree(Path::new("vault"), &eyes), Ok(home.join(expected)));
        }
    }
}
