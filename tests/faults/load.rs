//! Hosts that keep calls in flight and book every answer: a lost, doubled or wrong one fails the test.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use serde_json::json;
use trellis_tests::harness::{Client, Home, wait_until};

/// Calls that each host keeps in flight.
pub(crate) const IN_FLIGHT: usize = 6;
/// Files that are read in turn.
const NOTES: u64 = 5;

/// Hosts at work.
pub(crate) struct Load {
    hosts: Vec<Host>,
    stop: Arc<AtomicBool>,
}

struct Host {
    answered: Arc<AtomicU64>,
    thread: JoinHandle<Client>,
}

impl Load {
    /// Lets hosts work in a home whose vault this fills.
    pub(crate) fn start(home: &Home, clients: Vec<Client>) -> Self {
        fill_vault(home);
        let stop = Arc::new(AtomicBool::new(false));
        let host = |client| {
            let (answered, stop) = (Arc::new(AtomicU64::new(0)), Arc::clone(&stop));
            let count = Arc::clone(&answered);
            Host { answered, thread: std::thread::spawn(move || work(client, &stop, &count)) }
        };
        Self { hosts: clients.into_iter().map(host).collect(), stop: Arc::clone(&stop) }
    }

    /// Waits until every host has had at least so many answers more.
    #[track_caller]
    pub(crate) fn go_on(&self, answers: u64) {
        for (host, before) in self.hosts.iter().zip(self.answered()) {
            wait_until("every host is answered", || {
                assert!(!host.thread.is_finished(), "a host has failed");
                (host.answered.load(Ordering::Relaxed) >= before + answers).then_some(())
            });
        }
    }

    /// Answers so far, host by host.
    fn answered(&self) -> Vec<u64> {
        self.hosts.iter().map(|host| host.answered.load(Ordering::Relaxed)).collect()
    }

    /// Lets every host wait for what is due, and no more; returns how many answers there were.
    pub(crate) fn finish(self) -> (Vec<Client>, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let total = self.answered().iter().sum();
        let clients = self.hosts.into_iter().map(|host| host.thread.join().expect("a host without complaint"));
        (clients.collect(), total)
    }
}

/// Files for the hosts to read.
pub(crate) fn fill_vault(home: &Home) {
    for note in 0..NOTES {
        home.write(&format!("vault/{note}.md"), text(note));
    }
}

fn text(note: u64) -> String {
    format!("note {note}\n{}", "a line of text\n".repeat(50))
}

fn work(mut client: Client, stop: &AtomicBool, answered: &AtomicU64) -> Client {
    let mut due = BTreeMap::new();
    let mut turn = 0;
    loop {
        while due.len() < IN_FLIGHT && !stop.load(Ordering::Relaxed) {
            turn += 1;
            let note = turn % NOTES;
            let path = format!("{note}.md");
            let call = if turn % 2 == 0 {
                json!({ "name": "vault_read", "arguments": { "path": path, "full": true } })
            } else {
                json!({ "name": "vault_scan", "arguments": { "path": path } })
            };
            due.insert(client.send("tools/call", call), note);
        }
        if due.is_empty() {
            break;
        }
        let message = client.next_message();
        let id = message["id"].as_u64().unwrap_or_else(|| panic!("not an answer: {message}"));
        let note = due.remove(&id).unwrap_or_else(|| panic!("answered twice, or never asked: {message}"));
        let found = message["result"]["structuredContent"]["text"].as_str();
        let right = found.is_some_and(|found| text(note).starts_with(found) && found.starts_with("note "));
        assert!(right, "not what was asked for: {message}");
        answered.fetch_add(1, Ordering::Relaxed);
    }
    // What comes before the answer to this would be an answer too many.
    let ping = client.send("ping", json!({}));
    let last = client.next_message();
    assert_eq!(last["id"], ping, "an answer too many: {last}");
    client
}
