//! What a tool needs before it runs: requests to the disk and to the index, alone or combined.
//!
//! The first phase of a tool returns a [`Need`]; it is fetched, on a thread that may block if it has to, and the second
//! phase gets the output.

use std::fmt;

use super::claim::Claims;
use super::facts::{Hits, ReindexCounts, ReindexRequest, Search, SearchError, SearchRequest};
use super::feed::History;
use super::item_set::{ItemSet, Items, ItemsError, ItemsRequest, OpenRequest, OpenedUri};
use super::recall::{ItemRequest, RecallError, Recalled};
use crate::clock::Now;
use crate::disk::{DiskReader, DiskRequest, DiskWork, InlineAttempt, ReadError, ReadMode};
use crate::families::session::Caller;
use crate::families::{ProgressReporter, SessionContext};
use crate::ids;

/// On whose behalf a need is fetched, and from where.
#[derive(Debug)]
pub struct ReadContext<'a> {
    pub disk: DiskReader<'a>,
    /// None where nothing is searched.
    pub search: Option<&'a dyn Search>,
    /// None where no items are kept.
    pub items: Option<&'a dyn Items>,
    /// None where no changes are remembered.
    pub history: Option<&'a dyn History>,
    /// None where no claims are kept.
    pub claims: Option<&'a dyn Claims>,
    /// Who calls, where that matters.
    pub caller: Option<&'a Caller>,
    pub session: &'a SessionContext,
    /// Receives the progress of a long read.
    pub reporter: &'a ProgressReporter,
}

impl<'a> ReadContext<'a> {
    /// The same, where reads may behave otherwise.
    #[must_use]
    pub fn with_mode<'b>(&self, mode: ReadMode<'b>) -> ReadContext<'b>
    where
        'a: 'b,
    {
        ReadContext { disk: DiskReader { mode, ..self.disk.clone() }, ..*self }
    }

    /// The same, on behalf of a call of which is to be known where it works.
    #[must_use]
    pub fn with_work<'b>(&self, work: &'b DiskWork) -> ReadContext<'b>
    where
        'a: 'b,
    {
        ReadContext { disk: DiskReader { work: Some(work), ..self.disk.clone() }, ..*self }
    }

    /// The same, on behalf of somebody.
    #[must_use]
    pub fn with_caller<'b>(&self, caller: &'b Caller) -> ReadContext<'b>
    where
        'a: 'b,
    {
        ReadContext { disk: self.disk.clone(), caller: Some(caller), ..*self }
    }

    fn unless_refused<T>(&self, output: T) -> Option<T> {
        let is_refused = self.disk.inline().is_some_and(InlineAttempt::is_refused);
        (!is_refused).then_some(output)
    }
}

/// What a tool needs, and what it gets.
pub trait Need: Sized {
    type Output;

    const COST: Cost = Cost::Blocks;

    /// Fetches it. None: an inline attempt was refused, and the rest need not be fetched either.
    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output>;
}

/// What it costs to fetch a need. A combination costs as much as its most expensive part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// It never blocks.
    Free,
    /// An inline attempt is worth it: it is refused before anything blocks.
    TryInline,
    Blocks,
}

impl Cost {
    /// The higher one; `Ord::max` is not const.
    const fn max(self, other: Self) -> Self {
        if self as u8 > other as u8 { self } else { other }
    }
}

impl<R: DiskRequest> Need for R {
    type Output = R::Output;
    const COST: Cost = Cost::TryInline;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        let output = self.read(&context.disk);
        context.unless_refused(output)
    }
}

impl Need for SearchRequest {
    type Output = Result<Hits, SearchError>;
    const COST: Cost = Cost::TryInline;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        let hits = context.search.ok_or_else(no_index).and_then(|index| index.search(&self, context));
        context.unless_refused(hits)
    }
}

impl Need for ReindexRequest {
    type Output = Result<ReindexCounts, SearchError>;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some(context.search.ok_or_else(no_index).and_then(|index| index.reindex(&self, context)))
    }
}

impl Need for ItemsRequest {
    type Output = Result<ItemSet, ItemsError>;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some(context.items.ok_or_else(no_items).and_then(|items| items.items(&self, context)))
    }
}

