//! A model of a disk that keeps no order. Real writes are recorded down to the system call; every state that a power
//! cut may leave of them is laid out on a real disk, the next daemon recovers it, and what it says and what is there is
//! compared with what callers were told.
//!
//! `TRELLIS_DISK_MODEL_SECONDS=600` lets the runs by chance go on for so long, and looks closer everywhere;
//! `TRELLIS_SEED` repeats a run.

mod check;
mod crash;
mod image;
mod materialise;
mod recorder;
mod scenarios;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trellisd::disk::syscalls::OsSyscalls;

use self::check::{Recovery, violation};
use self::crash::{CallEvent, CrashPoint, Event, Told, crash_points};
use self::image::{BASE, Image, NodeId, Place};
use self::materialise::materialise;
use self::recorder::{FailingCall, Recorder, Recording};
use self::scenarios::Scenario;
use crate::write_fixture::{TestProject, files};
use crate::writes_load::Rng;

/// A memory disk, if there is one: states are many.
const MEMORY_DISK: &str = "/dev/shm";
/// So many violations are told in full.
const MAX_TOLD: usize = 3;

/// How much of the model is looked at.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// States of one crash point; beyond that some are taken by chance.
    per_point: usize,
    /// Among so many states, one after which the power also goes while it is recovered.
    second_cut_every: usize,
    /// Crash points of such a recovery that are looked at, and states of each.
    second_points: usize,
    per_second_point: usize,
    /// Among so many states, one in which every call is made again.
    again_every: usize,
}

/// For writes of one and two files: every state, whatever the bounds are.
const ALL: usize = 10_000;
/// What `cargo test` takes some seconds for.
const QUICK: Bounds =
    Bounds { per_point: 96, second_cut_every: 8, second_points: 3, per_second_point: 5, again_every: 48 };
/// What is asked for by command.
const THOROUGH: Bounds =
    Bounds { per_point: 256, second_cut_every: 1, second_points: 1000, per_second_point: 32, again_every: 24 };

/// For how long the runs by chance go on, if that is said.
fn seconds() -> Option<u64> {
    std::env::var("TRELLIS_DISK_MODEL_SECONDS").ok()?.parse().ok()
}

fn bounds() -> Bounds {
    if seconds().is_some() { THOROUGH } else { QUICK }
}

/// One scenario in one directory, and what was found.
struct Run<'a> {
    scenario: &'a Scenario,
    test_project: TestProject,
    bounds: Bounds,
    chance: Rng,
    seen: BTreeSet<(u64, Told)>,
    states: usize,
    second_cuts: usize,
    is_complete: bool,
    violations: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, bounds: Bounds, chance: Rng) -> Self {
        let parent = Some(Path::new(MEMORY_DISK)).filter(|path| path.is_dir());
        let test_project = parent.map_or_else(TestProject::new, TestProject::new_in);
        let (seen, violations) = (BTreeSet::new(), Vec::new());
        Self { scenario, test_project, bounds, chance, seen, states: 0, second_cuts: 0, is_complete: true, violations }
    }

    /// Looks at the states of every crash point.
    fn run(mut self) -> Self {
        let recording = self.scenario.record(&self.test_project);
        for point in crash_points(&recording.before, &recording.events) {
            let (fates, is_complete) = point.fates(self.bounds.per_point, &mut self.chance);
            self.is_complete &= is_complete;
            for fates in fates {
                let image = point.image(&fates);
                if self.seen.insert((image.fingerprint(), point.told.clone())) {
                    self.check(&image, &point.told, || point.describe(&fates));
                }
            }
        }
        self
    }

    fn check(&mut self, image: &Image, told: &Told, describe: impl Fn() -> String) {
        self.states += 1;
        materialise(image, self.test_project.base());
        let first = recovered(&self.test_project);
        let second = recovered(&self.test_project);
        let mut found = violation(self.scenario, told, &first);
        // What one daemon would have said, the next one says, too.
        let mut said = told.clone();
        first.applied.iter().for_each(|call| said.hear(*call, CallEvent::Done));
        found = found.or_else(|| violation(self.scenario, &said, &second).map(|why| format!("the second time: {why}")));
        if found.is_none() && self.states.is_multiple_of(self.bounds.again_every) {
            materialise(image, self.test_project.base());
            found = self.made_again(told);
        }
        if found.is_none() && self.states.is_multiple_of(self.bounds.second_cut_every) {
            found = self.cut_while_recovering(image, told);
        }
        if let Some(why) = found {
            self.violations.push(format!("{}: {why}\n  {}", self.scenario.name, describe()));
        }
    }

    /// Every call that was begun comes again: afterwards each has happened once.
    fn made_again(&self, told: &Told) -> Option<String> {
        let fixture = self.test_project.reopen();
        let mut all = Told::default();
        for call in self.scenario.calls.iter().filter(|call| told.begun.contains(&call.sequence)) {
            all.hear(call.sequence, CallEvent::Begun);
            match call.repeat(&fixture) {
                Ok(()) => all.hear(call.sequence, CallEvent::Done),
                Err(failure) if failure.code == "outcome_unknown" => {}
                Err(failure) => return Some(format!("made again, call {} fails: {failure:?}", call.sequence)),
            }
        }
        fixture.close();
        let recovery = recovered(&self.test_project);
        // A call that was refused may well succeed the next time, after those that came later.
        let scenario = Scenario { is_concurrent: true, ..self.scenario.clone() };
        violation(&scenario, &all, &recovery).map(|why| format!("made again: {why}"))
    }

    /// The power goes once more, at any point of the recovery.
    fn cut_while_recovering(&mut self, image: &Image, told: &Told) -> Option<String> {
        materialise(image, self.test_project.base());
        let recorder = Arc::new(Recorder::new(self.test_project.base(), FailingCall::None));
        let (applied, _) = self.test_project.recover(Arc::clone(&recorder) as _);
        applied.iter().for_each(|call| recorder.note(*call, CallEvent::Done));
        let Recording { before, events } = recorder.finish();
        let points = crash_points(&before, &events);
        for point in &points {
            if self.chance.below(points.len() as u64) >= self.bounds.second_points as u64 {
                continue;
            }
            let (fates, _) = point.fates(self.bounds.per_second_point, &mut self.chance);
            for fates in fates {
                materialise(&point.image(&fates), self.test_project.base());
                self.second_cuts += 1;
                let mut told = told.clone();
                told.done.extend(&point.told.done);
                if let Some(why) = violation(self.scenario, &told, &recovered(&self.test_project)) {
                    return Some(format!("cut off while it was recovered, {}: {why}", point.describe(&fates)));
                }
            }
        }
        None
    }
}

