//! The search for an order, as Wing and Gong describe it, with the cache of Lowe: a set of operations that was tried
//! and the state it led to are not tried again.

use std::collections::HashSet;
use std::hash::Hash;

/// What one thread would see.
pub trait SequentialModel {
    type State: Clone + Eq + Hash;

    /// The state after this operation; none if it could not have been answered like that in this state.
    fn step(&self, state: &Self::State) -> Option<Self::State>;
}

/// An operation, and when it ran. Moments are any growing numbers, no two alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interval<O> {
    pub operation: O,
    pub invoked: u64,
    /// None if nobody ever heard: it may have happened at any later moment, or never.
    pub completed: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// In this order; those that never happened are left out.
    Linearizable(Vec<usize>),
    /// The longest order that was found, after which none of the others fits.
    Impossible(Vec<usize>),
    /// Given up after so many steps.
    TooHard,
}

/// More steps than any history takes that a test makes and that is in order.
const MAX_STEPS: usize = 5_000_000;

/// Where the search stands: what has been ordered, and what is still to be tried after it.
struct Branch<S> {
    state: S,
    candidates: Vec<usize>,
}

/// Looks for an order of the operations that begins in this state.
pub fn linearize<M: SequentialModel>(start: M::State, history: &[Interval<M>]) -> Verdict {
    let mut by_invocation: Vec<usize> = (0..history.len()).collect();
    by_invocation.sort_by_key(|number| history[*number].invoked);
    let mut unanswered = history.iter().filter(|interval| interval.completed.is_some()).count();
    let mut ordered: Vec<usize> = Vec::new();
    let mut is_ordered = vec![false; history.len()];
    let mut longest = Vec::new();
    let mut seen: HashSet<(Vec<bool>, M::State)> = HashSet::new();
    let mut branches = vec![Branch { candidates: candidates(history, &by_invocation, &is_ordered), state: start }];
    for _ in 0..MAX_STEPS {
        if unanswered == 0 {
            return Verdict::Linearizable(ordered);
        }
        let Some(branch) = branches.last_mut() else { return Verdict::Impossible(longest) };
        let Some(next) = branch.candidates.pop() else {
            branches.pop();
            if let Some(last) = ordered.pop() {
                is_ordered[last] = false;
                unanswered += usize::from(history[last].completed.is_some());
            }
            continue;
        };
        let Some(state) = history[next].operation.step(&branch.state) else { continue };
        is_ordered[next] = true;
        if !seen.insert((is_ordered.clone(), state.clone())) {
            is_ordered[next] = false;
            continue;
        }
        unanswered -= usize::from(history[next].completed.is_some());
        ordered.push(next);
        if ordered.len() > longest.len() {
            longest.clone_from(&ordered);
        }
        branches.push(Branch { candidates: candidates(history, &by_invocation, &is_ordered), state });
    }
    Verdict::TooHard
}

/// What may come next: whatever was asked for before the first answer among the rest. The last one is tried first:
/// those that were answered soonest, and then those that never were.
fn candidates<M>(history: &[Interval<M>], by_invocation: &[usize], is_ordered: &[bool]) -> Vec<usize> {
    let mut first_answer = u64::MAX;
    let mut candidates = Vec::new();
    for number in by_invocation.iter().copied().filter(|number| !is_ordered[*number]) {
        if history[number].invoked > first_answer {
            break;
        }
        first_answer = first_answer.min(history[number].completed.unwrap_or(u64::MAX));
        candidates.push(number);
    }
    candidates.sort_by_key(|number| std::cmp::Reverse(history[*number].completed.unwrap_or(u64::MAX)));
    candidates
}
