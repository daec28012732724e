//! Carries out what a tool needs to look at.
//!
//! A need comes in, what is there goes out, or why it could not be seen. Nothing is decided here:
//! codes and words are the families'.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::confine::unseen_io;
use super::{Eyes, Identity, OpenFile, RelativePath, Root};
use crate::families::need::{
    Below, Entry, EntryKind, FileAt, FileSeen, FilesBelow, FilesSeen, FirstAt, FirstFileAt, Found, IsLink, IsTaken,
    Links, ListingAt, Look, Model, ModelAt, ModelSeen, ModelsBelow, Place, Unseen,
};

impl FileAt {
    /// The file, and the name by which it was found.
    fn open(&self, eyes: &Eyes<'_>) -> Result<(OpenFile, Arc<Root>, RelativePath), Unseen> {
        let root = open(&self.place, eyes)?;
        match root.open_file(&self.path, self.links) {
            Err(Unseen::Missing) => {
                eyes.may_wait()?;
                let path = root.respelt(&self.path, self.links).ok_or(Unseen::Missing)?;
                Ok((root.open_file(&path, self.links)?, root, path))
            }
            opened => Ok((opened?, root, self.path.clone())),
        }
    }
}

/// The tree at a place, if it may be looked at.
fn open(place: &Place, eyes: &Eyes<'_>) -> Result<Arc<Root>, Unseen> {
    let tree = place.tree(eyes)?;
    eyes.may_look_in(&tree)?;
    eyes.roots.open(&tree)
}

impl Look for FileAt {
    type Seen = Result<FileSeen, Unseen>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let file = self.open(eyes)?.0;
        match eyes.glance {
            Some(glance) => file.read_at_once(self.size_limit).unwrap_or_else(|| Err(glance.refuse())),
            None => file.read(self.size_limit),
        }
    }
}

impl Look for FirstFileAt {
    /// Which of the files, and what was seen of it.
    type Seen = (usize, Result<FileSeen, Unseen>);
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let mut first = (0, Err(Unseen::Missing));
        for (which, file) in self.0.into_iter().enumerate() {
            first = (which, file.look(eyes));
            if !matches!(first.1, Err(Unseen::Missing | Unseen::IsDirectory | Unseen::Special)) {
                break;
            }
        }
        first
    }
}

impl<M: Model> Look for ModelAt<M> {
    type Seen = Result<ModelSeen<M>, Unseen>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let (file, root, path) = self.file.open(eyes)?;
        let (device, inode) = root.number()?;
        let name = (device, inode, path);
        match eyes.glance {
            Some(glance) => eyes.models.small(&name, file.identity()).ok_or_else(|| glance.refuse()),
            None => match eyes.trusted(&name, file.identity()) {
                Some(seen) => Ok(seen),
                None => eyes.models.of(&name, file, self.file.size_limit),
            },
        }
    }
}

impl<M: Model> Look for ModelsBelow<M> {
    type Seen = Result<Vec<Below<M>>, Unseen>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        self.walk(eyes, |_, _| ())
    }
}

impl<M: Model> Look for FilesBelow<M> {
    type Seen = Result<FilesSeen<M>, Unseen>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        let mut others = Vec::new();
        let models = self.0.walk(eyes, |path, identity| others.push((path, identity)))?;
        others.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(FilesSeen { models, others })
    }
}

