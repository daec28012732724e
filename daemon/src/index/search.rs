//! A search from its words to its hits: waits until the tree is known, finds, ranks, and shows.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::desk::State;
use super::entry::{Entry, TreeId, date_of};
use super::find::{At, Match, Scope, find};
use super::keeper::{Ill, Keeper};
use super::query::Query;
use super::shelf::Snapshot;
use super::snippet::Marker;
use super::stems::Stems;
use super::texts::NoText;
use crate::disk::{Glance, RelativePath};
use crate::families::facts::{Hit, Hits, NoAnswer, SearchFor};

/// How long a search waits for a tree that is being caught up with.
const PATIENCE: Duration = Duration::from_secs(10);
/// Going through more chunks than this takes more than a moment.
const SMALL: u64 = 100_000;
/// How often a search is done again because a file was not what it had been.
const ATTEMPTS: usize = 3;

thread_local! {
    /// Queries of a day are about the same words.
    static STEMS: RefCell<Stems> = RefCell::new(Stems::remembering(2_000));
}

/// So many documents of so many are known; none if all are.
pub type HowFar = Option<(usize, usize)>;

/// Who may see what, and which day it is.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<'a> {
    /// The tree.
    pub tree: TreeId,
    /// Where it is.
    pub root: &'a Path,
    /// Today, where the session is.
    pub today: i32,
}

impl Keeper {
    /// Waits until a tree is known; how far we are with it, if that takes too long.
    pub fn wait_for(&self, family: &str, root: &Path) -> (Option<TreeId>, HowFar) {
        let end = Instant::now() + PATIENCE;
        let mut desk = self.desk.lock();
        loop {
            let tree = desk.find(family, root);
            let state = tree.map(|tree| desk.trees[tree as usize].state);
            let progress = match state {
                Some(State::Ready) => return (tree, None),
                Some(State::CatchingUp(done, total)) => (done, total),
                _ => (0, 0),
            };
            if self.moved.wait_until(&mut desk, end).timed_out() {
                return (tree, Some(progress));
            }
        }
    }

    /// A tree that is known, without waiting, if a search in it takes only a moment.
    pub fn ready(&self, family: &str, root: &Path) -> Option<TreeId> {
        if self.snapshot.load().shelf.chunks > SMALL {
            return None;
        }
        let desk = self.desk.try_lock()?;
        desk.find(family, root).filter(|tree| matches!(desk.trees[*tree as usize].state, State::Ready))
    }

    /// Searches in a tree. A glance sees only texts that are in memory.
    pub fn search(&self, asked: &SearchFor, viewer: Viewer<'_>, glance: Option<&Glance>) -> Result<Hits, NoAnswer> {
        let query = Query::read(&asked.query);
        STEMS.with_borrow_mut(|stems| self.search_with(stems, &query, asked, viewer, glance))
    }

