//! A query and everything that can be found → the chunks that match, each with its score.
//!
//! All that was asked for must be there; if nothing has all of it, as much as possible counts. The main index and
//! fresh documents are searched by the same rules.

use std::io;

use super::cursor::{Cursor, Found, intersect, shade_factor};
use super::entry::TreeId;
use super::names::Name;
use super::overlay::{Fresh, Where, hash};
use super::plan::{Leaf, Reach, Shade, What, plan};
use super::query::Query;
use super::rank::{Statistics, completeness, recency};
use super::shelf::{GONE, Seat, Segment, Snapshot, Spot};
use super::stems::Stems;

/// Which documents a search may see.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// Of this tree.
    pub tree: TreeId,
    /// Only of this project.
    pub project: Option<Name>,
    /// Only of this folder.
    pub folder: Option<Name>,
}

/// A chunk that matches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Higher is better.
    pub score: f32,
    /// Which chunk.
    pub at: At,
}

/// Which chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// In the main index: segment and chunk in it.
    Shelf(u32, u32),
    /// Among fresh documents: document and chunk of it.
    Fresh(u32, u32),
}

/// How much of a query must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    All,
    Any,
}

impl Scope {
    fn has(&self, seat: &Seat) -> bool {
        seat.tree == self.tree
            && self.project.is_none_or(|project| project == seat.project)
            && self.folder.is_none_or(|folder| folder == seat.folder)
    }
}

/// Everything that matches, in no order.
pub fn find(snapshot: &Snapshot, query: &Query, scope: Scope, today: i32, stems: &mut Stems) -> io::Result<Vec<Match>> {
    if query.wanted.is_empty() {
        return Ok(Vec::new());
    }
    let fresh = |count: fn(&Fresh) -> u64| snapshot.fresh.iter().map(|fresh| count(fresh)).sum::<u64>();
    let chunks = snapshot.shelf.chunks + fresh(|fresh| fresh.chunks() as u64);
    let statistics = Statistics::new(chunks, snapshot.shelf.pieces + fresh(|fresh| fresh.pieces));
    let mut wanted = Vec::with_capacity(query.wanted.len());
    for group in &query.wanted {
        wanted.push(plan(group, Reach::Related, snapshot, &statistics, stems)?);
    }
    let unwanted = plan(&query.unwanted, Reach::Exact, snapshot, &statistics, stems)?;
    let search = Search { snapshot, scope, today, statistics: &statistics, wanted: &wanted, unwanted: &unwanted };
    let found = search.run(Mode::All)?;
    if found.is_empty() && wanted.len() > 1 { search.run(Mode::Any) } else { Ok(found) }
}

struct Search<'a> {
    snapshot: &'a Snapshot,
    scope: Scope,
    today: i32,
    statistics: &'a Statistics,
    wanted: &'a [Vec<Leaf>],
    unwanted: &'a [Leaf],
}