impl<M: Model> ModelsBelow<M> {
    /// The models; files that are not wanted go elsewhere, as they are.
    fn walk(self, eyes: &Eyes<'_>, mut other: impl FnMut(RelativePath, Identity)) -> Result<Vec<Below<M>>, Unseen> {
        eyes.may_wait()?;
        let root = open(&self.place, eyes)?;
        let start = self.path.as_ref().map(|path| root.real(path, self.links)).transpose()?;
        let (device, inode) = root.number()?;
        let mut below = Vec::new();
        let mut ahead = vec![(start, String::new(), 1)];
        while let Some((directory, way, level)) = ahead.pop() {
            let states = match root.states(directory.as_ref(), self.links) {
                // What went meanwhile, or may not be seen, hides only itself.
                Err(_) if level > 1 => continue,
                states => states?,
            };
            for (entry, identity) in states.into_iter().filter(|(entry, _)| !entry.name.starts_with('.')) {
                let path = match &directory {
                    Some(directory) => directory.join(&entry.name),
                    None => RelativePath::of_names(&entry.name),
                };
                let Some(path) = path else { continue };
                let way = if way.is_empty() { entry.name } else { format!("{way}/{}", entry.name) };
                match entry.kind {
                    EntryKind::Directory if level < self.depth => ahead.push((Some(path), way, level + 1)),
                    EntryKind::Directory => {}
                    EntryKind::File if !(self.wanted)(&way) => other(path, identity),
                    EntryKind::File => {
                        let name = (device, inode, path);
                        let known = eyes.models.known(&name, identity).map(Ok);
                        let seen = known.unwrap_or_else(|| {
                            let file = root.open_file(&name.2, Links::Never)?;
                            eyes.models.of(&name, file, self.size_limit)
                        });
                        if seen.as_ref().err() != Some(&Unseen::Missing) {
                            below.push(Below { path: name.2, seen });
                        }
                    }
                }
            }
        }
        below.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(below)
    }
}

impl Look for FirstAt {
    type Seen = Option<Found>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        for (which, path) in self.0.iter().enumerate() {
            eyes.may_look_in(path.parent().unwrap_or(path)).ok()?;
            if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
                // It may lead to another disk.
                eyes.may_wait().ok()?;
            }
            if path.exists() {
                return Some(Found { which, file: real(path) });
            }
        }
        None
    }
}

/// The directory that really holds something, and its name there.
#[expect(clippy::disallowed_methods, reason = "what is named by its whole path has no root to be opened below")]
fn real(path: &Path) -> Result<(Place, RelativePath), Unseen> {
    let real = fs::canonicalize(path).map_err(|error| unseen_io(&error))?;
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else { return Err(Unseen::IsDirectory) };
    let name = name.to_str().and_then(RelativePath::of_names);
    let name = name.ok_or_else(|| Unseen::Failed("its name is no text".to_owned()))?;
    Ok((Place::Fixed(parent.to_owned()), name))
}

impl Look for IsTaken {
    type Seen = bool;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> bool {
        eyes.may_wait().is_ok() && fs::symlink_metadata(&self.0).is_ok()
    }
}

impl Look for IsLink {
    type Seen = Result<bool, Unseen>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        eyes.may_wait()?;
        Ok(fs::symlink_metadata(self.0.tree(eyes)?).is_ok_and(|tree| tree.is_symlink()))
    }
}

impl Look for ListingAt {
    type Seen = Result<Vec<Entry>, Unseen>;
    const GLANCES: bool = true;

    fn look(self, eyes: &Eyes<'_>) -> Self::Seen {
        eyes.may_wait()?;
        let root = open(&self.place, eyes)?;
        match (root.list(self.path.as_ref(), self.links), &self.path) {
            (Err(Unseen::Missing), Some(path)) => {
                let path = root.respelt(path, self.links).ok_or(Unseen::Missing)?;
                root.list(Some(&path), self.links)
            }
            (listed, _) => listed,
        }
    }
}

