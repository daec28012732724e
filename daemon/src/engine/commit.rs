//! Edit → disk → acknowledged.
//!
//! A writing tool has planned an edit on what it read. Here its files are locked, the plan is made again if a lock
//! was contended, and the writer applies it. If somebody else changed a file meanwhile the tool runs again; a call
//! that was carried out before is answered from the answer cache.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::changed_items::changed_items;
use super::recovery::{not_recovered, unless_refused};
use super::{Engine, answers, history};
use crate::clock::Now;
use crate::disk::journal::{CallId, ChangeRecord, ChangedFile, JournalRecord};
use crate::disk::staged_file::{WriteError, WriteTarget};
use crate::disk::writer::{CallRecord, FileWrite, WriteReceipt};
use crate::disk::{
    DiskReader, DiskWork, Expected, FileKey, ReadError, ReadMode, RelativePath, SymlinkPolicy, TreeLocation,
    UnverifiedReads,
};
use crate::families::FamilyDescriptor;
use crate::families::edit::{Edit, EditError, FileEdit, Replacement};
use crate::families::feed::shown_change;
use crate::families::item::ItemFace;
use crate::families::need::ReadContext;
use crate::families::{Answer, ProgressReporter, SessionContext, TwoPhase};
use crate::trees::{Author, ChangeKind, Origin, OwnWrite};

/// How often a tool is planned again because somebody else keeps changing its files.
const MAX_REPLANS: usize = 5;
/// Where the answer to a write says which entry of the feed it became: `c42`.
const CHANGE_META: &str = "trellis/change";

#[derive(Debug)]
pub struct WriteCall<'a> {
    /// Whose tool it is.
    pub family: &'a FamilyDescriptor,
    pub two_phase: &'a TwoPhase<Map<String, Value>, (Answer, Edit)>,
    pub arguments: &'a Map<String, Value>,
    /// Which call it is, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
    pub author: Arc<Author>,
}

/// What a writing call came to.
#[derive(Debug)]
pub struct Committed {
    pub answer: Answer,
    /// The trees in which items changed, each with the family whose items they are.
    pub item_trees: Vec<(String, PathBuf)>,
}

impl From<Answer> for Committed {
    fn from(answer: Answer) -> Self {
        Self { answer, item_trees: Vec::new() }
    }
}

fn item_trees(record: &JournalRecord) -> Vec<(String, PathBuf)> {
    let files = record.change.iter().flat_map(|change| change.files.iter().flatten());
    let mut trees: Vec<(String, PathBuf)> = files.map(|file| (file.family.clone(), file.tree.clone())).collect();
    trees.sort();
    trees.dedup();
    trees
}

/// A planned edit and its answer.
struct PlannedEdit {
    answer: Answer,
    edit: Edit,
    /// What must be locked for it.
    files: Vec<FileKey>,
}

impl Engine {
    /// Carries out a writing call, exactly once.
    pub fn commit(
        &self,
        write_call: &WriteCall<'_>,
        session: &SessionContext,
        reporter: &ProgressReporter,
        work: &DiskWork,
    ) -> Result<Committed, Failure> {
        let context = self.read_context(session, reporter).with_work(work);
        unless_refused(&context.disk, self.commit_in(write_call, &context, reporter))
    }

