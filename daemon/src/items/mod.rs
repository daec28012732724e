//! Trees in, items out: the items of every tree that somebody asked for stay in memory, file by file, and follow the
//! changes of their files.
//!
//! A call names projects; the trees of these projects are brought up to date, and the items of one moment go out. What
//! an item is, only families know. No user's file is changed.

/// What has an address and is no item.
mod resource;

/// Which trees a call is about.
mod scope;

/// The items of one tree, kept up to date.
mod tree;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use scope::{Scoped, ScopedTree};
use tree::{Freshness, StoredTree};

use crate::disk::{
    DiskRequest as _, FileContent, FirstExisting, ReadDirectory, ReadError, ReadFile, RelativePath, RootDirCache,
    SymlinkPolicy, TreeLocation,
};
use crate::families::FamilyDescriptor;
use crate::families::address::{self, AddressedItem};
use crate::families::claim::ItemAt;
use crate::families::item::{Item, ItemHome, ItemKey, TreeFiles, TreeOwner};
use crate::families::item_set::{
    ItemScope, ItemSet, ItemTreeView, Items, ItemsError, ItemsRequest, OpenRequest, OpenedFile, OpenedItem, OpenedUri,
};
use crate::families::need::ReadContext;
use crate::projects::ProjectNames;
use crate::trees::{Change, ChangeSubscriber, Trees};

/// Trees in which nobody works are compared with the disk within this time, all together.
const COMPARE_TIMEOUT: Duration = Duration::from_millis(200);
/// The session's own trees are waited for.
const OWN_TIMEOUT: Duration = Duration::from_secs(20);

/// The items of all trees that somebody asked for.
pub struct ItemStore {
    families: Arc<[FamilyDescriptor]>,
    trees: Arc<Trees>,
    roots: Arc<RootDirCache>,
    stored: Mutex<HashMap<(&'static str, PathBuf), Arc<StoredTree>>>,
}

impl ItemStore {
    pub fn new(families: Arc<[FamilyDescriptor]>, trees: Arc<Trees>) -> Self {
        Self { families, trees, roots: Arc::default(), stored: Mutex::default() }
    }

    /// Brings trees up to date; returns their items, and which projects could not be compared in time. A tree whose
    /// disk falls silent meanwhile is left out, unless the call depends on it.
    fn views(&self, scoped: Scoped) -> (Vec<ItemTreeView>, Vec<String>) {
        // Begun before anything else, so that its event comes back meanwhile.
        let barrier = self.trees.begin_barrier();
        let began = Instant::now();
        let (mut views, mut stale) = (Vec::with_capacity(scoped.trees.len()), scoped.silent);
        for tree in scoped.trees {
            let stored = self.stored(&tree);
            let timeout = if tree.is_own { OWN_TIMEOUT } else { COMPARE_TIMEOUT };
            let deadline = began + timeout;
            let refresh = {
                let (stored, trees, roots) = (Arc::clone(&stored), Arc::clone(&self.trees), Arc::clone(&self.roots));
                move || stored.refresh(&trees, &roots, barrier, deadline)
            };
            let refreshed =
                if tree.is_needed { Some(refresh()) } else { self.trees.disks().run_bounded(&tree.root, refresh) };
            if !matches!(refreshed, Some((_, Freshness::Fresh))) {
                stale.push(tree.shown_project.clone());
            }
            let Some((files, freshness)) = refreshed else { continue };
            if freshness == Freshness::Stale {
                StoredTree::refresh_in_background(&stored, &self.trees);
            }
            views.push(tree.view(files));
        }
        stale.sort();
        stale.dedup();
        (views, stale)
    }

    /// Every known project by its name, with the session's own.
    fn names(context: &ReadContext<'_>) -> Result<ProjectNames, ItemsError> {
        let disk = &context.disk;
        disk.session.all().try_for_each(|directory| disk.require_local(directory)).map_err(ItemsError::Read)?;
        Ok(disk.projects.names(&disk.session))
    }