impl Search<'_> {
    fn run(&self, mode: Mode) -> io::Result<Vec<Match>> {
        let mut matches = Vec::new();
        for (number, segment) in self.snapshot.shelf.segments.iter().enumerate() {
            let found = match mode {
                Mode::All => self.all_in(number, segment)?,
                Mode::Any => self.any_in(number, segment)?,
            };
            matches.reserve(found.len());
            for (doc, worth, groups) in found {
                let Spot { slot, boost } = segment.spots[doc as usize];
                let score = worth * boost * recency(self.today, self.snapshot.shelf.seats[slot as usize].day);
                let score = score * self.completeness(mode, groups);
                matches.push(Match { score, at: At::Shelf(number as u32, doc) });
            }
        }
        for (number, fresh) in self.snapshot.fresh.iter().enumerate() {
            if self.scope.has(&Seat::of(&fresh.entry)) {
                self.fresh(mode, number as u32, fresh, &mut matches);
            }
        }
        Ok(matches)
    }

    fn completeness(&self, mode: Mode, groups: u32) -> f32 {
        if mode == Mode::All { 1.0 } else { completeness(groups as usize, self.wanted.len()) }
    }

    fn may(&self, segment: &Segment, doc: u32) -> bool {
        let slot = segment.spots[doc as usize].slot;
        slot != GONE
            && self.snapshot.shelf.seats.get(slot as usize).is_some_and(|seat| self.scope.has(seat))
            && !self.snapshot.masked.has(slot)
    }

    fn cursors<'a>(&'a self, leaves: &'a [Leaf], number: usize, segment: &'a Segment) -> io::Result<Vec<Cursor<'a>>> {
        let open = leaves.iter().map(|leaf| Cursor::open(leaf, number, segment, self.statistics));
        open.filter_map(io::Result::transpose).collect()
    }

    /// Begins with the group that the fewest chunks have; the others are only asked about those.
    fn all_in(&self, number: usize, segment: &Segment) -> io::Result<Vec<Found>> {
        let mut groups = Vec::with_capacity(self.wanted.len());
        for leaves in self.wanted {
            let cursors = self.cursors(leaves, number, segment)?;
            if cursors.is_empty() {
                return Ok(Vec::new());
            }
            groups.push(cursors);
        }
        groups.sort_by_key(|cursors| cursors.iter().map(|cursor| u64::from(cursor.size())).sum::<u64>());
        let mut groups = groups.into_iter();
        let mut found = self.group(groups.next().unwrap_or_default(), segment);
        for mut cursors in groups {
            found.retain_mut(|(doc, worth, _)| {
                let more = cursors.iter_mut().map(|cursor| cursor.at(*doc)).sum::<f32>();
                *worth += more;
                more > 0.0
            });
        }
        self.without_unwanted(found, number, segment)
    }

    fn any_in(&self, number: usize, segment: &Segment) -> io::Result<Vec<Found>> {
        let mut found: Vec<Found> = Vec::new();
        for leaves in self.wanted {
            found.append(&mut self.group(self.cursors(leaves, number, segment)?, segment));
        }
        unite(&mut found, |kept, more| kept + more);
        self.without_unwanted(found, number, segment)
    }

    /// All chunks of a group that may be seen, in order.
    fn group(&self, cursors: Vec<Cursor<'_>>, segment: &Segment) -> Vec<Found> {
        let may = |doc| self.may(segment, doc);
        let mut found = Vec::with_capacity(cursors.iter().map(|cursor| cursor.size() as usize).sum());
        let lists = cursors.len();
        cursors.into_iter().for_each(|cursor| cursor.all(&may, &mut found));
        if lists > 1 {
            unite(&mut found, u32::max);
        }
        found.retain(|(doc, ..)| may(*doc));
        found
    }

    fn without_unwanted(&self, mut found: Vec<Found>, number: usize, segment: &Segment) -> io::Result<Vec<Found>> {
        for mut cursor in self.cursors(self.unwanted, number, segment)? {
            found.retain(|(doc, ..)| cursor.at(*doc) == 0.0);
        }
        Ok(found)
    }

    fn fresh(&self, mode: Mode, number: u32, fresh: &Fresh, matches: &mut Vec<Match>) {
        let mut totals = vec![(0.0_f32, 0_u32); fresh.chunks()];
        let mut worths = vec![0.0_f32; fresh.chunks()];
        for leaves in self.wanted {
            worths.fill(0.0);
            leaves.iter().for_each(|leaf| self.in_fresh(leaf, fresh, &mut worths));
            if mode == Mode::All && worths.iter().all(|worth| *worth == 0.0) {
                return;
            }
            for (total, worth) in totals.iter_mut().zip(&worths).filter(|(_, worth)| **worth > 0.0) {
                *total = (total.0 + worth, total.1 + 1);
            }
        }
        worths.fill(0.0);
        self.unwanted.iter().for_each(|leaf| self.in_fresh(leaf, fresh, &mut worths));
        let needed = if mode == Mode::All { self.wanted.len() as u32 } else { 1 };
        for (chunk, (worth, groups)) in totals.into_iter().enumerate() {
            if groups >= needed && worths[chunk] == 0.0 {
                let recency = recency(self.today, fresh.entry.day);
                let score = worth * fresh.entry.sections[chunk].boost * recency * self.completeness(mode, groups);
                matches.push(Match { score, at: At::Fresh(number, chunk as u32) });
            }
        }
    }

    /// Adds what a leaf is worth in each chunk of a fresh document.
    fn in_fresh(&self, leaf: &Leaf, fresh: &Fresh, worths: &mut [f32]) {
        let mut add = |chunk: usize, often: u32, factor: f32| {
            let worth = match leaf.place {
                Where::Names => Statistics::worth_in_name(often as f32),
                _ => self.statistics.worth(often as f32, fresh.norm(chunk)),
            };
            worths[chunk] += leaf.worth * worth * factor;
        };
        let mut add_all = |places: &[(u32, u32)], shaded: &dyn Fn(u32) -> u32| {
            for places in places.chunk_by(|a, b| a.0 == b.0) {
                let often = places.len() as u32;
                match leaf.place {
                    Where::Names => (0..fresh.chunks()).for_each(|chunk| add(chunk, often, 1.0)),
                    _ => add(places[0].0 as usize, often, shade_factor(&leaf.what, often, shaded(places[0].0))),
                }
            }
        };
        match &leaf.what {
            What::Term(term, shade) => {
                let shades = match shade {
                    Some(Shade::Spelt(term) | Shade::Plain(term)) => {
                        fresh.places(Where::Shades, hash(Where::Shades, &[term]))
                    }
                    None => &[],
                };
                let shaded = |chunk: u32| shades.iter().filter(|(there, _)| *there == chunk).count() as u32;
                add_all(fresh.places(leaf.place, hash(leaf.place, &[term])), &shaded);
            }
            What::Beginning(prefix) => add_all(&gather(fresh.beginning(leaf.place, prefix)), &|_| 0),
            What::Phrase(parts, open) => add_all(&phrase(leaf.place, fresh, parts, *open), &|_| 0),
        }
    }
}

