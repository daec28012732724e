//! The items of several trees at one moment, and what can be said of them only together: addresses, whose title a
//! context has, what replaced what, what points where. Data comes in from whoever keeps it; nothing is read here.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::FamilyDescriptor;
use super::address::{self, Address, AddressedItem};
use super::claim::ItemClaims;
use super::item::{FileItems, Item, ItemFace, ItemKey, ItemKind, ItemLink, TreeOwner, cut};
use super::need::ReadContext;
use super::recall::Worktree;
use crate::disk::{FileStamp, ReadError};
use crate::projects::{ProjectError, ProjectNameError, ProjectNames};

/// A reference to something that is not there is shown by its beginning.
const MAX_REFERENCE_CHARACTERS: usize = 100;

/// Which projects' items are wanted, as a caller says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemScope {
    /// The session's own; every one if it has none.
    Own,
    Every,
    /// A path, `~/…`, or a name.
    Named(String),
}

/// Asks for the items of some projects.
#[derive(Debug, Clone)]
pub struct ItemsRequest {
    pub scope: ItemScope,
}

/// Asks for the file of one item, and for the items that it may be linked with.
#[derive(Debug, Clone)]
pub struct OpenRequest {
    /// An address or a short form.
    pub uri: String,
}

/// Keeps the items of all trees.
pub trait Items: fmt::Debug {
    fn items(&self, request: &ItemsRequest, context: &ReadContext<'_>) -> Result<ItemSet, ItemsError>;

    fn open(&self, request: &OpenRequest, context: &ReadContext<'_>) -> Result<OpenedUri, ItemsError>;
}

/// Why there are none.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemsError {
    /// It is no address of ours.
    InvalidAddress,
    /// No project has this name; those that are near, and all.
    UnknownProject {
        name: String,
        nearest: Vec<String>,
    },
    AmbiguousProject {
        name: String,
        candidates: Vec<String>,
    },
    /// The session has no project of its own; known names.
    NoOwnProject {
        projects: Vec<String>,
    },
    /// The directory that was named cannot be used.
    Project(Box<ProjectError>),
    Read(ReadError),
}

impl ItemsError {
    pub fn name(name: &str, error: ProjectNameError, names: &ProjectNames) -> Self {
        let name = name.to_owned();
        match error {
            ProjectNameError::Ambiguous(candidates) => Self::AmbiguousProject { name, candidates },
            ProjectNameError::Unknown => {
                let known = names.all().map(|(name, _)| name);
                let nearest = crate::text::nearest::nearest_few(&name, known, 3);
                let nearest = nearest.into_iter().map(str::to_owned).collect();
                Self::UnknownProject { name, nearest }
            }
        }
    }
}

/// The items of some trees.
#[derive(Debug, Clone, Default)]
pub struct ItemSet {
    /// Every family, for reading addresses.
    pub families: Arc<[FamilyDescriptor]>,
    pub names: ProjectNames,
    pub trees: Vec<ItemTreeView>,
    /// Who is on which of them.
    pub claims: ItemClaims,
    /// Projects that could not be compared with the disk in time.
    pub stale: Vec<String>,
}

/// The items of one tree.
#[derive(Debug, Clone)]
pub struct ItemTreeView {
    pub family: &'static str,
    pub face: ItemFace,
    /// In the order in which families are listed.
    pub rank: usize,
    pub owner: TreeOwner,
    /// The project in addresses; empty where a setting of the session names the tree.
    pub project: String,
    /// The project that people see.
    pub shown_project: String,
    pub is_own: bool,
    /// Whether its items were asked for, or only what they may be linked with.
    pub is_wanted: bool,
    /// Projects of a workspace that count as the session's own, and those that were asked for; all if there are none.
    pub own_projects: Vec<String>,
    pub wanted_projects: Option<Vec<String>>,
    pub root: PathBuf,
    /// Where the project is one of several worktrees that are known.
    pub worktree: Option<Worktree>,
    pub files: Arc<ItemFiles>,
}

pub type ItemFiles = BTreeMap<Arc<str>, Arc<ItemFile>>;

/// A file that may hold items.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemFile {
    pub stamp: FileStamp,
    pub items: FileItems,
    /// SHA-256 of the file, where some item of it can be changed only by that.
    pub hash: Option<String>,
}

/// What an address leads to.
#[derive(Debug, Clone)]
pub enum OpenedUri {
    Item(Box<OpenedItem>),
    Resource(OpenedResource),
}

/// Something with an address that is no item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedResource {
    pub uri: String,
    pub title: String,
    pub text: String,
}