    fn commit_in(
        &self,
        write_call: &WriteCall<'_>,
        context: &ReadContext<'_>,
        reporter: &ProgressReporter,
    ) -> Result<Committed, Failure> {
        let (call, key) = (write_call.call.as_ref(), write_call.key.as_deref());
        let names = answers::answer_keys(call, key);
        self.recoveries.wait_for_call(call, key).map_err(|tree| not_recovered(&tree))?;
        // The same call on another connection waits here, and then finds the answer.
        let _once = self.calls_in_progress.take(names.clone());
        if let Some(answer) = self.answers.lock().find(&names) {
            return answer.map(Committed::from);
        }
        let done = |answer: Answer| {
            self.answers.lock().remember(&names, &answers::to_stored(&answer));
            Ok(answer.into())
        };
        let planned = self.plan(write_call, context, true)?;
        if planned.edit.is_empty() {
            return done(planned.answer);
        }
        let mut locked = planned.files.clone();
        let first = planned.edit.files.first().map(|file| file.path.clone());
        // What was computed before the locks holds if nobody had to be waited for: the writer looks at its files
        // once more, but not at what else is in their directories.
        let mut planned = Some(planned).filter(|planned| planned.edit.locked_directories.is_empty());
        let mut has_changed = false;
        for _ in 0..MAX_REPLANS {
            let guard = self.files_in_progress.take(locked.iter().cloned());
            if reporter.is_cancelled() {
                return Err(Failure::new(
                    "cancelled",
                    trellis_protocol::FailureKind::Unavailable,
                    "cancelled; nothing was done",
                ));
            }
            let PlannedEdit { answer, edit, files } = match planned.take().filter(|_| !guard.was_contended()) {
                Some(planned) => planned,
                None => self.plan(write_call, context, !has_changed)?,
            };
            if edit.is_empty() {
                return done(answer);
            }
            if !guard.holds_all(&files) {
                locked = files;
                continue;
            }
            let fail = |path: &RelativePath, why| (write_call.family.write_failure)(path, &edit_error(why));
            let reserved = self.writer.journal().with_room(|| self.feed.reserve());
            let reserved = reserved.map_err(|error| fail(&edit.files[0].path, WriteError::Unrecorded(error)))?;
            let author = Author { change: reserved.number, ..Author::clone(&write_call.author) };
            let answer_with_meta = OnceLock::new();
            let remember = |files: Vec<Option<ChangedFile>>| {
                let answer = answer_with_meta.get_or_init(|| naming_change(&edit, answer.clone(), author.change));
                let (call, key) = (write_call.call.clone(), write_call.key.clone());
                let Author { change: id, by, session, key: http_key, tool, .. } = author.clone();
                let change = ChangeRecord { id, by, session, key: http_key, tool, undoes: edit.undoes, files };
                CallRecord { call, key, change: Some(change), answer: answers::to_stored(answer) }
            };
            let origin = Origin::Call(Arc::new(author.clone()));
            match self.apply_edit(&edit, Some(&remember), &origin, context) {
                Ok(record) => {
                    record.as_ref().and_then(history::entry_of).into_iter().for_each(|entry| self.feed.record(entry));
                    let item_trees = record.as_ref().map(item_trees).unwrap_or_default();
                    let recorded = record.map(|record| record.answer).unwrap_or_default();
                    self.answers.lock().remember(&names, &recorded);
                    return Ok(Committed { answer: answer_with_meta.into_inner().unwrap_or(answer), item_trees });
                }
                Err((_, WriteError::Changed)) => has_changed = true,
                Err((_, WriteError::OutcomeUnknown)) => return Err(answers::outcome_unknown()),
                Err((path, why)) => return Err(fail(&path, why)),
            }
        }
        Err(match first {
            Some(path) => (write_call.family.write_failure)(&path, &EditError::Busy),
            None => Failure::internal("an edit has files"),
        })
    }

