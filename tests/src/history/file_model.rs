//! What a file may hold, as callers see it: a list to which each appends a number of its own, or one number that each
//! replaces by its own.

use std::collections::BTreeMap;

use super::linearize::{Interval, SequentialModel};

/// Numbers in the order in which they stand in a file.
pub type FileState = Vec<u32>;

/// What a caller asked of a file, and what it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOperation {
    Append(u32),
    Replace(u32),
    Read(FileState),
}

impl SequentialModel for FileOperation {
    type State = FileState;

    fn step(&self, state: &FileState) -> Option<FileState> {
        match self {
            Self::Append(number) => Some(state.iter().copied().chain([*number]).collect()),
            Self::Replace(number) => Some(vec![*number]),
            Self::Read(found) => (found == state).then(|| state.clone()),
        }
    }
}

/// What came of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With what was answered.
    Done(String),
    /// Nothing was done, the caller was told.
    Refused,
    /// The answer never came, or said that nobody can tell.
    Unknown,
}

/// One request. Several with the same key ask for one operation.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub key: String,
    pub operation: FileOperation,
    pub invoked: u64,
    pub completed: u64,
    pub outcome: Outcome,
}

/// Makes one operation of all attempts with the same key: it was asked for with the first and answered with the first
/// that was. What was only ever refused has not happened, and what was read and not answered says nothing. An error
/// names a key to which two answers were given.
pub fn merge_attempts(attempts: &[Attempt]) -> Result<Vec<Interval<FileOperation>>, String> {
    let mut by_key: BTreeMap<&str, Vec<&Attempt>> = BTreeMap::new();
    for attempt in attempts {
        by_key.entry(&attempt.key).or_default().push(attempt);
    }
    let mut history = Vec::new();
    for (key, attempts) in by_key {
        let mut answers = attempts.iter().filter_map(|attempt| match &attempt.outcome {
            Outcome::Done(answer) => Some((attempt.completed, answer)),
            Outcome::Refused | Outcome::Unknown => None,
        });
        let first = answers.clone().min();
        if let (Some((_, first)), Some((_, other))) =
            (first, answers.find(|answer| first.is_some_and(|(_, first)| first != answer.1)))
        {
            return Err(format!("`{key}` was answered with `{first}` and with `{other}`"));
        }
        let is_unknown = attempts.iter().any(|attempt| attempt.outcome == Outcome::Unknown);
        let is_read = matches!(attempts[0].operation, FileOperation::Read(_));
        if first.is_none() && (is_read || !is_unknown) {
            continue;
        }
        let invoked = attempts.iter().map(|attempt| attempt.invoked).min().unwrap_or_default();
        let (operation, completed) = (attempts[0].operation.clone(), first.map(|(completed, _)| completed));
        history.push(Interval { operation, invoked, completed });
    }
    history.sort_by_key(|interval| interval.invoked);
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::super::linearize::{Verdict, linearize};
    use super::FileOperation::{Append, Read, Replace};
    use super::*;

    fn done(operation: FileOperation, invoked: u64, completed: u64) -> Interval<FileOperation> {
        Interval { operation, invoked, completed: Some(completed) }
    }

    fn unknown(operation: FileOperation, invoked: u64) -> Interval<FileOperation> {
        Interval { operation, invoked, completed: None }
    }

    #[track_caller]
    fn accepts(history: &[Interval<FileOperation>]) {
        let verdict = linearize(Vec::new(), history);
        assert!(matches!(verdict, Verdict::Linearizable(_)), "{verdict:?}");
    }

    #[track_caller]
    fn rejects(history: &[Interval<FileOperation>]) {
        let verdict = linearize(Vec::new(), history);
        assert!(matches!(verdict, Verdict::Impossible(_)), "{verdict:?}");
    }

    #[test]
    fn one_after_the_other() {
        accepts(&[]);
        accepts(&[done(Append(1), 1, 2), done(Append(2), 3, 4), done(Read(vec![1, 2]), 5, 6)]);
        rejects(&[done(Append(1), 1, 2), done(Append(2), 3, 4), done(Read(vec![2, 1]), 5, 6)]);
        accepts(&[done(Replace(1), 1, 2), done(Replace(2), 3, 4), done(Read(vec![2]), 5, 6)]);
        rejects(&[done(Replace(1), 1, 2), done(Replace(2), 3, 4), done(Read(vec![1]), 5, 6)]);
    }

    #[test]
    fn an_acknowledged_write_that_is_lost_is_found() {
        rejects(&[done(Append(1), 1, 2), done(Read(vec![]), 3, 4)]);
        rejects(&[done(Append(1), 1, 6), done(Append(2), 2, 5), done(Read(vec![1]), 7, 8)]);
        // Read before its end it may be there or not, but it does not come and go.
        accepts(&[done(Append(1), 1, 6), done(Read(vec![]), 2, 3), done(Read(vec![1]), 4, 5)]);
        rejects(&[done(Append(1), 1, 6), done(Read(vec![1]), 2, 3), done(Read(vec![]), 4, 5)]);
    }

    #[test]
    fn a_write_that_happens_twice_is_found() {
        rejects(&[done(Append(1), 1, 2), done(Read(vec![1, 1]), 3, 4)]);
        rejects(&[
            done(Replace(1), 1, 2),
            done(Replace(2), 3, 4),
            done(Read(vec![2]), 5, 6),
            done(Read(vec![1]), 7, 8),
        ]);
    }

    #[test]
    fn at_the_same_time_any_order_will_do_but_the_same_for_all() {
        let both = [done(Append(1), 1, 5), done(Append(2), 2, 6)];
        accepts(&[&both[..], &[done(Read(vec![1, 2]), 7, 8)]].concat());
        accepts(&[&both[..], &[done(Read(vec![2, 1]), 7, 8)]].concat());
        rejects(&[&both[..], &[done(Read(vec![2, 1]), 7, 9), done(Read(vec![1, 2]), 8, 10)]].concat());
    }

    #[test]
    fn what_nobody_heard_of_may_happen_late_or_never_but_once() {
        accepts(&[unknown(Append(1), 1), done(Read(vec![]), 2, 3)]);
        accepts(&[unknown(Append(1), 1), done(Read(vec![]), 2, 3), done(Read(vec![1]), 4, 5)]);
        rejects(&[unknown(Append(1), 1), done(Read(vec![1]), 2, 3), done(Read(vec![]), 4, 5)]);
        rejects(&[unknown(Append(1), 1), done(Read(vec![1, 1]), 2, 3)]);
        rejects(&[done(Read(vec![1]), 1, 2), unknown(Append(1), 3)]);
        accepts(&[unknown(Replace(1), 1), done(Replace(2), 2, 3), done(Read(vec![1]), 4, 5)]);
    }

    #[test]
    fn long_histories_take_no_time() {
        let mut history = Vec::new();
        let mut content = Vec::new();
        for turn in 0..100_u64 {
            let at = turn * 100;
            // Eight at once, in an order that only the next read tells; one in eight is never heard of.
            for host in 0..8 {
                let number = (turn * 8 + host) as u32;
                let completed = (host > 0).then_some(at + 60 - host);
                history.push(Interval { operation: Append(number), invoked: at + host, completed });
            }
            content.extend((0..8).rev().filter(|host| *host > 0 || turn % 2 == 0).map(|host| (turn * 8 + host) as u32));
            history.push(done(Read(content.clone()), at + 70, at + 71));
        }
        accepts(&history);
    }

    fn attempt(key: &str, moment: u64, outcome: Outcome) -> Attempt {
        let operation = Append(key.len() as u32);
        Attempt { key: key.to_owned(), operation, invoked: moment, completed: moment + 1, outcome }
    }

    #[test]
    fn attempts_with_one_key_are_one_operation() {
        let answered = || Outcome::Done("a".into());
        let merge = |attempts: &[Attempt]| merge_attempts(attempts);
        let again = [attempt("k", 1, Outcome::Unknown), attempt("k", 5, answered()), attempt("k", 9, answered())];
        assert_eq!(merge(&again), Ok(vec![done(Append(1), 1, 6)]));
        assert_eq!(merge(&[attempt("k", 1, Outcome::Refused)]), Ok(vec![]));
        let never_told = [attempt("k", 1, Outcome::Unknown), attempt("k", 3, Outcome::Refused)];
        assert_eq!(merge(&never_told), Ok(vec![unknown(Append(1), 1)]));
        let twice = [attempt("k", 1, answered()), attempt("k", 3, Outcome::Done("b".into()))];
        assert!(merge(&twice).is_err_and(|why| why.contains("`a`") && why.contains("`b`")));
    }
}
