//! What a disk that keeps no order may hold after a power cut. A history of events goes in; at each point of it, the
//! images that the disk may hold come out.
//!
//! What was flushed is there. Of everything else any part may be there: names that were given, taken or exchanged, each
//! call whole or not at all and in no order; and bytes, which may be missing, zeros, or there in one half.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::image::{Image, Node, NodeId, Place};
use crate::writes_load::Rng;

/// One thing that happened, in the order in which it did.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// The next node, without a name.
    Made(Node),
    /// One system call that changes names.
    Names(Vec<(Place, Option<NodeId>)>),
    Data {
        file: NodeId,
        offset: usize,
        bytes: Arc<Vec<u8>>,
    },
    SyncFile(NodeId),
    SyncDirectory(NodeId),
    /// Names and contents of ours that did not change through the recorded calls: in one step, and flushed.
    Outside(Vec<OutsideChange>),
    /// A call of a client.
    Call(u64, CallEvent),
}

#[derive(Debug, Clone)]
pub(crate) enum OutsideChange {
    Name(Place, Option<NodeId>),
    Content(NodeId, Arc<Vec<u8>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEvent {
    Begun,
    /// The caller was told that it is done.
    Done,
    /// The caller was told that nothing was done.
    Refused,
}

/// What has become of an event that was not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    /// The file is long enough, its bytes were never written.
    Zeros,
    FirstHalf,
    LastHalf,
    Whole,
}

/// What callers knew when the power went.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Told {
    pub(crate) begun: BTreeSet<u64>,
    pub(crate) done: BTreeSet<u64>,
    pub(crate) refused: BTreeSet<u64>,
}

/// A moment at which the power may go.
#[derive(Debug)]
pub(crate) struct CrashPoint<'a> {
    before: &'a Image,
    events: &'a [Event],
    /// Events whose fate is open.
    pending: Vec<usize>,
    pub(crate) told: Told,
}

/// Every moment that differs from others: right before something is flushed or told, and the end. What may be on the
/// disk between two of them may be there at the later one, too.
pub(crate) fn crash_points<'a>(before: &'a Image, events: &'a [Event]) -> Vec<CrashPoint<'a>> {
    let adds_nothing = |event: &Event| matches!(event, Event::Made(_) | Event::Names(_) | Event::Data { .. });
    let is_point = |end: &usize| events.get(*end).is_none_or(|event| !adds_nothing(event));
    (0..=events.len()).filter(is_point).map(|end| CrashPoint::at(before, &events[..end])).collect()
}

impl<'a> CrashPoint<'a> {
    pub(crate) fn at(before: &'a Image, events: &'a [Event]) -> Self {
        let mut told = Told::default();
        let mut pending: Vec<usize> = Vec::new();
        for (number, event) in events.iter().enumerate() {
            match event {
                Event::Names(_) | Event::Data { .. } => pending.push(number),
                Event::SyncFile(synced) => {
                    pending.retain(|number| !matches!(&events[*number], Event::Data { file, .. } if file == synced));
                }
                // A call that changes two directories is one step: flushed with either of them.
                Event::SyncDirectory(synced) => pending.retain(|number| {
                    let is_in = |((directory, _), _): &(Place, _)| directory == synced;
                    !matches!(&events[*number], Event::Names(changes) if changes.iter().any(is_in))
                }),
                Event::Call(call, what) => told.hear(*call, *what),
                Event::Made(_) | Event::Outside(_) => {}
            }
        }
        Self { before, events, pending, told }
    }

    /// What the disk holds if the pending events had these fates; the others are whole.
    pub(crate) fn image(&self, fates: &[Fate]) -> Image {
        let mut image = self.before.clone();
        for (number, event) in self.events.iter().enumerate() {
            let place = self.pending.iter().position(|pending| *pending == number);
            apply(&mut image, event, number, place.map_or(Fate::Whole, |place| fates[place]));
        }
        image
    }

    /// Nothing was lost.
    pub(crate) fn all_whole(&self) -> Vec<Fate> {
        vec![Fate::Whole; self.pending.len()]
    }

    /// Fates of all pending events: all there are if they are at most `limit`, else the outermost and some by chance.
    /// Also whether these are all.
    pub(crate) fn fates(&self, limit: usize, chance: &mut Rng) -> (Vec<Vec<Fate>>, bool) {
        let choices: Vec<&[Fate]> = self.pending.iter().map(|number| possible(&self.events[*number])).collect();
        let count = choices.iter().try_fold(1_usize, |count, choices| count.checked_mul(choices.len()));
        if let Some(count) = count.filter(|count| *count <= limit) {
            return ((0..count).map(|number| nth(&choices, number)).collect(), true);
        }
        let mut all = vec![vec![Fate::Lost; choices.len()], vec![Fate::Whole; choices.len()]];
        for place in 0..choices.len() {
            for (one, others) in [(Fate::Lost, Fate::Whole), (Fate::Whole, Fate::Lost)] {
                all.push((0..choices.len()).map(|other| if other == place { one } else { others }).collect());
            }
        }
        let mut any = |choices: &&[Fate]| choices[chance.below(choices.len() as u64) as usize];
        while all.len() < limit {
            all.push(choices.iter().map(&mut any).collect());
        }
        (all, false)
    }

