//! Where the bridge file is, and the board in it: settings and arguments become something to look at, and what was
//! seen becomes a board or the reason why there is none.
//!
//! A file that is missing or empty is an empty board. A setting names the file itself, which may be a link to
//! anywhere; in a project, links must stay in the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{BoardError, named};
use super::model::{Board, FILE_LIMIT};
use super::parse::{InvalidBoard, parse};
use super::render::render;
use crate::disk::{
    Digest, FileModel, FirstExisting, LoadedModel, PathExists, ReadError, ReadFile, ReadFileModel, RelativePath,
    ResolvedPath, SymlinkPolicy, TreeLocation,
};
use crate::families::SessionContext;
use crate::families::edit::Edit;
use crate::families::error::CommonError;
use crate::families::need::{AndThen, Constant, Need};
use crate::projects::ProjectSelector;

/// The file's name in a project.
pub const NAME: &str = ".vibe-kanban-bridge.json";
/// Where the file is if it is already there.
pub const IN_STATE: &str = "config/state/.vibe-kanban-bridge.json";
/// Settings that name the file, the first first.
const SETTINGS: [&str; 2] = ["BRIDGE_FILE_PATH", "BRIDGE_FILE"];

/// What the bytes of a file say, good or bad.
#[derive(Debug)]
pub struct ParsedBoard(pub Result<Arc<Board>, InvalidBoard>);

impl FileModel for ParsedBoard {
    fn read(bytes: &[u8]) -> Self {
        Self(parse(bytes).map(Arc::new))
    }

    fn memory_bytes(&self) -> usize {
        self.0.as_ref().map_or(size_of::<Self>(), |board| board.size())
    }
}

/// Where a board is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardLocation {
    pub place: TreeLocation,
    /// The file in it.
    pub path: RelativePath,
    /// What may stand on the way.
    pub links: SymlinkPolicy,
}

type BoardResult = Result<LoadedModel<ParsedBoard>, ReadError>;

/// What the look at a file named by a setting gives: what is there, whether the name is taken, and the model.
type SettingOutput = ((Option<ResolvedPath>, bool), Option<BoardResult>);
/// What the look into a project gives: the one place, and the other if nothing is at the first.
type ProjectOutput = (Option<BoardResult>, Option<BoardResult>);

/// Everything that was seen of a bridge file.
pub type BridgeFiles = (BridgeLookup, (Option<SettingOutput>, Option<ProjectOutput>));

/// What was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeLookup {
    /// A file by its whole path.
    Set(PathBuf),
    /// The project's own.
    Within(ProjectSelector),
}

/// The file that a setting names.
pub fn setting(session: &SessionContext) -> Option<PathBuf> {
    SETTINGS.iter().find_map(|name| session.path(name)).map(|path| match &session.directory {
        Some(directory) => directory.join(path),
        None => path.to_owned(),
    })
}

/// What to look at for the board of a session, or of the project that the caller names.
pub fn sought(session: &SessionContext, project_root: Option<&Path>) -> impl Need<Output = BridgeFiles> + use<> {
    let sought = match (setting(session), project_root) {
        (Some(path), _) => BridgeLookup::Set(path),
        (None, Some(path)) => BridgeLookup::Within(ProjectSelector::Named(path.to_owned())),
        (None, None) => BridgeLookup::Within(ProjectSelector::Session),
    };
    let (path, project) = match &sought {
        BridgeLookup::Set(path) => (Some(path.clone()), None),
        BridgeLookup::Within(project) => (None, Some(project.clone())),
    };
    let set = path.map(|path| {
        AndThen((FirstExisting(vec![path.clone()]), PathExists(path)), |(found, _): &(Option<ResolvedPath>, bool)| {
            let (place, path) = found.clone()?.file.ok()?;
            Some(model(&BoardLocation { place, path, links: SymlinkPolicy::Refuse }))
        })
    });
    let within = project.map(|project| {
        let other = within(&project, NAME);
        AndThen(within(&project, IN_STATE).map(|spot| model(&spot)), move |first: &Option<BoardResult>| {
            let nothing = matches!(first, None | Some(Err(ReadError::Missing | ReadError::TreeMissing)));
            other.as_ref().filter(|_| nothing).map(model)
        })
    });
    (Constant(sought), (set, within))
}

