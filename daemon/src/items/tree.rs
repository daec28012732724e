//! The items of one tree, kept up to date: changes are noted as they come and read when somebody asks. Files that are
//! not watched are looked at one by one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::clock;
use crate::disk::{EntryKind, FileStamp, ReadError, RelativePath, RootDir, RootDirCache, SymlinkPolicy};
use crate::families::item::{ItemFace, TreeFiles};
use crate::families::item_set::{ItemFile, ItemFiles};
use crate::text::hash::hash_of;
use crate::trees::{Barrier, Scan, Trees, Waiting};

/// A project is walked for files that are not watched no deeper than this, and at most so many directories of it.
const MAX_WALK_DEPTH: usize = 12;
const MAX_WALK_DIRECTORIES: usize = 20_000;
/// Directories in which nobody keeps plans. Those with a `CACHEDIR.TAG` are left out as well.
const SKIPPED_DIRECTORIES: [&str; 2] = ["node_modules", "__pycache__"];
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// A walk is repeated after this.
const WALK_INTERVAL: Duration = Duration::from_secs(120);
/// How long a tree is worked at in the background.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(120);

/// Whether what is known is what was on the disk when the call began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    Fresh,
    Stale,
}

/// The items of one tree.
pub(crate) struct StoredTree {
    family: &'static str,
    face: ItemFace,
    root: PathBuf,
    files: TreeFiles,
    /// What is not as it was read; guarded apart, because whoever tells of a change waits for no disk.
    changes: Mutex<NotedChanges>,
    loaded: Mutex<LoadedTree>,
    in_background: AtomicBool,
}

#[derive(Default)]
struct NotedChanges {
    /// Nothing is known for sure.
    all: bool,
    paths: BTreeSet<String>,
}

#[derive(Default)]
struct LoadedTree {
    files: Arc<ItemFiles>,
    /// It was compared with the disk once.
    is_complete: bool,
    /// When each file was read that may change again without another stamp to show for it.
    read_at_ns: std::collections::HashMap<Arc<str>, i128>,
    /// Directories of a walked tree that hold files of ours.
    directories: BTreeSet<Option<String>>,
    walked: Option<Instant>,
}

impl StoredTree {
    pub(crate) fn new(family: &'static str, face: ItemFace, root: PathBuf, files: TreeFiles) -> Self {
        Self {
            family,
            face,
            root,
            files,
            changes: Mutex::new(NotedChanges { all: true, paths: BTreeSet::new() }),
            loaded: Mutex::default(),
            in_background: AtomicBool::new(false),
        }
    }

    pub(crate) fn files(&self) -> &TreeFiles {
        &self.files
    }

    /// A file with this absolute path is not what it was.
    pub(crate) fn changed(&self, path: &Path) {
        let Some(path) = path.strip_prefix(&self.root).ok().and_then(Path::to_str) else { return };
        if self.wants(path) {
            self.changes.lock().paths.insert(path.to_owned());
        }
    }

    /// It was not watched for a while.
    pub(crate) fn forget_freshness(&self) {
        self.changes.lock().all = true;
    }

    fn wants(&self, path: &str) -> bool {
        self.files.hold_items(&self.face, path)
    }

    /// Makes it equal to the disk, as far as the time allows. What was found then stays for the next time.
    pub(crate) fn refresh(
        &self,
        trees: &Arc<Trees>,
        roots: &RootDirCache,
        barrier: Barrier,
        deadline: Instant,
    ) -> (Arc<ItemFiles>, Freshness) {
        let Some(mut loaded) = self.loaded.try_lock_until(deadline) else {
            return (Arc::default(), Freshness::Stale);
        };
        let freshness = match &self.files {
            TreeFiles::Watched => self.refresh_watched(&mut loaded, trees, roots, barrier, deadline),
            TreeFiles::Walked => self.refresh_walked(&mut loaded, roots, deadline),
            TreeFiles::FirstOf(names) => self.refresh_first(&mut loaded, roots, names),
        };
        (Arc::clone(&loaded.files), freshness)
    }

