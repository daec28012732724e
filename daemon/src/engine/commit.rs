//! Edit → disk → acknowledged.
//!
//! A writing tool has computed on what it saw. Here its files are locked, both halves run again so that
//! nothing of ours can move under them, and the scribe writes. What somebody else moved meanwhile makes
//! the tool run again; a call that was carried out before is answered from the journal.

use std::sync::OnceLock;

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::{Engine, answers};
use crate::clock::Now;
use crate::disk::journal::CallId;
use crate::disk::scribe::{Remembered, Wanted, Written};
use crate::disk::write::{Target, Unwritten};
use crate::disk::{Eyes, FileName, RelativePath, Reporter, Trust};
use crate::families::Registered;
use crate::families::edit::{Edit, FileEdit, New, Old, Unwritable};
use crate::families::need::{Links, Place, Unseen};
use crate::tools::{Answer, Halves, Session};

/// How often a tool runs again because somebody else keeps changing its files.
const ATTEMPTS: usize = 5;

/// A writing call.
#[derive(Debug)]
pub struct Writing<'a> {
    /// Whose tool it is.
    pub family: &'a Registered,
    /// Its halves.
    pub halves: &'a Halves<Map<String, Value>, (Answer, Edit)>,
    /// Its arguments.
    pub arguments: &'a Map<String, Value>,
    /// Which call it is, if it can come again.
    pub call: Option<CallId>,
    /// The caller's own name for the request, with its arguments.
    pub key: Option<String>,
}

/// What the halves of a writing tool came to.
struct Computed {
    answer: Answer,
    edit: Edit,
    /// What must be locked for it.
    files: Vec<FileName>,
}

impl Engine {
    /// Carries out a writing call, exactly once.
    pub fn commit(&self, writing: &Writing<'_>, session: &Session, reporter: &Reporter) -> Result<Answer, Failure> {
        let names = answers::names(writing.call.as_ref(), writing.key.as_deref());
        // The same call on another connection waits here, and then finds the answer.
        let _once = self.calls_in_progress.take(names.clone());
        if let Some(answer) = self.answers.lock().find(&names) {
            return answer;
        }
        let eyes = self.eyes(session, reporter);
        let done = |answer: Answer| {
            self.answers.lock().remember(&names, &answers::record(&answer));
            Ok(answer)
        };
        let computed = self.compute(writing, &eyes, true)?;
        if computed.edit.is_empty() {
            return done(computed.answer);
        }
        let mut locked = computed.files.clone();
        let first = computed.edit.files.first().map(|file| file.path.clone());
        // What was computed before the locks holds if nobody had to be waited for: the scribe looks at its files
        // once more, but not at what else is in their directories.
        let mut computed = Some(computed).filter(|computed| computed.edit.alone_in.is_empty());
        let mut has_moved = false;
        for _ in 0..ATTEMPTS {
            let held = self.files_in_progress.take(locked.iter().cloned());
            if reporter.is_cancelled() {
                return Err(Failure::new(
                    "cancelled",
                    trellis_protocol::Kind::Unavailable,
                    "cancelled; nothing was done",
                ));
            }
            let Computed { answer, edit, files } = match computed.take().filter(|_| !held.waited()) {
                Some(computed) => computed,
                None => self.compute(writing, &eyes, !has_moved)?,
            };
            if edit.is_empty() {
                return done(answer);
            }
            if !held.covers(&files) {
                locked = files;
                continue;
            }
            let stamped = OnceLock::new();
            let remember = || {
                let answer = stamped.get_or_init(|| edit.stamped(answer.clone()));
                let (call, key) = (writing.call.clone(), writing.key.clone());
                Remembered { call, key, answer: answers::record(answer) }
            };
            match self.put_down(&edit, Some(&remember), &eyes) {
                Ok(remembered) => {
                    let recorded = remembered.unwrap_or_default().answer;
                    self.answers.lock().remember(&names, &recorded);
                    return Ok(stamped.into_inner().unwrap_or(answer));
                }
                Err((_, Unwritten::Moved)) => has_moved = true,
                Err((_, Unwritten::Unknown)) => return Err(answers::outcome_unknown()),
                Err((path, why)) => return Err((writing.family.unwritten)(&path, &unwritable(why))),
            }
        }
        Err(match first {
            Some(path) => (writing.family.unwritten)(&path, &Unwritable::KeepsMoving),
            None => Failure::internal("an edit has files"),
        })
    }