/// The file of one item, as it is now.
#[derive(Debug, Clone)]
pub struct OpenedItem {
    pub set: ItemSet,
    pub address: Address,
    /// Which tree of the set it is in.
    pub tree: usize,
    /// The name of the project in the workspace, as it is spelt on the disk.
    pub project: Option<String>,
    /// Its path in the tree and its bytes, or why they cannot be read.
    pub file: Result<OpenedFile, ReadError>,
    /// The context of a task, if it has one.
    pub companion: Option<OpenedFile>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OpenedFile {
    pub path: String,
    pub bytes: Vec<u8>,
    pub stamp: FileStamp,
}

/// One item in its tree and file.
#[derive(Debug, Clone, Copy)]
pub struct ItemRef<'a> {
    pub tree: &'a ItemTreeView,
    pub path: &'a str,
    pub file: &'a ItemFile,
    pub item: &'a Item,
}

impl ItemTreeView {
    /// Every item, in the family's own order.
    pub fn items(&self) -> impl Iterator<Item = ItemRef<'_>> {
        self.files.iter().flat_map(move |(path, file)| {
            file.items.items.iter().map(move |item| ItemRef { tree: self, path, file, item })
        })
    }

    /// Whether an item of this project was asked for.
    pub fn wants(&self, item: &Item) -> bool {
        self.is_wanted
            && match (&self.wanted_projects, &item.project) {
                (Some(wanted), Some(project)) => wanted.contains(project),
                _ => true,
            }
    }

    /// The item with this key; in a workspace, of this project.
    pub fn find(&self, project: Option<&str>, key: &ItemKey) -> Option<ItemRef<'_>> {
        let is_it = |found: &ItemRef<'_>| found.item.key == *key && found.item.project.as_deref() == project;
        let at = |path: &str| {
            let (path, file) = self.files.get_key_value(path)?;
            let items = file.items.items.iter().map(move |item| ItemRef { tree: self, path, file, item });
            items.into_iter().find(is_it)
        };
        match (self.face.home)(key)? {
            super::item::ItemHome::File(path) => match project {
                Some(project) => at(&format!("{project}/{path}")),
                None => at(&path),
            },
            _ => self.items().find(is_it),
        }
    }
}

impl<'a> ItemRef<'a> {
    pub fn address(self) -> String {
        self.tree.address(self.item.project.as_deref(), &self.item.key)
    }

    /// The project that people see.
    pub fn project(self) -> &'a str {
        self.item.project.as_deref().unwrap_or(&self.tree.shown_project)
    }

    pub fn is_own(self) -> bool {
        match &self.item.project {
            Some(project) => self.tree.own_projects.contains(project),
            None => self.tree.is_own,
        }
    }

    /// A context has its task's title.
    pub fn title(self) -> &'a str {
        let task = self.item.of.as_ref().and_then(|key| self.tree.find(None, key));
        task.map_or(&self.item.title, |task| &task.item.title)
    }
}

impl ItemTreeView {
    pub fn address(&self, project: Option<&str>, key: &ItemKey) -> String {
        address::written(self.family, &self.face, project.unwrap_or(&self.project), key)
    }
}