    /// Goes on after the call has been answered.
    pub(crate) fn refresh_in_background(this: &Arc<Self>, trees: &Arc<Trees>) {
        if this.in_background.swap(true, Ordering::AcqRel) {
            return;
        }
        let (tree, trees) = (Arc::clone(this), Arc::clone(trees));
        let work = move || {
            let barrier = trees.begin_barrier();
            tree.refresh(&trees, &RootDirCache::default(), barrier, Instant::now() + BACKGROUND_TIMEOUT);
            tree.in_background.store(false, Ordering::Release);
        };
        if std::thread::Builder::new().name("items".into()).spawn(work).is_err() {
            this.in_background.store(false, Ordering::Release);
        }
    }

    fn refresh_watched(
        &self,
        loaded: &mut LoadedTree,
        trees: &Arc<Trees>,
        roots: &RootDirCache,
        barrier: Barrier,
        deadline: Instant,
    ) -> Freshness {
        // It stays watched for the grace: whoever asked once asks again.
        let _lease = trees.lease(self.family, &self.root);
        let root = match roots.open(&self.root) {
            Ok(root) => root,
            Err(_) => {
                *loaded = LoadedTree::default();
                self.changes.lock().all = true;
                return Freshness::Fresh;
            }
        };
        if !trees.wait_for_tree(barrier, &self.root, deadline, Waiting::Blocking) {
            return Freshness::Stale;
        }
        let NotedChanges { all, paths } = std::mem::take(&mut *self.changes.lock());
        let unsettled: Vec<Arc<str>> = loaded.read_at_ns.keys().cloned().collect();
        if !all && loaded.is_complete {
            for path in paths.iter().map(String::as_str).chain(unsettled.iter().map(|path| &**path)) {
                self.reread(loaded, &root, path);
            }
            return Freshness::Fresh;
        }
        let Some(list) = trees.list(&self.root, Scan::Known, deadline.saturating_duration_since(Instant::now())) else {
            self.changes.lock().all = true;
            return Freshness::Stale;
        };
        let listed: Vec<(String, FileStamp)> =
            list.into_iter().filter_map(|(path, stamp)| Some((path.to_str()?.to_owned(), stamp))).collect();
        let wanted: BTreeSet<&str> =
            listed.iter().map(|(path, _)| path.as_str()).filter(|path| self.wants(path)).collect();
        Arc::make_mut(&mut loaded.files).retain(|path, _| wanted.contains(&**path));
        for (path, stamp) in &listed {
            let is_known = loaded.files.get(path.as_str()).is_some_and(|known| known.stamp == *stamp)
                && !loaded.read_at_ns.contains_key(path.as_str());
            if is_known || !wanted.contains(path.as_str()) {
                continue;
            }
            if Instant::now() >= deadline {
                self.changes.lock().all = true;
                return Freshness::Stale;
            }
            self.reread(loaded, &root, path);
        }
        loaded.is_complete = true;
        Freshness::Fresh
    }

