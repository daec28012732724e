//! Which trees a call is about: what a caller says about projects comes in, trees with their owners go out.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{
    DiskReader, DiskRequest as _, Disks, EntryKind, ReadDirectory, ReadError, SymlinkPolicy, TreeIsSymlink,
    TreeLocation,
};
use crate::families::address::Address;
use crate::families::item::{ItemFace, TreeFiles, TreeOwner};
use crate::families::item_set::{ItemFiles, ItemScope, ItemTreeView, ItemsError};
use crate::families::need::ReadContext;
use crate::families::recall::Worktree;
use crate::families::{FamilyDescriptor, SessionContext};
use crate::projects::{ProjectNames, ProjectSelector, main_worktree};

/// So many names are shown to a session without a project of its own.
const MAX_SHOWN_PROJECTS: usize = 10;

/// A tree that a call is about.
pub(crate) struct ScopedTree {
    pub(crate) family: &'static str,
    pub(crate) face: ItemFace,
    rank: usize,
    pub(crate) place: TreeLocation,
    pub(crate) root: PathBuf,
    pub(crate) files: TreeFiles,
    owner: TreeOwner,
    project: String,
    pub(crate) shown_project: String,
    pub(crate) is_own: bool,
    pub(crate) is_wanted: bool,
    /// Without it the call is refused; others are left out if their disks do not answer.
    pub(crate) is_needed: bool,
    own_projects: Vec<String>,
    wanted_projects: Option<Vec<String>>,
    worktree: Option<Worktree>,
}

impl ScopedTree {
    pub(crate) fn view(self, files: Arc<ItemFiles>) -> ItemTreeView {
        let Self { family, face, rank, owner, project, shown_project, is_own, is_wanted, root, .. } = self;
        let (own_projects, mut wanted_projects) = (self.own_projects, self.wanted_projects);
        let mut own_projects = own_projects;
        let present = || files.keys().filter_map(|path| path.split_once('/')).map(|(project, _)| project);
        // Names of a workspace's projects are compared without case; what is on the disk counts.
        for names in std::iter::once(&mut own_projects).chain(&mut wanted_projects) {
            let spelt: BTreeSet<String> = present()
                .filter(|known| names.iter().any(|name| name.eq_ignore_ascii_case(known)))
                .map(str::to_owned)
                .collect();
            *names = spelt.into_iter().collect();
        }
        ItemTreeView {
            family,
            face,
            rank,
            owner,
            project,
            shown_project,
            is_own,
            is_wanted,
            own_projects,
            wanted_projects,
            root,
            worktree: self.worktree,
            files,
        }
    }
}

/// What a call is about.
pub(crate) struct Scoped {
    pub(crate) trees: Vec<ScopedTree>,
    /// Projects of which something is left out: a disk does not answer, or is not recovered yet.
    pub(crate) silent: Vec<String>,
}

/// Projects that were asked for.
struct Wanted {
    directories: Vec<PathBuf>,
    /// Names of projects in the workspace; all if there is no list.
    in_workspace: Option<Vec<String>>,
}

/// The trees of the projects that a caller wants.
pub(crate) fn trees(
    scope: &ItemScope,
    names: &ProjectNames,
    families: &[FamilyDescriptor],
    context: &ReadContext<'_>,
    disks: &Arc<Disks>,
) -> Result<Scoped, ItemsError> {
    let wanted = wanted(scope, names, families, context)?;
    let every = wanted.directories.iter().map(PathBuf::as_path).collect::<Vec<_>>();
    scoped(&every, &wanted, names, families, context, disks)
}

/// The tree of an address, and those that its item may be linked with.
pub(crate) fn trees_with(
    address: &Address,
    names: &ProjectNames,
    families: &[FamilyDescriptor],
    context: &ReadContext<'_>,
    disks: &Arc<Disks>,
) -> Result<Scoped, ItemsError> {
    let face = families.iter().find(|family| family.name == address.family).and_then(|family| family.items);
    let is_workspace = face.is_some_and(|face| (face.tree)(context.session, None).owner == TreeOwner::Workspace);
    let project = match (is_workspace, address.project.as_str()) {
        (true, _) => names.own().map(Path::to_owned),
        (false, "") => Some(own(names, face, context.session)?),
        (false, name) => Some(names.find(name).map_err(|error| ItemsError::name(name, error, names))?.to_owned()),
    };
    let directories: Vec<PathBuf> = project.into_iter().collect();
    let around: BTreeSet<&Path> = directories.iter().map(PathBuf::as_path).chain(names.own()).collect();
    let wanted = Wanted { directories: directories.clone(), in_workspace: None };
    scoped(&around.into_iter().collect::<Vec<_>>(), &wanted, names, families, context, disks)
}

