//! Where the bridge file is, and the board in it: settings and arguments become something to look at, and what was
//! seen becomes a board or the reason why there is none.
//!
//! A file that is missing or empty is an empty board. A setting names the file itself, which may be a link to
//! anywhere; in a project, links must stay in the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::BoardError;
use super::model::{Board, FILE_LIMIT};
use super::parse::{Broken, parse};
use super::render::render;
use crate::disk::{Digest, RelativePath};
use crate::families::edit::Edit;
use crate::families::need::{
    Carried, FileAt, FirstAt, Found, IsTaken, Links, Look, Model, ModelAt, ModelSeen, Place, Then, Unseen, WhichProject,
};
use crate::tools::Session;

/// The file's name in a project.
pub const NAME: &str = ".vibe-kanban-bridge.json";
/// Where the file is if it is already there.
pub const IN_STATE: &str = "config/state/.vibe-kanban-bridge.json";
/// Settings that name the file, the first first.
const SETTINGS: [&str; 2] = ["BRIDGE_FILE_PATH", "BRIDGE_FILE"];

/// What the bytes of a file say, good or bad.
#[derive(Debug)]
pub struct Reading(pub Result<Arc<Board>, Broken>);

impl Model for Reading {
    fn read(bytes: &[u8]) -> Self {
        Self(parse(bytes).map(Arc::new))
    }

    fn weight(&self) -> usize {
        self.0.as_ref().map_or(size_of::<Self>(), |board| board.size())
    }
}

/// Where a board is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The tree.
    pub place: Place,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: Links,
}

type Seen = Result<ModelSeen<Reading>, Unseen>;

/// What the look at a file named by a setting gives: what is there, whether the name is taken, and the model.
type Set = ((Option<Found>, bool), Option<Seen>);
/// What the look into a project gives: the one place, and the other if nothing is at the first.
type Within = (Option<Seen>, Option<Seen>);

/// Everything that was seen of a bridge file.
pub type BridgeSeen = (Sought, (Option<Set>, Option<Within>));

/// What was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sought {
    /// A file by its whole path.
    Set(PathBuf),
    /// The project's own.
    Within(WhichProject),
}

/// What to look at for the board of a session, or of the project that the caller names.
pub fn sought(session: &Session, project_root: Option<&Path>) -> impl Look<Seen = BridgeSeen> + use<> {
    let set = SETTINGS.iter().find_map(|name| session.path(name)).map(|path| match &session.directory {
        Some(directory) => directory.join(path),
        None => path.to_owned(),
    });
    let sought = match (set, project_root) {
        (Some(path), _) => Sought::Set(path),
        (None, Some(path)) => Sought::Within(WhichProject::Named(path.to_owned())),
        (None, None) => Sought::Within(WhichProject::Session),
    };
    let (path, project) = match &sought {
        Sought::Set(path) => (Some(path.clone()), None),
        Sought::Within(project) => (None, Some(project.clone())),
    };
    let set = path.map(|path| {
        Then((FirstAt(vec![path.clone()]), IsTaken(path)), |(found, _): &(Option<Found>, bool)| {
            let (place, path) = found.clone()?.file.ok()?;
            Some(model(&Spot { place, path, links: Links::Never }))
        })
    });
    let within = project.map(|project| {
        let other = within(&project, NAME);
        Then(within(&project, IN_STATE).map(|spot| model(&spot)), move |first: &Option<Seen>| {
            let nothing = matches!(first, None | Some(Err(Unseen::Missing | Unseen::NoTree)));
            other.as_ref().filter(|_| nothing).map(model)
        })
    });
    (Carried(sought), (set, within))
}

/// A board, and where it goes back to.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// The board.
    pub board: Arc<Board>,
    /// The file.
    pub spot: Spot,
    /// What the file holds; none if there is none.
    pub digest: Option<Digest>,
}

/// The board in what was seen.
pub fn found((sought, seen): BridgeSeen) -> Result<Bridge, BoardError> {
    match (sought, seen) {
        (Sought::Set(path), (Some(((found, taken), model)), _)) => set(&path, found, taken, model),
        (Sought::Within(project), (_, Some((first, second)))) => {
            let (seen, name) = match second {
                Some(second) => (Some(second), NAME),
                None => (first, IN_STATE),
            };
            match (seen, within(&project, name)) {
                (Some(seen), Some(spot)) => read(seen, spot),
                _ => Err(nothing()),
            }
        }
        _ => Err(nothing()),
    }
}

fn nothing() -> BoardError {
    BoardError::Unseen { file: NAME.to_owned(), why: Unseen::Missing }
}

impl Bridge {
    /// The name of the file, without where it is.
    pub fn file(&self) -> String {
        name_of(&self.spot.path)
    }

    /// Puts another board into the file.
    pub fn edit(&self, mut board: Board) -> Result<Edit, BoardError> {
        let bytes = render(&board);
        if bytes.len() as u64 > FILE_LIMIT {
            return Err(BoardError::WouldBeTooLarge { file: self.file(), size: bytes.len(), limit: FILE_LIMIT });
        }
        board.hash = Some(crate::text::hash::hash_of(&bytes));
        let model = Arc::new(Reading(Ok(Arc::new(board))));
        let Spot { place, path, links } = self.spot.clone();
        let edit = match self.digest {
            Some(digest) => Edit::nothing().replace_digest(place, path, links, digest, bytes),
            None => Edit::nothing().create(place, path, links, bytes),
        };
        Ok(edit.with_model(model))
    }
}