    fn refresh_walked(&self, loaded: &mut LoadedTree, roots: &RootDirCache, deadline: Instant) -> Freshness {
        let Ok(root) = roots.open(&self.root) else {
            *loaded = LoadedTree::default();
            return Freshness::Fresh;
        };
        let NotedChanges { paths, .. } = std::mem::take(&mut *self.changes.lock());
        let directory_of = |path: &String| path.rsplit_once('/').map(|(directory, _)| directory.to_owned());
        loaded.directories.extend(paths.iter().map(directory_of));
        let mut freshness = Freshness::Fresh;
        if loaded.walked.is_none_or(|walked| walked.elapsed() > WALK_INTERVAL) {
            match self.walk(&root, deadline) {
                Some(directories) => {
                    loaded.directories.extend(directories);
                    loaded.walked = Some(Instant::now());
                }
                None => freshness = Freshness::Stale,
            }
        }
        let mut seen = BTreeSet::new();
        for directory in loaded.directories.clone() {
            let path = directory.as_deref().and_then(RelativePath::from_components);
            let Ok(entries) = root.list(path.as_ref(), SymlinkPolicy::Refuse) else {
                loaded.directories.remove(&directory);
                continue;
            };
            for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::File) {
                let path = match &directory {
                    Some(directory) => format!("{directory}/{}", entry.name),
                    None => entry.name,
                };
                if self.wants(&path) {
                    seen.insert(path);
                }
            }
        }
        Arc::make_mut(&mut loaded.files).retain(|path, _| seen.contains(&**path));
        seen.iter().for_each(|path| self.reread(loaded, &root, path));
        freshness
    }

    /// The directories below a root that hold files of ours; none if the time was too short.
    fn walk(&self, root: &RootDir, deadline: Instant) -> Option<BTreeSet<Option<String>>> {
        let mut found = BTreeSet::new();
        let mut ahead: Vec<(Option<String>, usize)> = vec![(None, 1)];
        let mut count = 0;
        while let Some((directory, level)) = ahead.pop() {
            count += 1;
            if Instant::now() >= deadline {
                return None;
            }
            if count > MAX_WALK_DIRECTORIES {
                break;
            }
            let path = directory.as_deref().and_then(RelativePath::from_components);
            let Ok(entries) = root.list(path.as_ref(), SymlinkPolicy::Refuse) else { continue };
            if directory.is_some() && entries.iter().any(|entry| entry.name == CACHE_TAG) {
                continue;
            }
            for entry in entries.into_iter().filter(|entry| !entry.name.starts_with('.')) {
                let path = match &directory {
                    Some(directory) => format!("{directory}/{}", entry.name),
                    None => entry.name.clone(),
                };
                match entry.kind {
                    EntryKind::File if (self.face.wanted)(&path) => drop(found.insert(directory.clone())),
                    EntryKind::Directory
                        if level < MAX_WALK_DEPTH && !SKIPPED_DIRECTORIES.contains(&entry.name.as_str()) =>
                    {
                        ahead.push((Some(path), level + 1));
                    }
                    _ => {}
                }
            }
        }
        Some(found)
    }

    fn refresh_first(&self, loaded: &mut LoadedTree, roots: &RootDirCache, names: &[String]) -> Freshness {
        self.changes.lock().paths.clear();
        let root = roots.open(&self.root).ok();
        let first = names.iter().find(|name| {
            let path = RelativePath::from_components(name);
            let opened =
                root.as_ref().zip(path).map(|(root, path)| root.open_file(&path, SymlinkPolicy::FollowInsideTree));
            opened.is_some_and(|opened| !matches!(opened, Err(ReadError::Missing)))
        });
        Arc::make_mut(&mut loaded.files).retain(|path, _| first.is_some_and(|first| **path == **first));
        if let (Some(root), Some(first)) = (root, first) {
            self.reread(loaded, &root, first);
        }
        Freshness::Fresh
    }

    /// Reads a file again, unless its stamp proves that it holds what is known.
    fn reread(&self, loaded: &mut LoadedTree, root: &RootDir, path: &str) {
        let links = match self.files {
            TreeFiles::FirstOf(_) => SymlinkPolicy::FollowInsideTree,
            _ => SymlinkPolicy::Refuse,
        };
        let opened = RelativePath::from_components(path).ok_or(ReadError::Missing);
        let opened = opened.and_then(|way| root.open_file(&way, links));
        let read_at_ns = clock::epoch_nanos();
        let known = loaded.files.get_key_value(path).map(|(path, file)| (Arc::clone(path), file.stamp));
        let is_same = match (&opened, &known) {
            (Ok(file), Some((path, stamp))) => {
                let settled = loaded.read_at_ns.get(path).is_none_or(|at| !stamp.may_hide_a_change(*at));
                file.stamp() == *stamp && settled
            }
            _ => false,
        };
        if is_same {
            loaded.read_at_ns.remove(path);
            return;
        }
        match opened.and_then(|file| file.read(self.face.size_limit)) {
            Ok(content) => {
                let path = known.map_or_else(|| path.into(), |(path, _)| path);
                let items = (self.face.items)(&path, &content.bytes);
                if content.stamp.may_hide_a_change(read_at_ns) {
                    loaded.read_at_ns.insert(Arc::clone(&path), read_at_ns);
                } else {
                    loaded.read_at_ns.remove(&path);
                }
                let needs_hash = items.items.iter().any(|item| item.warning.is_some());
                let hash = needs_hash.then(|| hash_of(&content.bytes));
                let file = ItemFile { stamp: content.stamp, items, hash };
                Arc::make_mut(&mut loaded.files).insert(path, Arc::new(file));
            }
            Err(_) => {
                loaded.read_at_ns.remove(path);
                Arc::make_mut(&mut loaded.files).remove(path);
            }
        }
    }
}