impl Place {
    /// Where the tree is now; it need not exist.
    pub fn tree(&self, eyes: &Eyes<'_>) -> Result<PathBuf, Unseen> {
        match self {
            Self::Fixed(path) => Ok(path.clone()),
            Self::InProject { unless, project, below } => {
                if let Some(path) = unless {
                    eyes.may_look_in(path.parent().unwrap_or(path))?;
                    if path.is_dir() {
                        return Ok(path.clone());
                    }
                }
                project.tree(below, eyes)
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;
    use crate::disk::project::Known;
    use crate::disk::{Glance, Models, RelativePath, Reporter, Roots};
    use crate::families::need::{Then, WhichProject};
    use crate::families::project::{Door, NotAProject, ProjectError};
    use crate::tools::Session;

    fn home() -> TempDir {
        let home = TempDir::new().expect("a temporary directory");
        for name in ["near/vault", "project/vault", "project/.git", "project/bare", "bare"] {
            fs::create_dir_all(home.path().join(name)).expect("a directory");
        }
        fs::write(home.path().join("near/vault/\u{304b}\u{3099}.md"), "near").expect("a file");
        fs::write(home.path().join("project/vault/\u{304c}.md"), "project").expect("a file");
        home
    }

    /// Looks from a directory for a file, and for the listing in which it must be.
    fn check(place: impl Fn(&Path) -> Place, directory: &str, expected: Result<&str, Unseen>) {
        let home = home();
        let session = Session { directory: Some(home.path().join(directory)), ..Session::default() };
        let eyes = Eyes {
            roots: &Roots::default(),
            projects: &Known::outside(None),
            models: &Models::default(),
            index: None,
            session: &session,
            reporter: &Reporter::default(),
            glance: None,
            trust: None,
        };
        let place = place(home.path());
        let path = RelativePath::parse("\u{304c}.md").expect("a path");
        let file = FileAt { place: place.clone(), path, links: Links::Never, size_limit: 100 }.look(&eyes);
        let listing = ListingAt { place, path: None, links: Links::Never }.look(&eyes);
        assert_eq!(file.map(|file| file.bytes), expected.clone().map(|text| text.as_bytes().to_vec()));
        assert_eq!(listing.map(|entries| entries.len()), expected.map(|_| 1));
    }

    /// What a look sees from the home directory.
    fn seen<L: Look>(home: &TempDir, look: L) -> L::Seen {
        let session = Session { directory: Some(home.path().to_owned()), ..Session::default() };
        let (roots, projects, models, reporter) =
            (Roots::default(), Known::outside(None), Models::default(), Reporter::default());
        let (index, session, reporter) = (None, &session, &reporter);
        look.look(&Eyes {
            roots: &roots,
            projects: &projects,
            models: &models,
            index,
            session,
            reporter,
            glance: None,
            trust: None,
        })
    }

    #[test]
    fn a_glance_sees_what_was_looked_at_before_and_nothing_else() {
        let home = TempDir::new().expect("a temporary directory");
        let real = fs::canonicalize(home.path()).expect("its own path");
        let file = real.join("file");
        fs::write(&file, "one").expect("a file");
        fs::write(real.join("large"), vec![b'x'; 100_000]).expect("a file");
        std::os::unix::fs::symlink("file", real.join("link")).expect("a link");
        let (session, roots, projects) = (Session::default(), Roots::default(), Known::outside(None));
        let (models, reporter) = (Models::default(), Reporter::default());
        let eyes = |glance| Eyes {
            roots: &roots,
            projects: &projects,
            models: &models,
            index: None,
            session: &session,
            reporter: &reporter,
            glance,
            trust: None,
        };
        let at = |name: &str| {
            let place = Place::Fixed(real.clone());
            FileAt { place, path: path(name), links: Links::Never, size_limit: 1 << 20 }
        };
        /// What a glance sees; none if it is refused.
        fn glanced<'a, L: Look>(look: L, eyes: impl Fn(Option<&'a Glance>) -> Eyes<'a>) -> Option<L::Seen> {
            let glance: &'a Glance = Box::leak(Box::default());
            let seen = look.look(&eyes(Some(glance)));
            (!glance.is_refused()).then_some(seen)
        }
        let words = |seen: Result<ModelSeen<Words>, Unseen>| seen.expect("a model").model.0.clone();
        assert!(glanced(at("file"), eyes).is_none(), "nobody knows yet whether the disk is near");
        assert!(glanced(FirstAt(vec![file.clone()]), eyes).is_none());
        assert_eq!(at("file").look(&eyes(None)).expect("a file").bytes, b"one");
        assert_eq!(glanced(at("file"), eyes).expect("in memory").expect("a file").bytes, b"one");
        assert!(glanced(at("large"), eyes).is_none(), "too much for a glance");
        assert!(glanced(at("\u{304c}"), eyes).is_none(), "another spelling must be looked for");
        assert_eq!(glanced(FirstAt(vec![real.join("none"), file.clone()]), eyes).flatten().expect("there").which, 1);
        assert!(glanced(FirstAt(vec![real.join("link")]), eyes).is_none(), "a link may lead to another disk");
        assert!(
            glanced(ListingAt { place: Place::Fixed(real.clone()), path: None, links: Links::Never }, eyes).is_none()
        );
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(9);
        let age = || fs::File::options().write(true).open(&file).expect("a file").set_modified(old).expect("a time");
        age();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(glanced(ModelAt::<Words>::of(at("file")), eyes).is_none(), "nobody has made a model of it");
        assert_eq!(words(ModelAt::of(at("file")).look(&eyes(None))), "one");
        assert_eq!(words(glanced(ModelAt::of(at("file")), eyes).expect("a model is there")), "one");
        fs::write(&file, "two").expect("a file");
        age();
        assert!(glanced(ModelAt::<Words>::of(at("file")), eyes).is_none(), "the model is not of this text");
        assert_eq!(words(ModelAt::of(at("file")).look(&eyes(None))), "two");
    }

    fn path(text: &str) -> RelativePath {
        RelativePath::parse(text).expect("a path")
    }

    #[derive(Debug)]
    struct Words(String);

    impl Model for Words {
        fn read(bytes: &[u8]) -> Self {
            Self(String::from_utf8_lossy(bytes).into_owned())
        }

        fn weight(&self) -> usize {
            self.0.len()
        }
    }

    #[test]
    fn models_of_a_directory_come_sorted_and_without_what_is_hidden_or_linked() {
        let home = TempDir::new().expect("a temporary directory");
        for name in ["tree/b/c", "tree/.hidden", "tree/d"] {
            fs::create_dir_all(home.path().join(name)).expect("a directory");
        }
        for name in ["a.md", "b/c/deep.md", "b/x.md", "b/x.txt", ".a.md", ".hidden/a.md", "d/y.md"] {
            fs::write(home.path().join("tree").join(name), name).expect("a file");
        }
        std::os::unix::fs::symlink("a.md", home.path().join("tree/link.md")).expect("a link");
        std::os::unix::fs::symlink("b", home.path().join("tree/linked")).expect("a link");
        let check = |directory: Option<&str>, depth: usize, expected: Result<&[&str], Unseen>| {
            let place = Place::Fixed(home.path().join("tree"));
            let below = ModelsBelow::<Words>::new(place, directory.map(path), |name| name.ends_with(".md"), 100);
            let found = seen(&home, below.down_to(depth)).map(|below| {
                let word = |below: &Below<Words>| below.seen.as_ref().expect("a model").model.0.clone();
                assert!(below.iter().all(|below| word(below) == below.path.as_str()), "{below:?}");
                below.iter().map(word).collect::<Vec<_>>()
            });
            assert_eq!(found, expected.map(|names| names.iter().map(ToString::to_string).collect()));
        };
        check(None, 1, Ok(&["a.md"]));
        check(None, 2, Ok(&["a.md", "b/x.md", "d/y.md"]));
        check(None, 9, Ok(&["a.md", "b/c/deep.md", "b/x.md", "d/y.md"]));
        check(Some("b"), 9, Ok(&["b/c/deep.md", "b/x.md"]));
        check(Some("linked"), 1, Ok(&["b/x.md"]));
        check(Some("none"), 1, Err(Unseen::Missing));
        let place = Place::Fixed(home.path().join("tree"));
        let below = ModelsBelow::<Words>::new(place, None, |name| name.ends_with(".md"), 100).down_to(9);
        fs::write(home.path().join("tree/b/a.png"), b"\xff").expect("a file");
        std::os::unix::fs::symlink("x.txt", home.path().join("tree/b/link.txt")).expect("a link");
        let files = seen(&home, FilesBelow(below)).expect("a tree");
        let others: Vec<(&str, u64)> = files.others.iter().map(|(path, state)| (path.as_str(), state.size)).collect();
        assert_eq!((files.models.len(), others), (4, vec![("b/a.png", 1), ("b/x.txt", 7)]));
    }

    #[test]
    fn the_first_file_that_is_there_is_seen() {
        let home = TempDir::new().expect("a temporary directory");
        fs::create_dir(home.path().join("directory")).expect("a directory");
        fs::write(home.path().join("file"), "x").expect("a file");
        fs::write(home.path().join("large"), "xxxxxxxxx").expect("a file");
        let check = |names: &[&str], which: usize, expected: Result<&str, Unseen>| {
            let place = Place::Fixed(home.path().to_owned());
            let file =
                |name: &&str| FileAt { place: place.clone(), path: path(name), links: Links::Inside, size_limit: 8 };
            let found = seen(&home, FirstFileAt(names.iter().map(file).collect()));
            let text = found.1.map(|file| String::from_utf8(file.bytes).expect("text"));
            assert_eq!((found.0, text), (which, expected.map(str::to_owned)), "{names:?}");
        };
        check(&["none", "directory", "file", "large"], 2, Ok("x"));
        check(&["large", "file"], 0, Err(Unseen::TooLarge { size: 9, limit: 8 }));
        check(&["none", "directory"], 1, Err(Unseen::IsDirectory));
        check(&["directory", "none"], 1, Err(Unseen::Missing));
        check(&[], 0, Err(Unseen::Missing));
    }

    #[test]
    fn a_tree_that_is_a_link_is_told_apart() {
        let home = home();
        std::os::unix::fs::symlink("near", home.path().join("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", home.path().join("dangling")).expect("a link");
        for (name, expected) in [("near", false), ("link", true), ("dangling", true), ("none", false)] {
            assert_eq!(seen(&home, IsLink(Place::Fixed(home.path().join(name)))), Ok(expected), "{name}");
            let below = Place::InProject { unless: None, project: WhichProject::Session, below: name.into() };
            assert_eq!(seen(&home, IsLink(below)), Ok(expected), "{name}");
        }
        let foreign = Place::InProject { unless: None, project: WhichProject::Named("/".into()), below: "x".into() };
        assert!(matches!(seen(&home, IsLink(foreign)), Err(Unseen::NoProject(_))));
    }

    #[test]
    fn the_first_path_at_which_something_is_leads_to_the_real_file() {
        let home = TempDir::new().expect("a temporary directory");
        let real = fs::canonicalize(home.path()).expect("its own path");
        fs::create_dir_all(home.path().join("store")).expect("a directory");
        fs::write(home.path().join("store/file"), "x").expect("a file");
        std::os::unix::fs::symlink("store/file", home.path().join("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", home.path().join("dangling")).expect("a link");
        let check = |names: &[&str], expected: Option<(usize, &str, &str)>| {
            let found = seen(&home, FirstAt(names.iter().map(|name| home.path().join(name)).collect()));
            let expected = expected
                .map(|(which, place, name)| Found { which, file: Ok((Place::Fixed(real.join(place)), path(name))) });
            assert_eq!(found.map(|found| (found.which, found.file)), expected.map(|found| (found.which, found.file)));
        };
        check(&["none", "link", "store"], Some((1, "store", "file")));
        check(&["dangling", "store"], Some((1, "", "store")));
        check(&["none", "dangling"], None);
        assert!(seen(&home, IsTaken(home.path().join("dangling"))));
        assert!(!seen(&home, IsTaken(home.path().join("none"))));
        let look = Then(IsTaken(home.path().join("link")), |taken: &bool| taken.then_some(IsTaken(PathBuf::from("/"))));
        assert_eq!(seen(&home, look), (true, Some(true)));
    }

    fn in_project(unless: Option<PathBuf>) -> Place {
        Place::InProject { unless, project: WhichProject::Session, below: PathBuf::from("vault") }
    }

    #[test]
    fn a_place_is_found_when_it_is_asked_for() {
        check(|home| Place::Fixed(home.join("near/vault")), "bare", Ok("near"));
        check(|home| Place::Fixed(home.join("none")), "bare", Err(Unseen::NoTree));
        check(|home| in_project(Some(home.join("near/vault"))), "project", Ok("near"));
        check(|home| in_project(Some(home.join("none"))), "project/bare", Ok("project"));
        check(|_| in_project(None), "near", Ok("near"));
        check(|_| in_project(None), "bare", Err(Unseen::NoTree));
        let nowhere = ProjectError { door: Door::Stdio, named: None, why: NotAProject::NotThere };
        check(|_| in_project(None), "gone", Err(Unseen::NoProject(Box::new(nowhere))));
    }
}
