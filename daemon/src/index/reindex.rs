//! Compares the documents of a tree with the disk, on request, and says what became of them since the last time
//! somebody did.

use std::collections::HashMap;
use std::sync::Arc;

use super::desk::Desk;
use super::entry::TreeId;
use super::keeper::{Cancelled, Ill, Keeper, Which};
use crate::disk::{Digest, Reporter};
use crate::families::facts::{Compared, NoAnswer, Reindex};

impl Keeper {
    /// Compares.
    pub fn reindex(&self, asked: &Reindex, tree: TreeId, reporter: &Reporter) -> Result<Compared, NoAnswer> {
        let project = asked.project.as_deref();
        let before = self.last_time(&self.desk.lock(), tree, project);
        let which = if asked.full { Which::All } else { Which::Changed };
        let compared = self.guarded(|| self.compare(tree, which, project, Some(reporter)));
        match compared {
            Ok(Ok(())) => {}
            Ok(Err(Cancelled)) => return Err(NoAnswer::Cancelled),
            Err(Ill(why)) => return Err(NoAnswer::Index(why)),
        }
        let mut desk = self.desk.lock();
        let now = self.now(&desk, tree, project);
        let mut counts = Compared { scanned: now.len(), ..Compared::default() };
        for (path, digest) in &now {
            match before.get(path) {
                None => counts.added += 1,
                Some(before) if before == digest => counts.unchanged += 1,
                Some(_) => counts.updated += 1,
            }
        }
        counts.deleted = before.keys().filter(|path| !now.contains_key(*path)).count();
        let since = &mut desk.trees[tree as usize].since;
        since.retain(|path, _| !now.contains_key(path) && !before.contains_key(path));
        Ok(counts)
    }

    /// What the documents are now.
    fn now(&self, desk: &Desk, tree: TreeId, project: Option<&str>) -> HashMap<Arc<str>, Digest> {
        let project = project.map(|project| self.names.name(project));
        let files = desk.trees[tree as usize].files.iter();
        let of_project = files.filter(|(_, known)| project.is_none_or(|project| known.entry.project == project));
        of_project.map(|(path, known)| (Arc::clone(path), known.entry.digest)).collect()
    }

    /// What they were when somebody last compared.
    fn last_time(&self, desk: &Desk, tree: TreeId, project: Option<&str>) -> HashMap<Arc<str>, Digest> {
        let mut then = self.now(desk, tree, project);
        let tree = &desk.trees[tree as usize];
        for (path, digest) in &tree.since {
            // Whose project a document was that is gone, only its family knows.
            let facts = || tree.documents.map(|documents| (documents.facts)(path, "").project);
            let is_meant = project.is_none_or(|project| facts().is_some_and(|its| its == project));
            match digest {
                Some(digest) if is_meant => {
                    then.insert(Arc::clone(path), *digest);
                }
                _ => {
                    then.remove(path);
                }
            }
        }
        then
    }
}