impl Need for OpenRequest {
    type Output = Result<OpenedUri, ItemsError>;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some(context.items.ok_or_else(no_items).and_then(|items| items.open(&self, context)))
    }
}

/// So often a recall begins anew because files changed between items and index.
const MAX_RECALL_ATTEMPTS: usize = 3;

impl Need for ItemRequest {
    type Output = Result<Recalled, RecallError>;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some(recall(&self, context))
    }
}

fn recall(request: &ItemRequest, context: &ReadContext<'_>) -> Result<Recalled, RecallError> {
    let items = context.items.ok_or_else(no_items).map_err(RecallError::Items)?;
    let search = context.search.ok_or_else(no_index).map_err(RecallError::Search)?;
    let mut attempt = 1;
    loop {
        let asked = ItemsRequest { scope: request.scope.clone() };
        let set = items.items(&asked, context).map_err(RecallError::Items)?;
        let hits = search.recall(&request.within(&set), &set).map_err(RecallError::Search)?;
        if attempt == MAX_RECALL_ATTEMPTS || set.has_all(&hits) {
            return Ok(Recalled { set, hits });
        }
        attempt += 1;
    }
}

pub(super) fn no_items() -> ItemsError {
    ItemsError::Read(ReadError::Io("no items are kept here".to_owned()))
}

fn no_index() -> SearchError {
    SearchError::Index("there is none here".to_owned())
}

/// A value that needs no reading: it comes out as it went in, for the second phase.
#[derive(Debug, Clone)]
pub struct Constant<T>(pub T);

impl<T> Need for Constant<T> {
    type Output = T;
    const COST: Cost = Cost::Free;

    fn fetch(self, _: &ReadContext<'_>) -> Option<T> {
        Some(self.0)
    }
}

impl Need for () {
    type Output = ();
    const COST: Cost = Cost::Free;

    fn fetch(self, _: &ReadContext<'_>) -> Option<()> {
        Some(())
    }
}

/// The current time: where today's file is depends on it.
#[derive(Debug, Clone, Copy)]
pub struct CurrentTime;

impl Need for CurrentTime {
    type Output = Now;
    const COST: Cost = Cost::Free;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Now> {
        Some(Now::read(&context.session.zone.0))
    }
}

/// Some chance for an op, which has none of its own: other numbers each time.
#[derive(Debug, Clone, Copy)]
pub struct RandomSeed;

impl Need for RandomSeed {
    type Output = [u64; 2];
    const COST: Cost = Cost::Free;

    fn fetch(self, _: &ReadContext<'_>) -> Option<[u64; 2]> {
        Some([ids::random_u64(), ids::random_u64()])
    }
}

/// A need, and another one that depends on its output.
pub struct AndThen<A, F>(pub A, pub F);

impl<A: fmt::Debug, F> fmt::Debug for AndThen<A, F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("AndThen").field(&self.0).finish_non_exhaustive()
    }
}

impl<A: Need, B: Need, F: FnOnce(&A::Output) -> B> Need for AndThen<A, F> {
    type Output = (A::Output, B::Output);
    const COST: Cost = A::COST.max(B::COST);

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        let first = self.0.fetch(context)?;
        let second = (self.1)(&first).fetch(context)?;
        Some((first, second))
    }
}

impl<A: Need, B: Need> Need for (A, B) {
    type Output = (A::Output, B::Output);
    const COST: Cost = A::COST.max(B::COST);

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some((self.0.fetch(context)?, self.1.fetch(context)?))
    }
}

impl<A: Need, B: Need, C: Need> Need for (A, B, C) {
    type Output = (A::Output, B::Output, C::Output);
    const COST: Cost = A::COST.max(B::COST).max(C::COST);

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        Some((self.0.fetch(context)?, self.1.fetch(context)?, self.2.fetch(context)?))
    }
}

impl<N: Need> Need for Option<N> {
    type Output = Option<N::Output>;
    const COST: Cost = N::COST;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        match self {
            Some(need) => need.fetch(context).map(Some),
            None => Some(None),
        }
    }
}

impl<N: Need> Need for Vec<N> {
    type Output = Vec<N::Output>;
    const COST: Cost = N::COST;