/// What the next daemon finds and leaves.
fn recovered(test_project: &TestProject) -> Recovery {
    let (applied, unknown) = test_project.recover(Arc::new(OsSyscalls));
    let (image, _) = materialise::scan(test_project.base());
    let (mut kept, mut temps) = (BTreeSet::new(), Vec::new());
    let mut waiting: Vec<(NodeId, String)> = vec![(BASE, String::new())];
    while let Some((directory, below)) = waiting.pop() {
        for (name, node) in image.names(directory) {
            let path = materialise::join(&below, name);
            match () {
                () if image.is_directory(*node) => waiting.push((*node, path)),
                () if name.ends_with(".vtmp") => temps.push(path),
                () if path.starts_with("state/") => kept.extend(String::from_utf8(image.bytes(*node).to_vec()).ok()),
                () => {}
            }
        }
    }
    Recovery { applied, unknown, files: files(&test_project.tree()), kept: Some(kept), temps }
}

/// Runs each scenario in a thread of its own, and fails with what was found.
fn run_all(scenarios: &[Scenario], bounds: Bounds, seed: u64) -> (usize, usize) {
    let mut violations = Vec::new();
    let (states, second_cuts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let threads: Vec<_> = scenarios
            .iter()
            .zip(seed..)
            .map(|(scenario, seed)| scope.spawn(move || Run::new(scenario, bounds, Rng::seeded(seed)).run()))
            .collect();
        for thread in threads {
            let run = thread.join().expect("a run without complaint");
            let how = if run.is_complete { "all" } else { "some" };
            println!(
                "{}: {} states ({how} there are), {} second cuts, {} violations",
                run.scenario.name,
                run.states,
                run.second_cuts,
                run.violations.len()
            );
            states.fetch_add(run.states, Ordering::Relaxed);
            second_cuts.fetch_add(run.second_cuts, Ordering::Relaxed);
            violations.extend(run.violations);
        }
    });
    let (states, second_cuts) = (states.into_inner(), second_cuts.into_inner());
    println!("in all {states} states, {second_cuts} second cuts, {} violations", violations.len());
    let told = violations.iter().take(MAX_TOLD).cloned().collect::<Vec<_>>().join("\n");
    assert!(violations.is_empty(), "seed {seed}: {} of {states} states:\n{told}", violations.len());
    (states, second_cuts)
}

#[test]
fn r1_every_state_of_a_write_of_one_or_two_files_is_recovered() {
    let (states, _) = run_all(&scenarios::single_writes(), Bounds { per_point: ALL, ..bounds() }, 1);
    assert!(states > 300, "{states} states");
}

#[test]
fn r1_states_of_several_writes_are_recovered() {
    run_all(&scenarios::sequences(), bounds(), Rng::new().below(1 << 32));
}