    fn search_with(
        &self,
        stems: &mut Stems,
        query: &Query,
        asked: &SearchFor,
        viewer: Viewer<'_>,
        glance: Option<&Glance>,
    ) -> Result<Hits, NoAnswer> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let snapshot = self.snapshot.load_full();
            let found = self.guarded(|| self.find(&snapshot, query, asked, viewer, stems));
            let mut matches = found.map_err(|Ill(why)| NoAnswer::Index(why))?;
            let total = matches.len();
            let best = best(&mut matches, asked.limit, &snapshot);
            match self.show(&snapshot, &mut Marker::new(query, stems), best, viewer, attempt == ATTEMPTS, glance) {
                Some(hits) => return Ok(Hits { total, hits, rebuilding: None }),
                None if glance.is_some_and(Glance::is_refused) => return Ok(Hits::default()),
                None => continue,
            }
        }
    }

    fn find(
        &self,
        snapshot: &Snapshot,
        query: &Query,
        asked: &SearchFor,
        viewer: Viewer<'_>,
        stems: &mut Stems,
    ) -> Result<Vec<Match>, Ill> {
        let mut scope = Scope { tree: viewer.tree, project: None, folder: None };
        for (wanted, into) in [(&asked.project, &mut scope.project), (&asked.folder, &mut scope.folder)] {
            if let Some(word) = wanted {
                match self.names.find(word) {
                    Some(name) => *into = Some(name),
                    None => return Ok(Vec::new()),
                }
            }
        }
        find(snapshot, query, scope, viewer.today, stems).map_err(|error| Ill(error.to_string()))
    }

    /// The hits with their snippets; none if a file has moved and the search should be done again.
    fn show(
        &self,
        snapshot: &Snapshot,
        marker: &mut Marker<'_>,
        best: &[Match],
        viewer: Viewer<'_>,
        is_last: bool,
        glance: Option<&Glance>,
    ) -> Option<Vec<Hit>> {
        let mut opened = None;
        let mut hits = Vec::with_capacity(best.len());
        for Match { score, at } in best {
            let (entry, chunk) = resolve(snapshot, *at)?;
            let section = entry.sections.get(chunk as usize)?;
            let names = [section.heading, Some(entry.project), Some(entry.folder), entry.kind, entry.status];
            let [heading, project, folder, kind, status] = self.names.words(names);
            let snippet = match at {
                At::Fresh(number, _) => {
                    let content = snapshot.fresh[*number as usize].document.content(section);
                    marker.snippet(content, heading.as_deref())
                }
                At::Shelf(..) => {
                    let root = opened.get_or_insert_with(|| self.roots.open(viewer.root)).as_ref().ok();
                    let content = match root {
                        Some(root) => self.texts.content(entry, chunk, root, glance.is_some()),
                        None => Err(NoText::Moved),
                    };
                    match content {
                        Ok(content) => marker.snippet(&content, heading.as_deref()),
                        Err(_) if let Some(glance) = glance => {
                            glance.refuse();
                            return None;
                        }
                        Err(_) if is_last => String::new(),
                        Err(_) => {
                            self.refresh(viewer.tree, &entry.path, false);
                            return None;
                        }
                    }
                }
            };
            hits.push(Hit {
                path: RelativePath::of_names(&entry.path)?,
                project: project.unwrap_or_default(),
                folder: folder.unwrap_or_default(),
                heading,
                snippet,
                score: f64::from(*score),
                kind,
                status,
                updated: date_of(entry.day),
            });
        }
        Some(hits)
    }
}

fn resolve(snapshot: &Snapshot, at: At) -> Option<(&Arc<Entry>, u32)> {
    match at {
        At::Shelf(segment, doc) => snapshot.shelf.entry(segment, doc),
        At::Fresh(number, chunk) => Some((&snapshot.fresh[number as usize].entry, chunk)),
    }
}

/// The best of all matches, best first; equal ones by path, then by their order in the file.
fn best<'a>(matches: &'a mut [Match], limit: usize, snapshot: &Snapshot) -> &'a [Match] {
    let place = |found: &Match| resolve(snapshot, found.at).map(|(entry, chunk)| (&*entry.path, chunk));
    let by_score = |a: &Match, b: &Match| b.score.total_cmp(&a.score);
    let by_place = |a: &Match, b: &Match| place(a).cmp(&place(b));
    let limit = limit.min(matches.len());
    if limit == 0 {
        return &[];
    }
    if limit < matches.len() {
        // Looking up a path costs far more than comparing numbers: only those that are as good as the last one are asked.
        let last = matches.select_nth_unstable_by(limit - 1, by_score).1.score;
        let ahead = partition(matches, |found| found.score.total_cmp(&last) == Ordering::Greater);
        let equal = partition(&mut matches[ahead..], |found| found.score.total_cmp(&last) == Ordering::Equal);
        let equals = &mut matches[ahead..ahead + equal];
        let wanted = limit - ahead;
        if wanted < equal {
            let mut places: Vec<_> = equals.iter().map(|found| (place(found), *found)).collect();
            places.select_nth_unstable_by(wanted - 1, |(a, _), (b, _)| a.cmp(b));
            equals.iter_mut().zip(places).take(wanted).for_each(|(kept, (_, found))| *kept = found);
        }
    }
    let best = &mut matches[..limit];
    best.sort_unstable_by(|a, b| by_score(a, b).then_with(|| by_place(a, b)));
    best
}

/// Puts those that are so in front; how many they are.
fn partition<T>(all: &mut [T], is_so: impl Fn(&T) -> bool) -> usize {
    let mut front = 0;
    for at in 0..all.len() {
        if is_so(&all[at]) {
            all.swap(front, at);
            front += 1;
        }
    }
    front
}