    fn stored(&self, tree: &ScopedTree) -> Arc<StoredTree> {
        let mut stored = self.stored.lock();
        let key = (tree.family, tree.root.clone());
        Arc::clone(stored.entry(key).or_insert_with(|| {
            Arc::new(StoredTree::new(tree.family, tree.face, tree.root.clone(), tree.files.clone()))
        }))
    }

    fn item_set(
        &self,
        names: ProjectNames,
        trees: Vec<ItemTreeView>,
        stale: Vec<String>,
        context: &ReadContext<'_>,
    ) -> ItemSet {
        let claims = context.claims.map(|claims| claims.in_force(&trees, context.caller)).unwrap_or_default();
        ItemSet { families: Arc::clone(&self.families), names, trees, claims, stale }
    }

    fn set(&self, scope: &ItemScope, context: &ReadContext<'_>) -> Result<ItemSet, ItemsError> {
        let names = Self::names(context)?;
        let scoped = scope::trees(scope, &names, &self.families, context, self.trees.disks())?;
        let (trees, stale) = self.views(scoped);
        Ok(self.item_set(names, trees, stale, context))
    }
}

impl Items for ItemStore {
    fn items(&self, request: &ItemsRequest, context: &ReadContext<'_>) -> Result<ItemSet, ItemsError> {
        self.set(&request.scope, context)
    }

