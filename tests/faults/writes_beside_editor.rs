//! Somebody edits a file by hand while hosts write it: no acknowledged write is lost, and every word of the
//! hand is in the file or in a conflict copy.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use trellis_tests::harness::{Client, Home, wait_until};

use super::exclusive::exclusive;
use super::writes_load::{Rng, leftover_temps};

const HOSTS: usize = 4;
const TIME: Duration = Duration::from_secs(10);
const END_OF_FILE_MARK: &str = "(end)";

/// How a hand writes a line: it may read the file first, and knows nothing of locks.
type EditorStyle = fn(&Path, &str);

/// Opens, thinks for a moment, appends, closes.
fn append(path: &Path, line: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("the file is there");
    std::thread::sleep(Duration::from_millis(line.len() as u64 % 3 * 4));
    file.write_all(format!("{line}\n").as_bytes()).expect("it is written");
}

/// Writes a new file beside and renames it over the old one.
fn rename_over(path: &Path, line: &str) {
    let text = fs::read_to_string(path).expect("the file is there");
    let beside = path.with_extension("swp");
    fs::write(&beside, format!("{text}{line}\n")).expect("it is written");
    fs::rename(&beside, path).expect("it is renamed");
}

/// Reads, empties and writes again.
fn truncate(path: &Path, line: &str) {
    let text = fs::read_to_string(path).expect("the file is there");
    fs::write(path, format!("{text}{line}\n")).expect("it is written");
}

/// What was acknowledged to hosts, what was refused, and what the hand wrote.
struct EditorWrite {
    acknowledged: Vec<String>,
    refused: usize,
    by_hand: Vec<String>,
}

fn write_beside(home: &Home, hand: EditorStyle) -> EditorWrite {
    let path = home.write("vault/note.md", format!("{END_OF_FILE_MARK}\n"));
    let over = AtomicBool::new(false);
    let mut chance = Rng::new();
    let (mut acknowledged, mut refused, mut by_hand) = (Vec::new(), 0, Vec::new());
    std::thread::scope(|scope| {
        let hosts: Vec<_> = (0..HOSTS)
            .map(|host| {
                let (client, over) = (home.host(&["--only", "vault"]), &over);
                scope.spawn(move || mark(client, host, over))
            })
            .collect();
        let end = Instant::now() + TIME;
        while Instant::now() < end {
            let line = format!("[hand {}]", by_hand.len());
            hand(&path, &line);
            by_hand.push(line);
            chance.pause(5, 150);
        }
        over.store(true, Ordering::Relaxed);
        for host in hosts {
            let (done, not) = host.join().expect("a host without complaint");
            acknowledged.extend(done);
            refused += not;
        }
    });
    wait_until("temp files are gone", || {
        let left = leftover_temps(&home.project());
        left.iter().all(|path| path.extension().is_none_or(|extension| extension != "vtmp")).then_some(())
    });
    EditorWrite { acknowledged, refused, by_hand }
}

fn mark(mut client: Client, host: usize, over: &AtomicBool) -> (Vec<String>, usize) {
    let (mut done, mut refused) = (Vec::new(), 0);
    for turn in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let marker = format!("<{host}.{turn}>");
        let replace = format!("{marker}\n{END_OF_FILE_MARK}");
        let result =
            client.call("vault_replace", json!({ "path": "note.md", "find": END_OF_FILE_MARK, "replace": replace }));
        match (result["isError"] == false, &result["structuredContent"]) {
            (true, answer) if answer["replacements"] == 1 => done.push(marker),
            // The hand had just emptied the file: nothing was found, and nothing was written.
            (true, _) => refused += 1,
            (false, answer) => {
                assert_eq!(answer["error"]["details"]["reason"], "busy", "{result}");
                refused += 1;
            }
        }
    }
    (done, refused)
}

fn copies(home: &Home) -> Vec<String> {
    let copies = leftover_temps(&home.project());
    copies.iter().map(|path| fs::read_to_string(path).expect("a copy")).collect()
}

fn check_every_word(name: &str, hand: EditorStyle) {
    let _turn = exclusive();
    let home = Home::new();
    let written = write_beside(&home, hand);
    let text = fs::read_to_string(home.project().join("vault/note.md")).expect("the file is there");
    let copies = copies(&home);
    let EditorWrite { acknowledged, refused, by_hand } = &written;
    println!(
        "{name}: {} writes acknowledged, {refused} refused, {} by hand, {} conflict copies",
        acknowledged.len(),
        by_hand.len(),
        copies.len()
    );
    assert!(acknowledged.len() > 20 && by_hand.len() > 20);
    for line in by_hand {
        let kept = text.contains(line) || copies.iter().any(|copy| copy.contains(line));
        assert!(kept, "{line} is lost");
    }
    for marker in acknowledged {
        assert_eq!(text.matches(marker.as_str()).count(), 1, "{marker} is lost, or there twice");
    }
}

#[test]
fn r4_lines_appended_by_hand_are_never_lost() {
    check_every_word("append", append);
}

/// Whoever reads, thinks and writes back without a look loses what came in between by their own hand; so here
/// only the hand's own words are counted, and that every write was whole.
fn check_own_words(name: &str, hand: EditorStyle) {
    let _turn = exclusive();
    let home = Home::new();
    let written = write_beside(&home, hand);
    let text = fs::read_to_string(home.project().join("vault/note.md")).expect("the file is there");
    let copies = copies(&home);
    let EditorWrite { acknowledged, refused, by_hand } = &written;
    let last = by_hand.last().expect("the hand has written");
    println!(
        "{name}: {} writes acknowledged, {refused} refused, {} by hand, {} conflict copies",
        acknowledged.len(),
        by_hand.len(),
        copies.len()
    );
    let all = || std::iter::once(&text).chain(&copies);
    assert!(all().any(|text| text.contains(last.as_str())), "{last} is lost");
    for marker in acknowledged {
        assert!(text.matches(marker.as_str()).count() <= 1, "{marker} is there twice");
    }
    for line in text.lines() {
        let is_whole =
            line == END_OF_FILE_MARK || (line.starts_with('<') && line.ends_with('>')) || line.starts_with("[hand ");
        assert!(is_whole, "torn: {line:?}");
    }
}

#[test]
fn r4_a_hand_that_renames_over_the_file_keeps_its_words() {
    check_own_words("rename over", rename_over);
}

#[test]
fn r4_a_hand_that_empties_and_writes_again_keeps_its_words() {
    check_own_words("truncate", truncate);
}