/// All places of several terms, in order.
fn gather<'a>(terms: impl Iterator<Item = &'a [(u32, u32)]>) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = terms.flatten().copied().collect();
    all.sort_unstable();
    all
}

/// Where a phrase is, by the place of its last part.
fn phrase(place: Where, fresh: &Fresh, parts: &[(u32, String)], open: bool) -> Vec<(u32, u32)> {
    let last = parts.iter().map(|(distance, _)| *distance).max().unwrap_or(0);
    let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
    for (number, (distance, part)) in parts.iter().enumerate() {
        let places = match open && number + 1 == parts.len() {
            true => gather(fresh.beginning(place, part)),
            false => fresh.places(place, hash(place, &[part])).to_vec(),
        };
        let chunks = places.chunk_by(|a, b| a.0 == b.0);
        let here = chunks.map(|places| (places[0].0, places.iter().map(|(_, at)| at + last - distance).collect()));
        if number == 0 {
            found = here.collect();
            continue;
        }
        let here: Vec<(u32, Vec<u32>)> = here.collect();
        found.retain_mut(|(chunk, positions)| match here.iter().find(|(there, _)| there == chunk) {
            Some((_, other)) => {
                intersect(positions, other);
                !positions.is_empty()
            }
            None => false,
        });
    }
    found.into_iter().flat_map(|(chunk, positions)| positions.into_iter().map(move |at| (chunk, at))).collect()
}

/// Several lists in order, one behind the other, become one; what is in more than one of them is added up, first ones
/// first.
fn unite(found: &mut Vec<Found>, groups: impl Fn(u32, u32) -> u32) {
    found.sort_by_key(|(doc, ..)| *doc);
    found.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            *kept = (kept.0, kept.1 + next.1, groups(kept.2, next.2));
        }
        same
    });
}