    /// Runs both phases of a tool, and says which files it wants locked. Unless somebody was seen to interfere, a
    /// file that is going to be replaced need not be compared before: the writer does so.
    fn plan(
        &self,
        write_call: &WriteCall<'_>,
        context: &ReadContext<'_>,
        allow_unverified: bool,
    ) -> Result<PlannedEdit, Failure> {
        let run = |context: &ReadContext<'_>| -> Result<PlannedEdit, Failure> {
            let now = Now::read(&context.session.zone.0);
            let (answer, edit) = write_call.two_phase.run(write_call.arguments, context, &now)?;
            let files = lock_keys(&edit, context, write_call.family)?;
            Ok(PlannedEdit { answer, edit, files })
        };
        if allow_unverified {
            let unverified = UnverifiedReads::default();
            let planned = run(&context.with_mode(ReadMode::Unverified(&unverified)));
            if unverified.all_replaced(planned.as_ref().map_or(&[], |planned| &planned.files)) {
                return planned;
            }
        }
        run(context)
    }

    /// Has an edit written whose files are locked; what the journal has of it. What is not to be remembered is not
    /// in the journal.
    pub(super) fn apply_edit(
        &self,
        edit: &Edit,
        remember: Option<&Remember<'_>>,
        origin: &Origin,
        context: &ReadContext<'_>,
    ) -> Result<Option<JournalRecord>, (RelativePath, WriteError)> {
        let mut files = Vec::with_capacity(edit.files.len());
        let mut trees = Vec::with_capacity(edit.files.len());
        for file in &edit.files {
            let about = |read_error: ReadError| (file.path.clone(), WriteError::Read(read_error));
            let Located { target, base, tree } =
                locate(&file.place, &file.path, file.links, file.old, &context.disk).map_err(about)?;
            let new = match &file.new {
                Replacement::Content(bytes, _) => Some(&bytes[..]),
                Replacement::Nothing => None,
            };
            let (old, expected_stamp, expected_bytes) = (file.old, file.expected_stamp, file.expected_bytes.clone());
            let mode = file.mode;
            files.push(FileWrite { target, tree: base, old, expected_stamp, expected_bytes, new, mode });
            trees.push(tree);
        }
        let mut directories = Vec::with_capacity(edit.directories.len());
        for (place, path) in &edit.directories {
            let about = |read_error: ReadError| (path.clone(), WriteError::Read(read_error));
            let directory = locate(place, path, SymlinkPolicy::FollowInsideTree, Expected::Absent, &context.disk);
            directories.push(directory.map_err(about)?.target);
        }
        let first = || edit.files[0].path.clone();
        let absolute = |file_write: &FileWrite<'_>| file_write.tree.join(file_write.target.path.as_str());
        let in_progress = self.trees.begin_write(files.iter().map(absolute).collect());
        let item_trees: Vec<Option<(&FamilyDescriptor, PathBuf)>> = match origin {
            Origin::Call(author) => {
                let named = edit.family.unwrap_or(author.family);
                let each = files.iter().zip(&trees);
                each.map(|(file_write, tree)| self.item_tree(named, tree, &absolute(file_write), context)).collect()
            }
            _ => Vec::new(),
        };
        let changed_files = || -> Vec<Option<ChangedFile>> {
            let each = edit.files.iter().zip(&files).zip(&item_trees);
            each.map(|((file, file_write), tree)| changed_file((edit, file), file_write, tree.as_ref()?)).collect()
        };
        let remember = remember.map(|remember| move || remember(changed_files()));
        let remember = remember.as_ref().map(|remember| remember as &(dyn Fn() -> CallRecord + Sync));
        let written = self.writer.write(&files, &directories, remember, context.session.umask);
        let WriteReceipt { left, record } = written.map_err(|why| (first(), why))?;
        let mut own_writes = Vec::with_capacity(files.len());
        for (((file, file_write), state), tree) in edit.files.iter().zip(&files).zip(left).zip(trees) {
            let kind = match (file_write.old, file_write.new) {
                (_, None) => ChangeKind::Removed,
                (Expected::Absent, Some(_)) => ChangeKind::Created,
                (_, Some(_)) => ChangeKind::Modified,
            };
            let stamp = state.map(|(stamp, _)| stamp);
            own_writes.push(OwnWrite { tree, path: absolute(file_write), kind, stamp });
            if let (Replacement::Content(_, Some(made)), Some((stamp, digest)), Ok((device, inode))) =
                (&file.new, state, file_write.target.root.directory_id())
            {
                let name = (device, inode, file_write.target.path.clone());
                self.models.insert_written(&name, stamp, digest, made.clone());
            }
        }
        in_progress.finish(own_writes, origin);
        Ok(record)
    }

    /// Whose items a file may hold, and the root of their tree: the family that is called, or another that has it.
    fn item_tree(
        &self,
        called: &'static str,
        tree: &Path,
        file: &Path,
        context: &ReadContext<'_>,
    ) -> Option<(&FamilyDescriptor, PathBuf)> {
        std::iter::once(called).chain(self.trees.families(tree)).find_map(|name| {
            let family = self.registry.families().iter().find(|family| family.name == name)?;
            Some((family, item_tree(family.items.as_ref()?, file, context)?))
        })
    }
}

/// What a write means for the items of a file.
fn changed_file(
    (edit, file): (&Edit, &FileEdit),
    file_write: &FileWrite<'_>,
    (family, tree): &(&FamilyDescriptor, PathBuf),
) -> Option<ChangedFile> {
    let FileWrite { target, .. } = file_write;
    let absolute = file_write.tree.join(target.path.as_str());
    let path = absolute.strip_prefix(tree).ok()?.to_str()?;
    let old = || match (&file.expected_bytes, file.old) {
        (_, Expected::Absent) => None,
        (Some(bytes), _) => Some(bytes.to_vec()),
        (None, _) => {
            let file = target.root.open_file(&target.path, target.links).ok()?;
            file.read(u64::MAX).ok().map(|content| content.bytes)
        }
    };
    let items = changed_items(family.items.as_ref()?, path, old, file_write.new);
    let from = edit.moves.iter().find(|(_, to)| *to == file.path).map(|(from, _)| from.as_str().to_owned());
    Some(ChangedFile { tree: tree.clone(), family: family.name.to_owned(), from, items })
}