    /// The pending events and their fates, for people.
    pub(crate) fn describe(&self, fates: &[Fate]) -> String {
        let one = |(number, fate): (&usize, &Fate)| match &self.events[*number] {
            Event::Data { file, offset, bytes } => {
                format!("\n  {fate:?}: {} bytes at {offset} of node {file}", bytes.len())
            }
            Event::Names(changes) => format!("\n  {fate:?}: {changes:?}"),
            other => format!("\n  {fate:?}: {other:?}"),
        };
        let pending: String = self.pending.iter().zip(fates).map(one).collect();
        format!("after {} events, told {:?}{pending}", self.events.len(), self.told)
    }
}

impl Told {
    pub(crate) fn hear(&mut self, call: u64, what: CallEvent) {
        match what {
            CallEvent::Begun => self.begun.insert(call),
            CallEvent::Done => self.done.insert(call),
            CallEvent::Refused => self.refused.insert(call),
        };
    }
}

/// Lets an event happen, as far as its fate says.
pub(crate) fn apply(image: &mut Image, event: &Event, number: usize, fate: Fate) {
    match event {
        Event::Made(node) => drop(image.add(node.clone())),
        Event::Names(changes) if fate == Fate::Whole => {
            changes.iter().for_each(|(place, node)| image.put(place, *node));
        }
        Event::Data { file, offset, bytes } => {
            let half = bytes.len() / 2;
            let (from, part) = match fate {
                Fate::Lost => return,
                Fate::Zeros => (0, vec![0; bytes.len()]),
                Fate::FirstHalf => (0, bytes[..half].to_vec()),
                Fate::LastHalf => (half, bytes[half..].to_vec()),
                Fate::Whole => (0, bytes.to_vec()),
            };
            image.write(*file, offset + from, &part, (number * 8) as u64 + fate as u64);
        }
        Event::Outside(changes) => {
            for change in changes {
                match change {
                    OutsideChange::Name(place, node) => image.put(place, *node),
                    OutsideChange::Content(file, bytes) => image.replace(*file, bytes, (number * 8) as u64),
                }
            }
        }
        Event::Names(_) | Event::SyncFile(_) | Event::SyncDirectory(_) | Event::Call(..) => {}
    }
}

fn possible(event: &Event) -> &'static [Fate] {
    match event {
        Event::Data { .. } => &[Fate::Lost, Fate::Zeros, Fate::FirstHalf, Fate::LastHalf, Fate::Whole],
        _ => &[Fate::Lost, Fate::Whole],
    }
}

/// The `number`-th of all combinations.
fn nth(choices: &[&[Fate]], mut number: usize) -> Vec<Fate> {
    let digit = |choices: &&[Fate]| {
        let fate = choices[number % choices.len()];
        number /= choices.len();
        fate
    };
    choices.iter().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::image::BASE;
    use super::*;

    /// A file is written beside another and renamed over it, with these flushes in between.
    fn contents(syncs_file: bool, syncs_directory: bool) -> BTreeSet<String> {
        let mut before = Image::default();
        let old = before.add(Node::File(Arc::new(b"old!".to_vec())));
        let place = |name: &str| (BASE, name.to_owned());
        before.put(&place("file"), Some(old));
        let new = 2;
        let mut events = vec![
            Event::Made(Node::empty_file()),
            Event::Names(vec![(place("temp"), Some(new))]),
            Event::Data { file: new, offset: 0, bytes: Arc::new(b"new!".to_vec()) },
        ];
        events.extend(syncs_file.then_some(Event::SyncFile(new)));
        events.push(Event::Names(vec![(place("temp"), None), (place("file"), Some(new))]));
        events.extend(syncs_directory.then_some(Event::SyncDirectory(BASE)));
        let point = CrashPoint::at(&before, &events);
        let (fates, is_complete) = point.fates(1000, &mut Rng::seeded(1));
        assert!(is_complete);
        let content = |fates: &Vec<Fate>| {
            let image = point.image(fates);
            let file = image.at(&place("file")).expect("a file");
            String::from_utf8_lossy(image.bytes(file)).into_owned()
        };
        fates.iter().map(content).collect()
    }

    #[test]
    fn what_is_flushed_is_there_and_nothing_else_is_sure() {
        let set = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(contents(true, true), set(&["new!"]));
        assert_eq!(contents(true, false), set(&["new!", "old!"]));
        assert_eq!(contents(false, true), set(&["new!", "", "\0\0\0\0", "ne", "\0\0w!"]));
        assert_eq!(contents(false, false), set(&["new!", "old!", "", "\0\0\0\0", "ne", "\0\0w!"]));
    }

    #[test]
    fn many_fates_are_taken_by_chance_and_with_them_the_outermost() {
        let before = Image::default();
        let events: Vec<Event> =
            (0..20).map(|number| Event::Names(vec![((BASE, format!("{number}")), None)])).collect();
        let (fates, is_complete) = CrashPoint::at(&before, &events).fates(100, &mut Rng::seeded(1));
        assert_eq!((fates.len(), is_complete), (100, false));
        assert!(fates.contains(&vec![Fate::Lost; 20]) && fates.contains(&vec![Fate::Whole; 20]));
    }

    #[test]
    fn a_point_knows_what_was_told() {
        let before = Image::default();
        let events = [
            Event::Call(1, CallEvent::Begun),
            Event::Names(vec![((BASE, "a".into()), None)]),
            Event::Call(1, CallEvent::Done),
        ];
        let points = crash_points(&before, &events);
        let told: Vec<_> = points.iter().map(|point| (point.told.begun.len(), point.told.done.len())).collect();
        assert_eq!(told, [(0, 0), (1, 0), (1, 1)]);
    }
}