    fn open(&self, request: &OpenRequest, context: &ReadContext<'_>) -> Result<OpenedUri, ItemsError> {
        let address = address::parse(&request.uri, &self.families).ok_or(ItemsError::InvalidAddress)?;
        let names = Self::names(context)?;
        let AddressedItem::Item { key, .. } = &address.target else {
            return resource::read(&request.uri, &address, &names, &self.families, context).map(OpenedUri::Resource);
        };
        let scoped = scope::trees_with(&address, &names, &self.families, context, self.trees.disks())?;
        let found = scoped.trees.iter().find(|tree| tree.is_wanted && tree.family == address.family);
        // A family that this surface does not show, or a tree that must not be read.
        let found = found.ok_or(ItemsError::Read(ReadError::SymlinkRefused)).map_err(|refused| {
            let is_shown = context.session.sees_items_of(address.family);
            if is_shown { refused } else { ItemsError::InvalidAddress }
        })?;
        let location = (found.place.clone(), found.face, found.files.clone());
        let (trees, stale) = self.views(scoped);
        let place = trees.iter().position(|tree| tree.is_wanted && tree.family == address.family);
        let place = place.ok_or(ItemsError::Read(ReadError::TreeMissing))?;
        let view = &trees[place];
        let project = (view.owner == TreeOwner::Workspace).then(|| workspace_project(view, &address.project));
        let read = |key: &ItemKey| {
            read(&location.0, location.1.size_limit, &location.2, home(view, project.as_deref(), key)?, context)
        };
        let file = read(key);
        // What belongs to a task is another file of the same tree.
        let companion = || {
            let companion = (location.1.companion)(key)?;
            read(&companion).ok()
        };
        let companion = if file.is_ok() { companion() } else { None };
        let set = self.item_set(names, trees, stale, context);
        Ok(OpenedUri::Item(Box::new(OpenedItem { set, tree: place, project, file, companion, address })))
    }
}

impl ItemStore {
    /// Whether a tree holds an item now; none if that cannot be told.
    pub fn holds(&self, item: &ItemAt, context: &ReadContext<'_>) -> Option<bool> {
        let face = self.families.iter().find(|family| family.name == item.family)?.items?;
        let home = in_workspace((face.home)(&item.key)?, item.project.as_deref());
        let stored = self.stored.lock().get(&(item.family, item.tree.clone())).cloned();
        let files = match (&home, stored) {
            (ItemHome::Anywhere, stored) => stored?.files().clone(),
            _ => TreeFiles::Watched,
        };
        match read(&TreeLocation::Fixed(item.tree.clone()), face.size_limit, &files, home, context) {
            Ok(file) => {
                let is_it = |found: &Item| found.key == item.key && found.project == item.project;
                Some((face.items)(&file.path, &file.bytes).items.iter().any(is_it))
            }
            Err(ReadError::Missing | ReadError::TreeMissing | ReadError::IsDirectory | ReadError::IsFile) => {
                Some(false)
            }
            Err(_) => None,
        }
    }
}

/// The project's name as it is spelt on the disk.
fn workspace_project(view: &ItemTreeView, name: &str) -> String {
    let projects = || view.files.keys().filter_map(|path| path.split_once('/')).map(|(project, _)| project);
    let same_case = || projects().find(|project| project.eq_ignore_ascii_case(name));
    let is_exact = projects().any(|project| project == name);
    if is_exact { name.to_owned() } else { same_case().unwrap_or(name).to_owned() }
}

fn home(view: &ItemTreeView, project: Option<&str>, key: &ItemKey) -> Result<ItemHome, ReadError> {
    Ok(in_workspace((view.face.home)(key).ok_or(ReadError::Missing)?, project))
}

/// Where a file is in a tree that holds projects of its own.
fn in_workspace(home: ItemHome, project: Option<&str>) -> ItemHome {
    match (home, project) {
        (ItemHome::File(path), Some(project)) => ItemHome::File(format!("{project}/{path}")),
        (home, _) => home,
    }
}

/// Reads the file in which an item is.
fn read(
    place: &TreeLocation,
    size_limit: u64,
    files: &TreeFiles,
    home: ItemHome,
    context: &ReadContext<'_>,
) -> Result<OpenedFile, ReadError> {
    let disk = &context.disk;
    let path_of = |path: &str| RelativePath::from_components(path).ok_or(ReadError::Missing);
    let opened = |path: String, content: FileContent| OpenedFile { path, bytes: content.bytes, stamp: content.stamp };
    let file = |path: &str, links: SymlinkPolicy| {
        let request = ReadFile { place: place.clone(), path: path_of(path)?, links, size_limit };
        request.read(disk).map(|content| opened(path.to_owned(), content))
    };
    match (home, files) {
        (ItemHome::File(path), _) => file(&path, SymlinkPolicy::Refuse),
        (ItemHome::Named { directory, prefix }, _) => {
            let listing =
                ReadDirectory { place: place.clone(), path: Some(path_of(directory)?), links: SymlinkPolicy::Refuse };
            let mut names: Vec<String> = listing.read(disk)?.into_iter().map(|entry| entry.name).collect();
            names.retain(|name| name.starts_with(&prefix));
            names.sort();
            let name = names.first().ok_or(ReadError::Missing)?;
            file(&format!("{directory}/{name}"), SymlinkPolicy::Refuse)
        }
        (ItemHome::Anywhere, TreeFiles::FirstOf(names)) => {
            if let (TreeLocation::Fixed(directory), [name]) = (place, names.as_slice()) {
                // A setting names the file itself, which may be a link to anywhere.
                let found = FirstExisting(vec![directory.join(name)]).read(disk).ok_or(ReadError::Missing)?;
                let (place, path) = found.file?;
                let request = ReadFile { place, path, links: SymlinkPolicy::Refuse, size_limit };
                return request.read(disk).map(|content| opened(name.clone(), content));
            }
            let mut first = Err(ReadError::Missing);
            for name in names {
                first = file(name, SymlinkPolicy::FollowInsideTree);
                if !matches!(first, Err(ReadError::Missing | ReadError::TreeMissing)) {
                    break;
                }
            }
            first
        }
        (ItemHome::Anywhere, _) => Err(ReadError::Missing),
    }
}

impl ChangeSubscriber for ItemStore {
    fn changed(&self, changes: &[Change]) {
        let stored: Vec<Arc<StoredTree>> = self.stored.lock().values().cloned().collect();
        for change in changes {
            let path = change.tree.join(&change.path);
            stored.iter().for_each(|tree| tree.changed(&path));
        }
    }

    fn tree_added(&self, family: &'static str, tree: &Path) {
        if let Some(stored) = self.stored.lock().get(&(family, tree.to_owned())) {
            stored.forget_freshness();
        }
    }
}

impl fmt::Debug for ItemStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ItemStore").finish_non_exhaustive()
    }
}