impl ItemSet {
    /// Every item of every tree.
    pub fn all(&self) -> impl Iterator<Item = ItemRef<'_>> {
        self.trees.iter().flat_map(ItemTreeView::items)
    }

    /// What an address names, if it is there.
    pub fn find(&self, address: &Address) -> Option<ItemRef<'_>> {
        let AddressedItem::Item { key, .. } = &address.target else { return None };
        self.trees.iter().filter(|tree| tree.family == address.family).find_map(|tree| match tree.owner {
            TreeOwner::Workspace => tree.find(Some(&address.project), key),
            _ if self.means(tree, &address.project) => tree.find(None, key),
            _ => None,
        })
    }

    fn means(&self, tree: &ItemTreeView, project: &str) -> bool {
        match project {
            "" => tree.is_own,
            name => {
                tree.project == name
                    || self.names.find(name).ok().and_then(|path| self.names.name(path)) == Some(&tree.project)
            }
        }
    }

    /// What replaced an item that no longer holds: an address if that item is there, else as it is written.
    pub fn superseded_by(&self, found: ItemRef<'_>) -> Option<String> {
        let written = |name: &String| {
            let item = self.named(found, name);
            item.map_or_else(|| cut(name, MAX_REFERENCE_CHARACTERS), ItemRef::address)
        };
        let said = found.item.superseded_by.first().map(written);
        said.or_else(|| {
            let replaces = |other: &ItemRef<'_>| {
                other.item.kind == ItemKind::Decision
                    && !other.item.outdated
                    && other.item.project == found.item.project
                    && other
                        .item
                        .supersedes
                        .iter()
                        .any(|name| self.named(*other, name).is_some_and(|meant| is_same(meant, found)))
            };
            found.tree.items().find(replaces).map(ItemRef::address)
        })
    }

    /// The item that replaced another one, if it is there.
    pub fn replaced_by(&self, found: ItemRef<'_>) -> Option<ItemRef<'_>> {
        self.find(&address::parse(&self.superseded_by(found)?, &self.families)?)
    }

    /// The item that a text of another item means: by number, id, file name or address.
    fn named(&self, from: ItemRef<'_>, name: &str) -> Option<ItemRef<'_>> {
        let first_word = name.split_whitespace().next().unwrap_or_default();
        let first_word = first_word.trim_end_matches([',', ';', '.', ':', ')']);
        [name, first_word].into_iter().find_map(|name| {
            if name.contains("://") {
                return self.find(&address::parse(name, &self.families)?);
            }
            let numbered = format!("ADR-{name}");
            let short = [name.to_uppercase(), numbered].iter().find_map(|short| self.short_form(from, short));
            let is_called = |other: &ItemRef<'_>| {
                other.item.project == from.item.project && other.item.names.iter().any(|known| known == name)
            };
            short.or_else(|| self.tree_of(from)?.items().find(is_called))
        })
    }

    fn tree_of(&self, from: ItemRef<'_>) -> Option<&ItemTreeView> {
        self.trees.iter().find(|tree| tree.family == from.tree.family && tree.root == from.tree.root)
    }

    /// The item that a link leads to.
    pub fn linked(&self, from: ItemRef<'_>, link: &ItemLink) -> Option<ItemRef<'_>> {
        match link {
            ItemLink::Address(text) => self.find(&address::parse(text, &self.families)?),
            ItemLink::ShortForm(word) => self.short_form(from, word),
            ItemLink::File(path) => {
                let tree = self.tree_of(from)?;
                let (path, file) = tree.files.get_key_value(path.as_str())?;
                file.items.items.first().map(|item| ItemRef { tree, path, file, item })
            }
        }
    }

    /// What a short form means in the project of another item.
    fn short_form(&self, from: ItemRef<'_>, word: &str) -> Option<ItemRef<'_>> {
        let AddressedItem::Item { key, .. } = address::parse(word, &self.families)?.target else { return None };
        let family = address::parse(word, &self.families)?.family;
        let project = from.project();
        let is_same = |tree: &&ItemTreeView| {
            tree.family == family && (tree.shown_project == project || (from.is_own() && tree.is_own))
        };
        self.trees.iter().find(is_same)?.find(None, &key)
    }

    /// The items whose texts point to one.
    pub fn linked_from<'a>(&'a self, target: ItemRef<'a>) -> impl Iterator<Item = ItemRef<'a>> {
        self.all().filter(move |other| {
            !is_same(*other, target)
                && other.item.links.iter().any(|link| {
                    may_mean(link, target) && self.linked(*other, link).is_some_and(|meant| is_same(meant, target))
                })
        })
    }

    /// Keys that stand in more than one file of a tree, each with its warning.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for tree in self.trees.iter().filter(|tree| tree.is_wanted) {
            warnings.extend(tree.files.values().flat_map(|file| file.items.warnings.iter().cloned()));
            let mut paths: HashMap<(Option<&str>, &ItemKey), &str> = HashMap::new();
            for found in tree.items().filter(|found| tree.wants(found.item)) {
                let key = (found.item.project.as_deref(), &found.item.key);
                if let Some(first) = paths.insert(key, found.path).filter(|first| *first != found.path) {
                    warnings.push(format!("`{first}` and `{}` are both `{}`", found.path, found.address()));
                }
                let is_orphan = found.item.of.as_ref().is_some_and(|task| tree.find(None, task).is_none());
                if is_orphan {
                    warnings.push(format!("`{}` belongs to no task", found.address()));
                }
            }
        }
        warnings
    }
}

fn is_same(one: ItemRef<'_>, other: ItemRef<'_>) -> bool {
    one.item.key == other.item.key
        && one.item.project == other.item.project
        && one.tree.family == other.tree.family
        && one.tree.root == other.tree.root
}

/// Whether a link may lead to an item at all, which is cheap to tell.
fn may_mean(link: &ItemLink, target: ItemRef<'_>) -> bool {
    match link {
        ItemLink::Address(text) => {
            text.split_once(':').is_some_and(|(scheme, _)| scheme == target.tree.family)
                || target.tree.face.alias.is_some_and(|alias| text.starts_with(alias))
        }
        ItemLink::ShortForm(word) => (target.tree.face.short_form)(word).is_some_and(|key| key == target.item.key),
        ItemLink::File(path) => target.path == path,
    }
}