/// Once in `cargo test`; for as long as the variable says by command.
#[test]
fn r1_states_of_writes_by_chance_are_recovered() {
    let end = Instant::now() + Duration::from_secs(seconds().unwrap_or(0));
    let mut chance = Rng::new();
    let (mut states, mut second_cuts) = (0, 0);
    loop {
        let scenarios: Vec<Scenario> = (0..4).map(|_| scenarios::random(&mut chance)).collect();
        let (more, cuts) = run_all(&scenarios, bounds(), chance.below(1 << 32));
        (states, second_cuts) = (states + more, second_cuts + cuts);
        if Instant::now() >= end {
            break;
        }
    }
    println!("{states} states and {second_cuts} second cuts by chance");
}

/// Somebody has removed a temp file, of whatever state: nothing is said to be done for that, or half done.
#[test]
fn r8_a_temp_file_that_is_gone_proves_nothing() {
    let (mut states, mut violations) = (0, Vec::new());
    for scenario in scenarios::single_writes() {
        let run = Run::new(&scenario, QUICK, Rng::seeded(1));
        let recording = scenario.record(&run.test_project);
        for point in crash_points(&recording.before, &recording.events) {
            let image = point.image(&point.all_whole());
            for place in temps(&image) {
                let mut image = image.clone();
                image.put(&place, None);
                materialise(&image, run.test_project.base());
                states += 1;
                // With a displaced text its temp file was all there was of it.
                let recovery = Recovery { kept: None, ..recovered(&run.test_project) };
                let found = violation(&scenario, &point.told, &recovery);
                let about = format!("{}, {} gone {}", scenario.name, place.1, point.describe(&point.all_whole()));
                violations.extend(found.map(|why| format!("{about}: {why}")));
            }
        }
    }
    println!("{states} states without a temp file, {} violations", violations.len());
    assert!(
        states > 30 && violations.is_empty(),
        "{} of {states}:\n{}",
        violations.len(),
        violations[..violations.len().min(MAX_TOLD)].join("\n")
    );
}

fn temps(image: &Image) -> Vec<Place> {
    let (mut temps, mut waiting) = (Vec::new(), vec![BASE]);
    while let Some(directory) = waiting.pop() {
        for (name, node) in image.names(directory) {
            match image.is_directory(*node) {
                true => waiting.push(*node),
                false if name.ends_with(".vtmp") => temps.push((directory, name.clone())),
                false => {}
            }
        }
    }
    temps
}

/// Bytes in the middle of a log that the disk has lost: the records behind them count, and only the call whose record it
/// was may be forgotten.
#[test]
fn r8_a_damaged_record_hides_no_other() {
    let scenario = &scenarios::sequences()[1];
    let run = Run::new(scenario, QUICK, Rng::seeded(1));
    let recording = scenario.record(&run.test_project);
    let point = CrashPoint::at(&recording.before, &recording.events);
    let whole = point.image(&point.all_whole());
    let records = records(&recording.events);
    assert_eq!(records.len(), scenario.calls.len());
    let mut violations = Vec::new();
    for (call, (file, offset, bytes)) in &records {
        // In its middle, at its end, and all but its frame.
        for (from, to) in [(bytes.len() / 2, bytes.len() / 2 + 1), (bytes.len() - 1, bytes.len()), (16, bytes.len())] {
            let damaged: Vec<u8> = bytes[from..to].iter().map(|byte| !byte).collect();
            let mut image = whole.clone();
            image.write(*file, offset + from, &damaged, u64::MAX);
            materialise(&image, run.test_project.base());
            let mut recovery = recovered(&run.test_project);
            // The call whose record is damaged has happened, whether that is known or not.
            recovery.applied.insert(*call);
            let found = violation(scenario, &all_done(scenario), &recovery);
            violations.extend(found.map(|why| format!("record of call {call} damaged in {from}..{to}: {why}")));
        }
    }
    println!("{} damaged states, {} violations", 3 * records.len(), violations.len());
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

fn all_done(scenario: &Scenario) -> Told {
    let all: BTreeSet<u64> = scenario.calls.iter().map(|call| call.sequence).collect();
    Told { begun: all.clone(), done: all, refused: BTreeSet::new() }
}

type RecordBytes = (NodeId, usize, Vec<u8>);

/// What each call has written into a file that was written before, which only a log is.
fn records(events: &[Event]) -> Vec<(u64, RecordBytes)> {
    let (mut seen, mut records, mut current) = (HashSet::new(), Vec::new(), None);
    for event in events {
        match event {
            Event::Call(call, CallEvent::Begun) => current = Some(*call),
            Event::Call(..) => current = None,
            Event::Data { file, offset, bytes } if !seen.insert(*file) => {
                let call = current.expect("a record belongs to a call");
                records.push((call, (*file, *offset, bytes.to_vec())));
            }
            _ => {}
        }
    }
    records
}