/// The last part of a path.
pub fn name_of(path: &RelativePath) -> String {
    path.way_and_name().1.to_owned()
}

fn set(path: &Path, found: Option<Found>, taken: bool, model: Option<Seen>) -> Result<Bridge, BoardError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fail = |why| Err(BoardError::Unseen { file: name.clone(), why });
    match (found.map(|found| found.file), model) {
        (Some(Ok((place, path))), Some(seen)) => read(seen, Spot { place, path, links: Links::Never }),
        (Some(Err(why)), _) => fail(why),
        // A link that leads nowhere: we do not choose for its owner.
        (None, _) if taken => fail(Unseen::Link),
        (None, _) => match (path.parent(), RelativePath::of_names(&name)) {
            (Some(parent), Some(path)) if parent.is_absolute() => {
                read(Err(Unseen::Missing), Spot { place: Place::Fixed(parent.to_owned()), path, links: Links::Never })
            }
            _ => fail(Unseen::IsDirectory),
        },
        (Some(Ok(_)), None) => fail(Unseen::Missing),
    }
}

fn read(seen: Seen, spot: Spot) -> Result<Bridge, BoardError> {
    let file = || name_of(&spot.path);
    match seen {
        Ok(ModelSeen { model, digest, .. }) => match &model.0 {
            Ok(board) => Ok(Bridge { board: Arc::clone(board), spot, digest: Some(digest) }),
            Err(why) => Err(BoardError::Broken { file: file(), why: why.clone() }),
        },
        Err(Unseen::Missing | Unseen::NoTree) => Ok(Bridge { board: Arc::default(), spot, digest: None }),
        Err(why) => Err(BoardError::Unseen { file: file(), why }),
    }
}

fn within(project: &WhichProject, path: &str) -> Option<Spot> {
    let place = Place::InProject { unless: None, project: project.clone(), below: PathBuf::new() };
    RelativePath::of_names(path).map(|path| Spot { place, path, links: Links::Inside })
}

fn model(spot: &Spot) -> ModelAt<Reading> {
    let Spot { place, path, links } = spot.clone();
    ModelAt::of(FileAt { place, path, links, size_limit: FILE_LIMIT })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::disk::project::Known;
    use crate::disk::{Eyes, Models, Reporter, Roots};

    /// Looks in a project in which there are files, each with its own path as the version of its board; expects the
    /// path of the file that was taken, and whether it is there.
    #[track_caller]
    fn check(files: &[&str], settings: &[(&str, &str)], expected: Result<(&str, bool), &str>) {
        let home = TempDir::new().expect("a temporary directory");
        let project = fs::canonicalize(home.path()).expect("its own path");
        for file in files {
            let path = project.join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, format!("{{\"version\":\"{file}\"}}")).expect("a file");
        }
        std::os::unix::fs::symlink("a.json", project.join("link")).expect("a link");
        let session = Session {
            directory: Some(project.clone()),
            environment: settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..Session::default()
        };
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
        let seen = found(sought(&session, None).look(&eyes)).map_err(|error| error.to_string());
        let tree = |spot: &Spot| spot.place.tree(&eyes).expect("a tree").join(spot.path.as_path());
        let seen = seen.map(|bridge| {
            let version = bridge.board.top.get("version").map(|version| version.trim_matches('"').to_owned());
            let path = tree(&bridge.spot).strip_prefix(&project).expect("in the project").display().to_string();
            assert_eq!(version.as_ref().unwrap_or(&path), &path, "what is read is where it is written");
            assert_eq!(bridge.digest.is_some(), version.is_some());
            (path, version.is_some())
        });
        let seen = seen.as_ref().map(|(path, there)| (path.as_str(), *there)).map_err(String::as_str);
        assert_eq!(seen, expected, "{files:?} {settings:?}");
    }

    #[test]
    fn the_file_is_where_the_contract_says() {
        check(&[], &[], Ok((NAME, false)));
        check(&[NAME], &[], Ok((NAME, true)));
        check(&["config/state/other"], &[], Ok((NAME, false)));
        check(&[IN_STATE], &[], Ok((IN_STATE, true)));
        check(&[NAME, IN_STATE], &[], Ok((IN_STATE, true)));
        let both = [("BRIDGE_FILE", "b.json"), ("BRIDGE_FILE_PATH", "a.json")];
        check(&[NAME, "a.json", "b.json"], &both, Ok(("a.json", true)));
        check(&[NAME, "a.json", "b.json"], &both[..1], Ok(("b.json", true)));
        check(&[NAME, "a.json"], &[("BRIDGE_FILE_PATH", ""), ("BRIDGE_FILE", "a.json")], Ok(("a.json", true)));
        check(&[NAME], &both, Ok(("a.json", false)));
        check(&[NAME], &[("BRIDGE_FILE_PATH", "new/deep/a.json")], Ok(("new/deep/a.json", false)));
        check(&["a.json"], &[("BRIDGE_FILE_PATH", "link")], Ok(("a.json", true)));
        check(&[], &[("BRIDGE_FILE_PATH", "link")], Err("the bridge file `link` is or passes a symbolic link"));
        check(&["d/x"], &[("BRIDGE_FILE_PATH", "d")], Err("the bridge file `d` is a directory"));
    }
}
