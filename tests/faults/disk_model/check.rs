//! What must hold after recovery, whatever the disk had kept: pure, from what callers were told, what the next daemon
//! would tell them, and what the files hold.

use std::collections::BTreeSet;

use super::crash::Told;
use super::scenarios::Scenario;
use crate::write_fixture::FileTree;

/// What recovery has made of a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// Calls that are answered as done when they come again.
    pub(crate) applied: BTreeSet<u64>,
    /// Calls of which it is said that nobody can tell.
    pub(crate) unknown: BTreeSet<u64>,
    pub(crate) files: FileTree,
    /// Texts in the state directory; none if they do not matter.
    pub(crate) kept: Option<BTreeSet<String>>,
    /// Temp files that were left lying.
    pub(crate) temps: Vec<String>,
}

/// Why a recovery breaks a promise; none if it does not.
pub(crate) fn violation(scenario: &Scenario, told: &Told, recovery: &Recovery) -> Option<String> {
    let Recovery { applied, unknown, .. } = recovery;
    let some = |numbers: BTreeSet<u64>, what: &str| (!numbers.is_empty()).then(|| format!("{numbers:?} {what}"));
    let minus = |one: &BTreeSet<u64>, other: &BTreeSet<u64>| one - other;
    some(minus(&told.done, applied), "acknowledged, and not known as done")
        .or_else(|| some(&told.done & unknown, "acknowledged, and said to be unknown"))
        .or_else(|| some(&told.refused & &(applied | unknown), "refused, and not known as not done"))
        .or_else(|| some(minus(applied, &told.begun), "done, and never asked for"))
        .or_else(|| unexplained(scenario, recovery))
        .or_else(|| (!recovery.temps.is_empty()).then(|| format!("left lying: {:?}", recovery.temps)))
}

/// The files hold what the calls do that are said to be done, each once and whole, and perhaps what those do of which
/// nobody can tell; what they displaced is kept.
fn unexplained(scenario: &Scenario, Recovery { applied, unknown, files, kept, .. }: &Recovery) -> Option<String> {
    let mut loss = None;
    for some in subsets(unknown) {
        for order in orders(applied | &some, scenario.is_concurrent) {
            let mut expected = scenario.files();
            let displaced: Option<Vec<Vec<String>>> =
                order.iter().map(|call| scenario.call(*call).apply(&mut expected)).collect();
            let Some(displaced) = displaced.filter(|_| expected == *files) else { continue };
            let is_lost = |text: &String| kept.as_ref().is_some_and(|kept| !kept.contains(text));
            match displaced.into_iter().flatten().find(is_lost) {
                None => return None,
                Some(text) => loss = Some(format!("a displaced text is nowhere: {text:?}")),
            }
        }
    }
    loss.or_else(|| Some(format!("done are {applied:?}, unknown {unknown:?}, and there is {files:?}")))
}

fn subsets(numbers: &BTreeSet<u64>) -> Vec<BTreeSet<u64>> {
    let mut all = vec![BTreeSet::new()];
    for number in numbers {
        let with = all.iter().map(|some: &BTreeSet<u64>| some | &BTreeSet::from([*number])).collect::<Vec<_>>();
        all.extend(with);
    }
    all
}

fn orders(numbers: BTreeSet<u64>, is_any: bool) -> Vec<Vec<u64>> {
    if !is_any || numbers.len() < 2 {
        return vec![numbers.into_iter().collect()];
    }
    let with_first = |first: &u64| {
        let rest = &numbers - &BTreeSet::from([*first]);
        let first = *first;
        orders(rest, true).into_iter().map(move |rest| [vec![first], rest].concat()).collect::<Vec<_>>()
    };
    numbers.iter().flat_map(with_first).collect()
}

#[cfg(test)]
mod tests {
    use super::super::scenarios::sequences;
    use super::*;

    fn files(texts: &[(&str, &str)]) -> FileTree {
        texts.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect()
    }

    /// Three words for one file; `text` is what it holds.
    fn check(done: &[u64], applied: &[u64], unknown: &[u64], text: &str) -> Option<String> {
        let scenario = &sequences()[0];
        let set = |numbers: &[u64]| numbers.iter().copied().collect::<BTreeSet<u64>>();
        let told = Told { begun: set(&[1, 2]), done: set(done), refused: set(&[]) };
        let files = files(&[("vault/a.md", text), ("vault/b.md", "two\n|\n")]);
        let kept = Some(["one\n|\n", "one\nx|\n"].map(str::to_owned).into());
        let recovery = Recovery { applied: set(applied), unknown: set(unknown), files, kept, temps: Vec::new() };
        violation(scenario, &told, &recovery)
    }

    #[test]
    fn what_was_promised_is_accepted_and_nothing_else() {
        let accepts = |done, applied, unknown, text| assert_eq!(check(done, applied, unknown, text), None, "{text}");
        accepts(&[1], &[1], &[], "one\nx|\n");
        accepts(&[1], &[1, 2], &[], "one\nxy|\n");
        accepts(&[1], &[1], &[2], "one\nxy|\n");
        accepts(&[1], &[1], &[2], "one\nx|\n");
        accepts(&[], &[], &[], "one\n|\n");
        let rejects = |done, applied, unknown, text| assert!(check(done, applied, unknown, text).is_some(), "{text}");
        rejects(&[1], &[], &[], "one\nx|\n");
        rejects(&[1], &[], &[1], "one\nx|\n");
        rejects(&[1], &[1], &[], "one\n|\n");
        rejects(&[1], &[1], &[], "one\nxy|\n");
        rejects(&[1], &[1, 2], &[], "one\nx|\n");
        rejects(&[], &[], &[], "");
        rejects(&[], &[3], &[], "one\nz|\n");
    }

    #[test]
    fn every_order_is_tried() {
        assert_eq!(orders([1, 2, 3].into(), true).len(), 6);
        assert_eq!(orders([1, 2, 3].into(), false), [[1, 2, 3]]);
        assert_eq!(subsets(&[1, 2, 3].into()).len(), 8);
    }
}