/// The session's own project; where a setting names the family's tree, there need not be one.
fn own(names: &ProjectNames, face: Option<ItemFace>, session: &SessionContext) -> Result<PathBuf, ItemsError> {
    let is_set = face.is_some_and(|face| (face.tree)(session, None).owner == TreeOwner::Session);
    match names.own() {
        Some(own) => Ok(own.to_owned()),
        None if is_set => Ok(PathBuf::new()),
        None => Err(no_own_project(names)),
    }
}

fn no_own_project(names: &ProjectNames) -> ItemsError {
    ItemsError::NoOwnProject {
        projects: names.all().map(|(name, _)| name.to_owned()).take(MAX_SHOWN_PROJECTS).collect(),
    }
}

fn wanted(
    scope: &ItemScope,
    names: &ProjectNames,
    families: &[FamilyDescriptor],
    context: &ReadContext<'_>,
) -> Result<Wanted, ItemsError> {
    let every = || Wanted { directories: names.all().map(|(_, path)| path.to_owned()).collect(), in_workspace: None };
    match scope {
        ItemScope::Every => Ok(every()),
        ItemScope::Own => Ok(match names.own() {
            Some(own) => Wanted { directories: vec![own.to_owned()], in_workspace: Some(own_names(own)) },
            None => every(),
        }),
        ItemScope::Named(name) if name.starts_with('/') || name == "~" || name.starts_with("~/") => {
            let home = context.session.home.clone().unwrap_or_default();
            let path = name
                .strip_prefix('~')
                .map_or_else(|| PathBuf::from(name), |rest| home.join(rest.trim_start_matches('/')));
            let place = TreeLocation::InProject {
                unless: None,
                project: ProjectSelector::Named(path),
                below: PathBuf::new(),
                links: SymlinkPolicy::FollowInsideTree,
            };
            let directory = context.disk.tree(&place).map_err(|error| match error {
                ReadError::NoProject(error) => ItemsError::Project(error),
                error => ItemsError::Read(error),
            })?;
            Ok(Wanted { directories: vec![directory], in_workspace: Some(Vec::new()) })
        }
        ItemScope::Named(name) => {
            let in_workspace = workspace_names(families, context);
            let is_in_workspace = in_workspace.iter().any(|known| known.eq_ignore_ascii_case(name));
            let directories = match names.find(name) {
                Ok(path) => vec![path.to_owned()],
                Err(_) if is_in_workspace => Vec::new(),
                Err(error) => {
                    let ItemsError::UnknownProject { name, .. } = ItemsError::name(name, error.clone(), names) else {
                        return Err(ItemsError::name(name, error, names));
                    };
                    let known = names.all().map(|(name, _)| name).chain(in_workspace.iter().map(String::as_str));
                    let nearest = crate::text::nearest::nearest_few(&name, known, 3);
                    let nearest = nearest.into_iter().map(str::to_owned).collect();
                    return Err(ItemsError::UnknownProject { name, nearest });
                }
            };
            Ok(Wanted { directories, in_workspace: Some(vec![name.clone()]) })
        }
    }
}

/// The projects of the session's workspace.
fn workspace_names(families: &[FamilyDescriptor], context: &ReadContext<'_>) -> Vec<String> {
    let workspaces = families.iter().filter_map(|family| family.items).map(|face| (face.tree)(context.session, None));
    let mut names = Vec::new();
    for tree in workspaces.filter(|tree| tree.owner == TreeOwner::Workspace) {
        let listing = ReadDirectory { place: tree.place, path: None, links: SymlinkPolicy::Refuse };
        let entries = listing.read(&context.disk).unwrap_or_default();
        let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
        names.extend(directories.map(|entry| entry.name).filter(|name| !name.starts_with('.')));
    }
    names
}

/// Names of a project in a workspace that count as that of a directory.
fn own_names(directory: &Path) -> Vec<String> {
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    last(directory).into_iter().chain(main_worktree(directory).as_deref().and_then(last)).collect()
}

/// Directories that are worktrees of one repository.
fn worktrees(directories: &[&Path]) -> HashMap<PathBuf, Worktree> {
    let mut worktrees = HashMap::new();
    for directory in directories {
        let Some(repository) = main_worktree(directory) else { continue };
        let main = Worktree { repository: repository.clone(), is_main: true };
        worktrees.insert(repository.clone(), main);
        worktrees.insert((*directory).to_owned(), Worktree { repository, is_main: false });
    }
    worktrees
}

