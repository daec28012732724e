//! Whatever happens to the index, it heals, and no file of the user is touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};
use trellis_tests::notes;

const NOTES: usize = 150;

fn home() -> Home {
    let home = Home::with_fixtures().with(notes::NOTES_VARIABLE, "1");
    for number in 0..NOTES {
        home.write(&format!("notes/p/n{number}.md"), format!("# Note {number}\nalpha number{number}\n## More\nbeta\n"));
    }
    home
}

fn host(home: &Home) -> Client {
    home.host(&["--only", "notes"])
}

#[track_caller]
fn is_whole(host: &mut Client, about: &str) {
    let mut total = |query: &str| {
        let found = host.call_ok("find", json!({ "query": query }));
        assert_eq!(found["rebuilding"], Value::Null, "{about}");
        found["total"].as_u64().expect("a number")
    };
    assert_eq!(total("alpha"), NOTES as u64, "{about}");
    assert_eq!(total("beta note"), NOTES as u64, "{about}");
    assert_eq!(total("number77"), 1, "{about}");
}

fn stop(home: &Home) {
    for pid in home.daemons() {
        let pid = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    wait_until("the daemon is gone", || home.daemons().is_empty().then_some(()));
}

/// Every file of the index, from its directory.
fn index_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).expect("a directory").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            if path.is_dir() { waiting.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

fn notes(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    let directory = home.project().join("notes/p");
    let files = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    files.map(|path| (path.clone(), fs::read(&path).expect("a note"))).collect()
}

#[test]
fn every_file_of_the_index_may_be_damaged() {
    let home = home();
    let before = notes(&home);
    let directory = home.paths().cache.join("index");
    is_whole(&mut host(&home), "at first");
    stop(&home);
    let mut number = 0;
    loop {
        let files = index_files(&directory);
        assert!(files.len() > 5, "{files:?}");
        let Some(file) = files.get(number / 3) else { break };
        let bytes = fs::read(file).expect("a file of the index");
        match number % 3 {
            0 => fs::write(file, &bytes[..bytes.len() / 2]).expect("cut off"),
            1 => {
                let middle = bytes.len() / 2;
                let scribbled: Vec<u8> = bytes
                    .iter()
                    .enumerate()
                    .map(|(at, byte)| if at.abs_diff(middle) < 8 { byte ^ 0x5a } else { *byte })
                    .collect();
                fs::write(file, scribbled).expect("scribbled");
            }
            _ => fs::remove_file(file).expect("removed"),
        }
        let mut client = host(&home);
        is_whole(&mut client, &format!("damage {} of {}", number % 3, file.display()));
        drop(client);
        stop(&home);
        number += 1;
    }
    assert!(number >= 15, "{number} damages");
    assert_eq!(notes(&home), before, "no note was touched");
}

#[test]
fn an_index_that_is_removed_under_a_running_daemon() {
    let home = home();
    let mut client = host(&home);
    is_whole(&mut client, "at first");
    fs::remove_dir_all(home.paths().cache.join("index")).expect("removed");
    is_whole(&mut client, "without its files");
    // The next fold finds that they are gone, and everything is read again.
    for number in 0..100 {
        client.call_ok("note", json!({ "path": format!("q/w{number}.md"), "text": format!("gamma{number}\n") }));
    }
    wait_until("it is built anew", || home.paths().cache.join("index/current").exists().then_some(()));
    is_whole(&mut client, "after it was built anew");
    assert_eq!(client.call_ok("find", json!({ "query": "gamma99" }))["total"], 1);
    drop(client);
    stop(&home);
    let mut client = host(&home);
    is_whole(&mut client, "the next day");
    assert_eq!(client.call_ok("find", json!({ "query": "gamma99" }))["total"], 1);
}

#[test]
fn killed_while_it_is_built() {
    let home = home();
    for round in 0..8 {
        let client = host(&home);
        std::thread::sleep(std::time::Duration::from_millis(round * 17));
        home.daemons().into_iter().for_each(|pid| home.kill(pid));
        drop(client);
    }
    // A proxy that lost its daemon may have started another one before its host left.
    wait_until("no daemon is left", || {
        let left = home.daemons();
        left.iter().for_each(|pid| home.kill(*pid));
        left.is_empty().then_some(())
    });
    is_whole(&mut host(&home), "after all that");
}

#[test]
fn a_cache_that_cannot_be_written() {
    let home = home();
    fs::create_dir_all(home.paths().cache.parent().expect("a parent")).expect("a directory");
    fs::create_dir_all(&home.paths().cache).expect("a directory");
    fs::write(home.paths().cache.join("index"), "in the way").expect("a file");
    let mut client = host(&home);
    is_whole(&mut client, "in memory alone");
    client.call_ok("note", json!({ "path": "q/new.md", "text": "delta\n" }));
    assert_eq!(client.call_ok("find", json!({ "query": "delta" }))["total"], 1);
    let status = home.status().expect("a daemon");
    assert!(status["warnings"].to_string().contains("kept in memory alone"), "{status}");
}
