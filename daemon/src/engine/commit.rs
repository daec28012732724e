//! Edit → disk → acknowledged.
//!
//! A writing tool has computed on what it saw. Here its files are locked, both halves run again so that
//! nothing of ours can move under them, and the scribe writes. What somebody else moved meanwhile makes
//! the tool run again; a call that was carried out before is answered from the journal.

use serde_json::{Map, Value};
use trellis_protocol::Failure;

use super::{Engine, answers};
use crate::clock::Now;
use crate::disk::journal::CallId;
use crate::disk::scribe::{Remembered, Wanted};
use crate::disk::write::{Target, Unwritten};
use crate::disk::{Eyes, RelativePath, Reporter};
use crate::families::Registered;
use crate::families::edit::{Edit, FileEdit, Old, Unwritable};
use crate::families::need::Unseen;
use crate::tools::{Answer, Halves, Session};

/// How often a tool runs again because somebody else keeps changing its files.
const ATTEMPTS: usize = 5;

/// A file, wherever its tree is mounted: device and inode of a directory, and the way from there.
pub type FileName = (u64, u64, RelativePath);

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

impl Engine {
    /// Carries out a writing call, exactly once.
    pub fn commit(&self, writing: &Writing<'_>, session: &Session, reporter: &Reporter) -> Result<Answer, Failure> {
        let names = answers::names(writing.call.as_ref(), writing.key.as_deref());
        // The same call on another connection waits here, and then finds the answer.
        let _once = self.calls_in_progress.take(names.clone());
        if let Some(answer) = self.answers.lock().find(&names) {
            return answer;
        }
        let eyes = Eyes { roots: &self.roots, projects: &self.projects, session, reporter };
        let now = || Now::read(&session.zone.0);
        let (answer, edit) = writing.halves.run(writing.arguments, &eyes, &now())?;
        if edit.is_empty() {
            self.answers.lock().remember(&names, &answer);
            return Ok(answer);
        }
        let mut locked = file_names(&edit, &eyes, writing.family)?;
        let first = edit.files.first().map(|file| file.path.clone());
        // What was computed before the locks holds if nobody had to be waited for; the scribe looks once more.
        let mut computed = Some((answer, edit));
        for _ in 0..ATTEMPTS {
            let held = self.files_in_progress.take(locked.iter().cloned());
            if reporter.is_cancelled() {
                return Err(Failure::new(
                    "cancelled",
                    trellis_protocol::Kind::Unavailable,
                    "cancelled; nothing was done",
                ));
            }
            let (answer, edit) = match computed.take().filter(|_| !held.waited()) {
                Some(computed) => computed,
                None => writing.halves.run(writing.arguments, &eyes, &now())?,
            };
            if edit.is_empty() {
                self.answers.lock().remember(&names, &answer);
                return Ok(answer);
            }
            let needed = file_names(&edit, &eyes, writing.family)?;
            if !held.covers(&needed) {
                locked = needed;
                continue;
            }
            match self.write(writing, &edit, &answer, &eyes) {
                Ok(()) => {
                    self.answers.lock().remember(&names, &answer);
                    return Ok(answer);
                }
                Err((_, Unwritten::Moved)) => {}
                Err((_, Unwritten::Unknown)) => return Err(answers::outcome_unknown()),
                Err((path, why)) => return Err((writing.family.unwritten)(&path, &unwritable(why))),
            }
        }
        Err(match first {
            Some(path) => (writing.family.unwritten)(&path, &Unwritable::KeepsMoving),
            None => Failure::internal("an edit has files"),
        })
    }

    fn write(
        &self,
        writing: &Writing<'_>,
        edit: &Edit,
        answer: &Answer,
        eyes: &Eyes<'_>,
    ) -> Result<(), (RelativePath, Unwritten)> {
        let mut files = Vec::with_capacity(edit.files.len());
        for file in &edit.files {
            let about = |unseen: Unseen| (file.path.clone(), Unwritten::Unseen(unseen));
            let (target, tree) = target(file, eyes).map_err(about)?;
            files.push(Wanted { target, tree, old: file.old, new: file.new.clone() });
        }
        let remembered =
            Remembered { call: writing.call.clone(), key: writing.key.clone(), answer: answers::record(answer) };
        let first = || edit.files[0].path.clone();
        self.scribe.write(&files, &remembered, eyes.session.umask).map_err(|why| (first(), why))
    }
}

/// Where a file is to be written, and the path of its tree. A tree that is missing is made with a new
/// file in it: then the nearest directory that exists stands for the root.
fn target(file: &FileEdit, eyes: &Eyes<'_>) -> Result<(Target, std::path::PathBuf), Unseen> {
    let tree = file.place.tree(eyes)?;
    let found = eyes.roots.open(&tree);
    let (root, path, tree) = match found {
        Ok(root) if file.old == Old::Absent => (root, file.path.clone(), tree),
        Ok(root) => {
            let path = root.spelt(&file.path, file.links);
            (root, path, tree)
        }
        Err(Unseen::NoTree) if file.old == Old::Absent => {
            let missing = |above: &&std::path::Path| !above.is_dir();
            let above = tree.ancestors().find(|above| !missing(above)).ok_or(Unseen::NoTree)?.to_owned();
            let way = tree.strip_prefix(&above).map_err(|_| Unseen::NoTree)?;
            let way = way.to_str().and_then(RelativePath::of_names).ok_or(Unseen::NoTree)?;
            (eyes.roots.open(&above)?, way.below(&file.path), above)
        }
        Err(unseen) => return Err(unseen),
    };
    Ok((Target { root, path, links: file.links }, tree))
}

fn file_names(edit: &Edit, eyes: &Eyes<'_>, family: &Registered) -> Result<Vec<FileName>, Failure> {
    let name = |file: &FileEdit| {
        let (target, _) = target(file, eyes)?;
        let (device, inode) = target.root.number()?;
        Ok((device, inode, target.path))
    };
    let fail = |file: &FileEdit, unseen| (family.unwritten)(&file.path, &Unwritable::Unseen(unseen));
    edit.files.iter().map(|file| name(file).map_err(|unseen| fail(file, unseen))).collect()
}

fn unwritable(why: Unwritten) -> Unwritable {
    match why {
        Unwritten::Moved | Unwritten::Unknown => Unwritable::KeepsMoving,
        Unwritten::Unseen(unseen) => Unwritable::Unseen(unseen),
        Unwritten::Failed(error) => Unwritable::of(&error),
    }
}