/// The tree of items in which a file is, if it may hold any: the session's own, or that of another project.
fn item_tree(face: &ItemFace, file: &Path, context: &ReadContext<'_>) -> Option<PathBuf> {
    let holding = |project: Option<&Path>| {
        let tree = (face.tree)(context.session, project);
        let root = context.disk.tree(&tree.place).ok()?;
        let path = file.strip_prefix(&root).ok()?.to_str()?;
        tree.files.hold_items(face, path).then_some(root)
    };
    holding(None).or_else(|| {
        let names = context.disk.projects.names(&context.disk.session);
        let around = names.all().map(|(_, project)| project).filter(|project| file.starts_with(project));
        holding(Some(around.max_by_key(|project| project.as_os_str().len())?))
    })
}

/// The answer with everything that is known only when it is written.
fn naming_change(edit: &Edit, answer: Answer, change: u64) -> Answer {
    let change = shown_change(change);
    let answer = edit.add_deferred_meta(answer).with_meta(CHANGE_META, change.as_str());
    if edit.names_change { answer.with_field("change", &change.into()) } else { answer }
}

/// Makes what the journal keeps of a call, from what it means for each of its files.
type Remember<'a> = dyn Fn(Vec<Option<ChangedFile>>) -> CallRecord + Sync + 'a;

/// Where a file is to be written.
struct Located {
    target: WriteTarget,
    /// The directory from which the target's path counts: the tree, or what there is of the way to it.
    base: PathBuf,
    tree: PathBuf,
}

/// A tree that is missing is made with a new file in it: then the nearest directory that exists stands for the root.
fn locate(
    place: &TreeLocation,
    path: &RelativePath,
    links: SymlinkPolicy,
    old: Expected,
    disk: &DiskReader<'_>,
) -> Result<Located, ReadError> {
    let tree = disk.tree(place)?;
    disk.require_recovered(&tree)?;
    let found = disk.roots.open(&tree);
    let (root, path, base) = match found {
        Ok(root) => {
            let path = if old == Expected::Absent { path.clone() } else { root.on_disk_name(path, links) };
            let path = root.resolve_links(&path, links)?;
            (root, path, tree.clone())
        }
        Err(ReadError::TreeMissing) if old == Expected::Absent => {
            let above = tree.ancestors().find(|above| above.is_dir()).ok_or(ReadError::TreeMissing)?.to_owned();
            let way = tree.strip_prefix(&above).map_err(|_| ReadError::TreeMissing)?;
            let way = way.to_str().and_then(RelativePath::from_components).ok_or(ReadError::TreeMissing)?;
            (disk.roots.open(&above)?, way.join_path(path), above)
        }
        Err(read_error) => return Err(read_error),
    };
    Ok(Located { target: WriteTarget { root, path, links }, base, tree })
}

/// What must be locked for an edit. A new file in a directory that is locked needs no lock of its own: its name
/// depends on what was counted there, and would be another one each time somebody had to be waited for.
pub(super) fn lock_keys(
    edit: &Edit,
    context: &ReadContext<'_>,
    family: &FamilyDescriptor,
) -> Result<Vec<FileKey>, Failure> {
    let is_counted = |file: &&FileEdit| {
        let above = file.path.ancestors().last().flatten();
        let is_alone =
            |(place, path): &(TreeLocation, RelativePath)| *place == file.place && Some(path) == above.as_ref();
        file.old == Expected::Absent && edit.locked_directories.iter().any(is_alone)
    };
    let files = edit.files.iter().filter(|file| !is_counted(file));
    let files = files.map(|file| (&file.place, &file.path, file.links, file.old));
    let directories = edit
        .locked_directories
        .iter()
        .map(|(place, path)| (place, path, SymlinkPolicy::FollowInsideTree, Expected::Absent));
    let name = |place, path, links, old| {
        let Located { target, .. } = locate(place, path, links, old, &context.disk)?;
        let (device, inode) = target.root.directory_id()?;
        Ok((device, inode, target.path))
    };
    let fail = |path, read_error| (family.write_failure)(path, &EditError::Read(read_error));
    let all = files.chain(directories);
    all.map(|(place, path, links, old)| name(place, path, links, old).map_err(|read_error| fail(path, read_error)))
        .collect()
}

fn edit_error(why: WriteError) -> EditError {
    match why {
        WriteError::Changed | WriteError::OutcomeUnknown => EditError::Busy,
        WriteError::Read(read_error) => EditError::Read(read_error),
        WriteError::Io(error) => EditError::of(&error),
        WriteError::Unrecorded(error) => EditError::Unrecorded(Box::new(EditError::of(&error))),
    }
}