    /// Runs both halves of a tool, and says which files it wants locked. Unless somebody was seen to interfere, a
    /// file that is going to be replaced need not be compared before: the scribe does so.
    fn compute(&self, writing: &Writing<'_>, eyes: &Eyes<'_>, may_trust: bool) -> Result<Computed, Failure> {
        let run = |eyes: &Eyes<'_>| -> Result<Computed, Failure> {
            let now = Now::read(&eyes.session.zone.0);
            let (answer, edit) = writing.halves.run(writing.arguments, eyes, &now)?;
            let files = file_names(&edit, eyes, writing.family)?;
            Ok(Computed { answer, edit, files })
        };
        if may_trust {
            let trust = Trust::default();
            let computed = run(&Eyes { trust: Some(&trust), ..*eyes });
            if trust.holds_for(computed.as_ref().map_or(&[], |computed| &computed.files)) {
                return computed;
            }
        }
        run(eyes)
    }

    /// Has an edit written whose files are locked; what the journal has of it. What is not to be remembered is not
    /// in the journal.
    pub(super) fn put_down(
        &self,
        edit: &Edit,
        remember: Option<&(dyn Fn() -> Remembered + Sync)>,
        eyes: &Eyes<'_>,
    ) -> Result<Option<Remembered>, (RelativePath, Unwritten)> {
        let mut files = Vec::with_capacity(edit.files.len());
        for file in &edit.files {
            let about = |unseen: Unseen| (file.path.clone(), Unwritten::Unseen(unseen));
            let (target, tree) = target(&file.place, &file.path, file.links, file.old, eyes).map_err(about)?;
            let new = match &file.new {
                New::Content(bytes, _) => Some(&bytes[..]),
                New::Nothing => None,
            };
            let (old, seen, held) = (file.old, file.seen, file.held.clone());
            files.push(Wanted { target, tree, old, seen, held, new });
        }
        let mut directories = Vec::with_capacity(edit.directories.len());
        for (place, path) in &edit.directories {
            let about = |unseen: Unseen| (path.clone(), Unwritten::Unseen(unseen));
            directories.push(target(place, path, Links::Inside, Old::Absent, eyes).map_err(about)?.0);
        }
        let first = || edit.files[0].path.clone();
        let written = self.scribe.write(&files, &directories, remember, eyes.session.umask);
        let Written { left, remembered } = written.map_err(|why| (first(), why))?;
        for ((file, wanted), state) in edit.files.iter().zip(&files).zip(left) {
            if let (New::Content(_, Some(made)), Some((identity, digest)), Ok((device, inode))) =
                (&file.new, state, wanted.target.root.number())
            {
                let name = (device, inode, wanted.target.path.clone());
                self.models.learn(&name, identity, digest, made.clone());
            }
        }
        self.ingest(&files);
        Ok(remembered)
    }
}

/// Where a file is to be written, and the path of its tree. A tree that is missing is made with a new
/// file in it: then the nearest directory that exists stands for the root.
fn target(
    place: &Place,
    path: &RelativePath,
    links: Links,
    old: Old,
    eyes: &Eyes<'_>,
) -> Result<(Target, std::path::PathBuf), Unseen> {
    let tree = place.tree(eyes)?;
    let found = eyes.roots.open(&tree);
    let (root, path, tree) = match found {
        Ok(root) => {
            let path = if old == Old::Absent { path.clone() } else { root.spelt(path, links) };
            let path = root.real(&path, links)?;
            (root, path, tree)
        }
        Err(Unseen::NoTree) if old == Old::Absent => {
            let missing = |above: &&std::path::Path| !above.is_dir();
            let above = tree.ancestors().find(|above| !missing(above)).ok_or(Unseen::NoTree)?.to_owned();
            let way = tree.strip_prefix(&above).map_err(|_| Unseen::NoTree)?;
            let way = way.to_str().and_then(RelativePath::of_names).ok_or(Unseen::NoTree)?;
            (eyes.roots.open(&above)?, way.below(path), above)
        }
        Err(unseen) => return Err(unseen),
    };
    Ok((Target { root, path, links }, tree))
}

/// What must be locked for an edit. A new file in a directory that is locked needs no lock of its own: its name
/// depends on what was counted there, and would be another one each time somebody had to be waited for.
pub(super) fn file_names(edit: &Edit, eyes: &Eyes<'_>, family: &Registered) -> Result<Vec<FileName>, Failure> {
    let is_counted = |file: &&FileEdit| {
        let above = file.path.ancestors().last().flatten();
        let is_alone = |(place, path): &(Place, RelativePath)| *place == file.place && Some(path) == above.as_ref();
        file.old == Old::Absent && edit.alone_in.iter().any(is_alone)
    };
    let files = edit.files.iter().filter(|file| !is_counted(file));
    let files = files.map(|file| (&file.place, &file.path, file.links, file.old));
    let directories = edit.alone_in.iter().map(|(place, path)| (place, path, Links::Inside, Old::Absent));
    let name = |place, path, links, old| {
        let (target, _) = target(place, path, links, old, eyes)?;
        let (device, inode) = target.root.number()?;
        Ok((device, inode, target.path))
    };
    let fail = |path, unseen| (family.unwritten)(path, &Unwritable::Unseen(unseen));
    let all = files.chain(directories);
    all.map(|(place, path, links, old)| name(place, path, links, old).map_err(|unseen| fail(path, unseen))).collect()
}

fn unwritable(why: Unwritten) -> Unwritable {
    match why {
        Unwritten::Moved | Unwritten::Unknown => Unwritable::KeepsMoving,
        Unwritten::Unseen(unseen) => Unwritable::Unseen(unseen),
        Unwritten::Failed(error) => Unwritable::of(&error),
    }
}