fn scoped(
    directories: &[&Path],
    wanted: &Wanted,
    names: &ProjectNames,
    families: &[FamilyDescriptor],
    context: &ReadContext<'_>,
    disks: &Arc<Disks>,
) -> Result<Scoped, ItemsError> {
    let session = context.session;
    let own_projects = names.own().map(own_names).unwrap_or_default();
    let is_needed = |directory: &Path| names.own() == Some(directory) || wanted.directories == [directory];
    let shown_name = |directory: &Path| names.name(directory).unwrap_or_default().to_owned();
    let (mut reachable, mut silent) = (Vec::with_capacity(directories.len()), Vec::new());
    for directory in directories {
        if is_needed(directory) {
            context.disk.require_local(directory).map_err(ItemsError::Read)?;
        } else if !disks.answers(directory) {
            silent.push(shown_name(directory));
            continue;
        } else {
            disks.record_if_local(directory);
        }
        reachable.push(*directory);
    }
    let worktrees = worktrees(&reachable);
    let mut trees: Vec<ScopedTree> = Vec::new();
    for (rank, family) in families.iter().enumerate() {
        let Some(face) = family.items.filter(|_| session.sees_items_of(family.name)) else { continue };
        let own_tree = (face.tree)(session, None);
        if own_tree.owner != TreeOwner::Project {
            let is_workspace = own_tree.owner == TreeOwner::Workspace;
            let is_own_wanted =
                names.own().is_none_or(|own| wanted.directories.iter().any(|directory| directory == own));
            let Ok(root) = context.disk.tree(&own_tree.place) else { continue };
            enter(&root, context)?;
            trees.push(ScopedTree {
                family: family.name,
                face,
                rank,
                place: own_tree.place,
                root,
                files: own_tree.files,
                owner: own_tree.owner,
                project: String::new(),
                shown_project: names.own().map(shown_name).unwrap_or_default(),
                is_own: true,
                is_wanted: is_workspace || is_own_wanted,
                is_needed: true,
                own_projects: own_projects.clone(),
                wanted_projects: wanted.in_workspace.clone().filter(|_| is_workspace),
                worktree: None,
            });
            continue;
        }
        for directory in &reachable {
            let (is_own, is_needed) = (names.own() == Some(*directory), is_needed(directory));
            let tree = if is_own { own_tree.clone() } else { (face.tree)(session, Some(directory)) };
            if !is_needed && is_silent(&tree.place, directory, disks) {
                silent.push(shown_name(directory));
                continue;
            }
            // The call does not end because somebody else's disk falls silent.
            let work = context.disk.work.filter(|_| is_needed);
            let disk = DiskReader { work, ..context.disk.clone() };
            let Ok(root) = disk.tree(&tree.place) else { continue };
            let is_link = || TreeIsSymlink(tree.place.clone()).read(&disk) != Ok(false);
            if !tree.may_be_link && is_link() {
                continue;
            }
            if is_needed {
                enter(&root, context)?;
            } else if disk.recovery.as_ref().is_some_and(|recovery| recovery.is_recovering(&root)) {
                silent.push(shown_name(directory));
                continue;
            }
            trees.push(ScopedTree {
                family: family.name,
                face,
                rank,
                place: tree.place,
                root,
                files: tree.files,
                owner: tree.owner,
                project: shown_name(directory),
                shown_project: shown_name(directory),
                is_own,
                is_wanted: wanted.directories.iter().any(|wanted| wanted == directory),
                is_needed,
                own_projects: Vec::new(),
                wanted_projects: None,
                worktree: worktrees.get(*directory).cloned(),
            });
        }
    }
    Ok(Scoped { trees, silent })
}

/// Goes on in a tree that answers, and in which no write of an earlier daemon is left half done.
fn enter(root: &Path, context: &ReadContext<'_>) -> Result<(), ItemsError> {
    let entered = context.disk.require_local(root).and_then(|()| context.disk.require_recovered(root));
    entered.map_err(ItemsError::Read)
}

/// Whether the tree of a project is known not to answer, although the project does.
fn is_silent(place: &TreeLocation, project: &Path, disks: &Disks) -> bool {
    match place {
        TreeLocation::Fixed(path) => disks.is_silent(path),
        TreeLocation::InProject { below, .. } => disks.is_silent(&project.join(below)),
    }
}