/// A board, and where it goes back to.
#[derive(Debug, Clone)]
pub struct Bridge {
    pub board: Arc<Board>,
    pub spot: BoardLocation,
    /// What the file holds; none if there is none.
    pub digest: Option<Digest>,
}

/// The board in what was seen.
pub fn found((sought, seen): BridgeFiles) -> Result<Bridge, BoardError> {
    match (sought, seen) {
        (BridgeLookup::Set(path), (Some(((found, taken), model)), _)) => set(&path, found, taken, model),
        (BridgeLookup::Within(project), (_, Some((first, second)))) => {
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
    BoardError::read_error(NAME, ReadError::Missing)
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
            let file = named(&self.file());
            return Err(CommonError::TooLarge { file, size: bytes.len(), limit: FILE_LIMIT }.into());
        }
        board.hash = Some(crate::text::hash::hash_of(&bytes));
        let model = Arc::new(ParsedBoard(Ok(Arc::new(board))));
        let BoardLocation { place, path, links } = self.spot.clone();
        let edit = match self.digest {
            Some(digest) => Edit::nothing().replace_digest(place, path, links, digest, bytes),
            None => Edit::nothing().create(place, path, links, bytes),
        };
        Ok(edit.with_model(model))
    }
}

/// The last part of a path.
pub fn name_of(path: &RelativePath) -> String {
    path.split_parent().1.to_owned()
}

fn set(
    path: &Path,
    found: Option<ResolvedPath>,
    taken: bool,
    model: Option<BoardResult>,
) -> Result<Bridge, BoardError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fail = |why| Err(BoardError::read_error(&name, why));
    match (found.map(|found| found.file), model) {
        (Some(Ok((place, path))), Some(seen)) => {
            read(seen, BoardLocation { place, path, links: SymlinkPolicy::Refuse })
        }
        (Some(Err(why)), _) => fail(why),
        // A link that leads nowhere: we do not choose for its owner.
        (None, _) if taken => fail(ReadError::SymlinkRefused),
        (None, _) => match (path.parent(), RelativePath::from_components(&name)) {
            (Some(parent), Some(path)) if parent.is_absolute() => read(
                Err(ReadError::Missing),
                BoardLocation { place: TreeLocation::Fixed(parent.to_owned()), path, links: SymlinkPolicy::Refuse },
            ),
            _ => fail(ReadError::IsDirectory),
        },
        (Some(Ok(_)), None) => fail(ReadError::Missing),
    }
}

fn read(seen: BoardResult, spot: BoardLocation) -> Result<Bridge, BoardError> {
    let file = || name_of(&spot.path);
    match seen {
        Ok(LoadedModel { model, digest, .. }) => match &model.0 {
            Ok(board) => Ok(Bridge { board: Arc::clone(board), spot, digest: Some(digest) }),
            Err(why) => Err(BoardError::Broken { file: file(), why: why.clone() }),
        },
        Err(ReadError::Missing | ReadError::TreeMissing) => Ok(Bridge { board: Arc::default(), spot, digest: None }),
        Err(why) => Err(BoardError::read_error(&file(), why)),
    }
}

fn within(project: &ProjectSelector, path: &str) -> Option<BoardLocation> {
    let links = SymlinkPolicy::FollowInsideTree;
    let place = TreeLocation::InProject { unless: None, project: project.clone(), below: PathBuf::new(), links };
    let path = RelativePath::from_components(path)?;
    Some(BoardLocation { place, path, links: SymlinkPolicy::FollowInsideTree })
}

fn model(spot: &BoardLocation) -> ReadFileModel<ParsedBoard> {
    let BoardLocation { place, path, links } = spot.clone();
    ReadFileModel::of(ReadFile { place, path, links, size_limit: FILE_LIMIT })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::families::need::with_context;

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
        let session = SessionContext {
            directory: Some(project.clone()),
            environment: settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..SessionContext::default()
        };
        let seen = with_context(&session, |context| found(sought(&session, None).fetch(context).expect("an answer")));
        let seen = seen.map_err(|error| error.to_string());
        let tree = |spot: &BoardLocation| {
            let tree = with_context(&session, |context| context.disk.tree(&spot.place));
            tree.expect("a tree").join(spot.path.as_path())
        };
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
        check(&["d/x"], &[("BRIDGE_FILE_PATH", "d")], Err("the bridge file `d` is a directory, not a file"));
    }
}
