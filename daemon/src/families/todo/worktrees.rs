//! Numbers over all worktrees of a repository: branches meet again, and then no number may mean two things. What the
//! other worktrees show comes in, the highest numbers go out. What cannot be read there does not count.

use super::ids::IdCounters;
use super::model::{TASK_FILE, in_tree};
use super::needs::{self, NumberFiles, NumberNeed};
use super::parse::TaskFile;
use crate::disk::{LoadedModel, OtherWorktrees, ReadError, ReadFileModel, RelativePath, TreeLocation, Worktrees};
use crate::families::edit::Edit;
use crate::families::need::AndThen;

/// What a repository keeps for all of its worktrees.
const SHARED: &str = "worktrees";

/// The tasks of another worktree, and what numbers are given by there.
pub type OtherTree = (Result<LoadedModel<TaskFile>, ReadError>, NumberFiles);

/// Which other worktrees there are, and what each shows.
pub type OtherTrees = (Worktrees, Vec<OtherTree>);

type OtherNeed = (ReadFileModel<TaskFile>, NumberNeed);

/// The other worktrees of a tree's repository.
pub fn others(place: &TreeLocation) -> AndThen<OtherWorktrees, impl FnOnce(&Worktrees) -> Vec<OtherNeed> + use<>> {
    AndThen(OtherWorktrees(place.clone()), |worktrees: &Worktrees| {
        let tasks = |place: &TreeLocation| ReadFileModel::of(needs::file(place, in_tree(TASK_FILE)));
        worktrees.others.iter().map(|place| (tasks(place), needs::counted(place))).collect()
    })
}

/// The highest numbers of a task and of a record.
pub fn highest(others: &[OtherTree]) -> (u16, u16) {
    let counters = others.iter().map(|(tasks, (state, contexts, adrs))| {
        let state = state.as_ref().ok().map(|state| state.bytes.as_slice());
        let tasks = tasks.as_ref().map_or(&[][..], |tasks| &tasks.model.tasks);
        let entries = |seen: &'_ needs::EntriesSeen| seen.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        IdCounters::of(state, tasks, &entries(contexts), &entries(adrs))
    });
    counters.fold((0, 0), |(task, adr), counters| (task.max(counters.task), adr.max(counters.adr)))
}

/// Nobody gives out numbers in another worktree meanwhile.
pub fn locked(edit: Edit, worktrees: &Worktrees) -> Edit {
    match (&worktrees.repository, RelativePath::from_components(SHARED)) {
        (Some(repository), Some(path)) if !worktrees.others.is_empty() => {
            edit.locked_directories(TreeLocation::Fixed(repository.clone()), path)
        }
        _ => edit,
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{STAMP, tree};
    use super::*;
    use crate::disk::{DirectoryEntry, EntryKind, FileContent};

    fn other(tasks: &str, context: &str, adr: &str, state: &str) -> OtherTree {
        let entry = |name: &str| Ok(vec![DirectoryEntry { name: name.to_owned(), kind: EntryKind::File }]);
        let state = FileContent { bytes: state.as_bytes().to_vec(), stamp: STAMP };
        (tree(tasks).2, (Ok(state), entry(context), entry(adr)))
    }

    #[test]
    fn the_highest_number_of_any_worktree_counts() {
        assert_eq!(highest(&[]), (0, 0));
        let missing = || Err(ReadError::TreeMissing);
        let empty: OtherTree = (missing_model(), (Err(ReadError::Missing), missing(), missing()));
        let state = r#"{"last_task_number":12,"last_adr_number":1}"#;
        let others = [other("- [ ] a #T004", "T009.md", "adr-003-x.md", "{"), empty, other("", "x", "y", state)];
        assert_eq!(highest(&others), (12, 3));
        assert_eq!(highest(&others[..2]), (9, 3));
    }

    fn missing_model() -> Result<LoadedModel<TaskFile>, ReadError> {
        Err(ReadError::PermissionDenied)
    }
}