    fn fetch(self, context: &ReadContext<'_>) -> Option<Self::Output> {
        self.into_iter().map(|need| need.fetch(context)).collect()
    }
}

#[cfg(test)]
pub(crate) fn with_context<T>(session: &SessionContext, run: impl FnOnce(&ReadContext<'_>) -> T) -> T {
    let (disk, reporter) = (crate::disk::TestDisk::default(), ProgressReporter::default());
    run(&ReadContext {
        disk: disk.reader(session.directories()),
        search: None,
        items: None,
        history: None,
        claims: None,
        caller: None,
        session,
        reporter: &reporter,
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::PathBuf;

    use super::*;
    use crate::disk::{PathExists, ReadDirectory, SymlinkPolicy, TreeLocation};

    /// Finds nothing, and counts how often it was asked.
    #[derive(Debug, Default)]
    struct CountingSearch(Cell<usize>);

    impl Search for CountingSearch {
        fn search(&self, _: &SearchRequest, _: &ReadContext<'_>) -> Result<Hits, SearchError> {
            self.0.set(self.0.get() + 1);
            Ok(Hits::default())
        }

        fn reindex(&self, _: &ReindexRequest, _: &ReadContext<'_>) -> Result<ReindexCounts, SearchError> {
            Ok(ReindexCounts::default())
        }

        fn recall(
            &self,
            _: &crate::families::recall::RecallRequest,
            _: &dyn crate::families::recall::ItemLinks,
        ) -> Result<crate::families::recall::RecallHits, SearchError> {
            Ok(crate::families::recall::RecallHits::default())
        }
    }

    /// Runs a need as a call does: inline first, then again where it may block. How often it searched.
    fn check<N: Need>(need: impl Fn(SearchRequest, ReadDirectory) -> N, searches: usize) {
        let home = tempfile::TempDir::new().expect("a temporary directory");
        let place = TreeLocation::Fixed(home.path().to_owned());
        let search = SearchRequest {
            family: "vibe",
            place: place.clone(),
            query: String::new(),
            project: None,
            folder: None,
            limit: 1,
        };
        let listing = ReadDirectory { place, path: None, links: SymlinkPolicy::Refuse };
        let (counting, inline) = (CountingSearch::default(), InlineAttempt::default());
        with_context(&SessionContext::default(), |context| {
            let context = |mode| ReadContext { search: Some(&counting), ..context.with_mode(mode) };
            let need = || need(search.clone(), listing.clone());
            if need().fetch(&context(ReadMode::Inline(&inline))).is_none() {
                assert!(inline.is_refused());
                assert!(need().fetch(&context(ReadMode::Blocking)).is_some());
            }
        });
        assert_eq!(counting.0.get(), searches);
    }

    #[test]
    fn nothing_is_fetched_after_a_refusal() {
        check(|search, _| search, 1);
        check(|search, listing| (listing, search), 1);
        check(|search, listing| (Some(listing), Some(search)), 1);
        check(|search, listing| (CurrentTime, listing, search), 1);
        check(|search, listing| AndThen(listing, |_: &_| search), 1);
        check(|search, listing| (search, listing), 2);
    }

    #[test]
    fn a_combination_costs_as_much_as_its_most_expensive_part() {
        fn cost<N: Need>(_: N) -> Cost {
            N::COST
        }
        let there = || PathExists(PathBuf::from("/"));
        assert_eq!(cost((CurrentTime, Constant(1))), Cost::Free);
        assert_eq!(cost((Constant(1), vec![there()], RandomSeed)), Cost::TryInline);
        assert_eq!(cost(AndThen(Some(there()), |_: &_| None::<ReindexRequest>)), Cost::Blocks);
    }

    #[test]
    fn the_second_need_depends_on_the_first() {
        let there = |path: &str| PathExists(PathBuf::from(path));
        with_context(&SessionContext::default(), |context| {
            let fetch = |first| AndThen(there(first), |is_there: &bool| is_there.then(|| there("/"))).fetch(context);
            assert_eq!((fetch("/"), fetch("/none")), (Some((true, Some(true))), Some((false, None))));
        });
    }
}
