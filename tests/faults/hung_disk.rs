//! A disk that hangs, crawls or fails: whoever uses it is told so, and nobody else notices.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home, wait_until};
use trellis_tests::stalling_disk::{Fault, Operation, StallingDisk};

use super::exclusive::exclusive;

/// Calls of a sample: enough for a 99th percentile.
const CALLS: usize = 300;
/// Hosts that use the disk that hangs, each with as many calls as it may have at once.
const VICTIMS: usize = 10;
const CALLS_PER_VICTIM: usize = 4;

/// A home with a vault on a disk that can be told to hang.
struct Ground {
    disk: StallingDisk,
    home: Home,
}

impl Ground {
    /// None where this system has no such disks.
    fn new() -> Option<Self> {
        let home = Home::new();
        let (mount_point, backing) = (home.path().join("disk"), home.path().join("backing"));
        for directory in [&mount_point, &backing, &home.project().join("vault"), &home.path().join(".vibe/p/tasks")] {
            fs::create_dir_all(directory).expect("a directory");
        }
        fs::write(backing.join("far.md"), "far").expect("a file");
        home.write("vault/near.md", "near");
        let disk = StallingDisk::mount(&mount_point, &backing)?;
        Some(Self { disk, home })
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("disk")
    }

    /// A host whose vault is on the disk.
    fn victim(&self) -> Client {
        let mut command = self.home.proxy(&[]);
        command.env("VAULT_ROOT", self.root());
        let mut client = Client::start(command);
        client.initialize("2025-11-25");
        client
    }

    /// What `status` says of the disk's tree.
    fn state(&self) -> Option<Value> {
        let root = self.root().display().to_string();
        let status = self.home.status()?;
        status["roots"].as_array()?.iter().find(|tree| tree["path"] == root.as_str()).cloned()
    }

    fn wait_for_state(&self, state: &str) -> Value {
        wait_until(state, || self.state().filter(|tree| tree["state"] == state))
    }
}

fn read_far() -> Value {
    json!({ "path": "far.md", "full": true })
}

/// The 99th percentile of calls that read and write elsewhere.
fn p99_elsewhere(client: &mut Client, round: usize) -> Duration {
    let mut times = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let began = Instant::now();
        match number % 3 {
            0 => client.call_ok("vault_read", json!({ "path": "near.md", "full": true })),
            1 => client.call_ok("vault_ls", json!({})),
            _ => {
                let path = format!("{round}/{number}.md");
                client.call_ok("vault_create", json!({ "path": path, "content": "text" }))
            }
        };
        times.push(began.elapsed());
    }
    times.sort();
    times[CALLS * 99 / 100]
}

/// How long it takes until a search finds what was saved by hand just before; the worst of several.
fn outside_edit_found_in(home: &Home, client: &mut Client, round: usize) -> Duration {
    let found = |number: usize| {
        let word = format!("wombat{round}x{number}");
        fs::write(home.path().join(format!(".vibe/p/tasks/{word}.md")), format!("# {word}\n")).expect("a file");
        let began = Instant::now();
        let hits = client.call_ok("vibe_search", json!({ "query": word }));
        assert!(hits.to_string().contains(&format!("{word}.md")), "{hits}");
        began.elapsed()
    };
    (0..20).map(found).max().expect("a time")
}

#[test]
fn a_hung_disk_costs_only_those_who_use_it() {
    let _alone = exclusive();
    let Some(ground) = Ground::new() else { return };
    let mut elsewhere = ground.home.host(&[]);
    elsewhere.call_ok("vibe_search", json!({ "query": "nothing" }));
    p99_elsewhere(&mut elsewhere, 0);
    let (calls, edits) = (p99_elsewhere(&mut elsewhere, 1), outside_edit_found_in(&ground.home, &mut elsewhere, 1));
    let mut victims: Vec<Client> = (0..VICTIMS).map(|_| ground.victim()).collect();
    for victim in &mut victims {
        assert_eq!(victim.call_ok("vault_read", read_far())["text"], "far");
    }
    ground.wait_for_state("watched");

    ground.disk.hang();
    let asked = Instant::now();
    let request = json!({ "name": "vault_read", "arguments": read_far() });
    let stuck: Vec<Vec<u64>> = victims
        .iter_mut()
        .map(|victim| (0..CALLS_PER_VICTIM).map(|_| victim.send("tools/call", request.clone())).collect())
        .collect();
    // At once, before anybody knows that it hangs; and later, when everybody does.
    for round in [2, 3] {
        let (calls_now, edits_now) =
            (p99_elsewhere(&mut elsewhere, round), outside_edit_found_in(&ground.home, &mut elsewhere, round));
        println!("p99 of calls elsewhere: {calls:?} without, {calls_now:?} with a hung disk ({round})");
        println!("worst outside edit elsewhere: {edits:?} without, {edits_now:?} with a hung disk ({round})");
        assert!(calls_now <= (2 * calls).max(Duration::from_millis(20)), "{calls_now:?} instead of {calls:?}");
        assert!(edits_now <= Duration::from_millis(50), "{edits_now:?}");
        if round == 2 {
            for (victim, requests) in victims.iter_mut().zip(&stuck) {
                for request in requests {
                    let answer = victim.answer(*request);
                    let error = &answer["result"]["structuredContent"];
                    assert!(error.to_string().contains("\"unavailable\""), "{answer}");
                }
            }
            println!("all {} calls to it were refused after {:?}", VICTIMS * CALLS_PER_VICTIM, asked.elapsed());
            let began = Instant::now();
            victims[0].call_err("vault_read", read_far());
            victims[0].call_err("vault_create", json!({ "path": "new.md", "content": "text" }));
            assert!(began.elapsed() < Duration::from_millis(200), "known, and refused at once: {:?}", began.elapsed());
            let tree = ground.wait_for_state("not answering");
            assert!(tree["warning"].as_str().is_some_and(|warning| warning.contains("does not answer")), "{tree}");
        }
    }
    // Those who use it are not cut off from anything else.
    victims[1].call_ok("vibe_search", json!({ "query": "wombat3x1" }));

    ground.disk.heal();
    wait_until("it is used again", || (victims[0].call("vault_read", read_far())["isError"] != true).then_some(()));
    ground.wait_for_state("watched");
    fs::write(ground.home.path().join("backing/more.md"), "more").expect("a file");
    assert_eq!(victims[2].call_ok("vault_read", json!({ "path": "more.md", "full": true }))["text"], "more");
}

/// How long a daemon takes from its start to its first answer, to a host whose vault is there.
fn start_time(ground: &Ground, vault: &Path) -> Duration {
    let stopped = ground.home.trellisd(&["stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    let mut command = ground.home.proxy(&[]);
    command.env("VAULT_ROOT", vault);
    let began = Instant::now();
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    began.elapsed()
}

#[test]
fn a_daemon_starts_and_ends_beside_a_hung_disk() {
    let _alone = exclusive();
    let Some(ground) = Ground::new() else { return };
    // A project of the configuration is on it, too.
    let configuration = ground.home.path().join(".config/trellis/config.toml");
    fs::create_dir_all(configuration.parent().expect("a directory")).expect("a directory");
    fs::write(configuration, format!("roots = [\"{}\"]\n", ground.root().display())).expect("a configuration");
    let mut victim = ground.victim();
    assert_eq!(victim.call_ok("vault_read", read_far())["text"], "far");
    let near = ground.home.project().join("vault");
    let without = (0..5).map(|_| start_time(&ground, &near)).min().expect("a time");

    ground.disk.hang();
    let far = ground.root();
    let with = (0..5).map(|_| start_time(&ground, &far)).min().expect("a time");
    println!("first answer of a new daemon: {without:?} without, {with:?} with a hung disk");
    assert!(with <= without + Duration::from_millis(100), "{with:?} instead of {without:?}");
    let mut client = ground.victim();
    client.send("tools/call", json!({ "name": "vault_read", "arguments": read_far() }));
    wait_until("somebody hangs", || (ground.disk.hanging() > 0).then_some(()));
    let began = Instant::now();
    let stopped = ground.home.trellisd(&["stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    wait_until("the daemon leaves", || ground.home.daemons().is_empty().then_some(()));
    println!("left after {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn items_of_a_hung_project_are_left_out_unless_they_are_asked_for() {
    let _alone = exclusive();
    let Some(ground) = Ground::new() else { return };
    ground.home.write(".todo/task.md", "- [ ] near wombat #T001\n");
    fs::create_dir_all(ground.root().join(".todo")).expect("a directory");
    fs::write(ground.root().join(".todo/task.md"), "- [ ] far wombat #T001\n").expect("a file");
    let configuration = ground.home.path().join(".config/trellis/config.toml");
    fs::create_dir_all(configuration.parent().expect("a directory")).expect("a directory");
    fs::write(configuration, format!("roots = [\"{}\"]\n", ground.root().display())).expect("a configuration");
    let mut host = ground.home.host(&[]);
    let everything = [
        ("trellis_list", json!({ "project": "*", "kind": "task" })),
        ("trellis_recall", json!({ "query": "wombat", "project": "*", "kind": "task" })),
    ];
    for (tool, arguments) in &everything {
        let both = || Some(host.call_ok(tool, arguments.clone())).filter(|seen| seen["total"] == 2);
        wait_until("both projects", both);
    }

    ground.disk.hang();
    for (round, timeout) in [(1, Duration::from_secs(3)), (2, Duration::from_millis(500))] {
        for (tool, arguments) in &everything {
            let began = Instant::now();
            let seen = host.call_ok(tool, arguments.clone());
            println!("{tool} beside a hung project ({round}): {:?}", began.elapsed());
            assert!(began.elapsed() < timeout, "{tool} took {:?}", began.elapsed());
            assert!(seen.to_string().contains("near wombat"), "{seen}");
            assert_eq!((&seen["total"], &seen["stale"]), (&json!(1), &json!(["disk"])), "{seen}");
        }
    }
    for (tool, arguments) in [
        ("trellis_list", json!({ "project": "disk" })),
        ("trellis_recall", json!({ "query": "wombat", "project": "disk" })),
        ("trellis_open", json!({ "uri": "todo://disk/T001" })),
    ] {
        let began = Instant::now();
        let error = host.call_err(tool, arguments);
        assert!(error.to_string().contains("\"unavailable\""), "{tool}: {error}");
        assert!(began.elapsed() < Duration::from_secs(2), "{tool} took {:?}", began.elapsed());
    }

    ground.disk.heal();
    for (tool, arguments) in &everything {
        let both = || Some(host.call_ok(tool, arguments.clone())).filter(|seen| seen["total"] == 2);
        wait_until("both projects again", both);
    }
}

#[test]
fn a_failing_disk_fails_its_calls_and_recovers() {
    let Some(ground) = Ground::new() else { return };
    let mut client = ground.victim();
    assert_eq!(client.call_ok("vault_read", read_far())["text"], "far");
    for (operations, fault, reason) in [
        (&Operation::CHANGING[..], Fault::NoSpace, "disk_full"),
        (&Operation::CHANGING[..], Fault::ReadOnly, "read_only"),
        (&Operation::ALL[..], Fault::InputOutput, "input/output error"),
        (&[Operation::Sync][..], Fault::InputOutput, "io_error"),
        (&Operation::ALL[..], Fault::Stale, ""),
    ] {
        ground.disk.set("", operations, fault);
        let error = client.call_err("vault_create", json!({ "path": "new.md", "content": "text" }));
        assert!(error.to_string().contains(reason), "{fault:?}: {error}");
        ground.disk.heal();
        assert_eq!(client.call_ok("vault_read", read_far())["text"], "far", "{fault:?}");
        assert!(!ground.home.path().join("backing/new.md").exists(), "{fault:?}");
    }
    client.call_ok("vault_create", json!({ "path": "new.md", "content": "text" }));
    assert_eq!(fs::read_to_string(ground.home.path().join("backing/new.md")).expect("a file"), "text");
}

#[test]
fn a_slow_disk_is_waited_for() {
    let Some(ground) = Ground::new() else { return };
    let mut client = ground.victim();
    assert_eq!(client.call_ok("vault_read", read_far())["text"], "far");
    ground.disk.set("far.md", &[Operation::Read], Fault::Slow(Duration::from_secs(2)));
    fs::write(ground.home.path().join("backing/far.md"), "slow").expect("a file");
    let began = Instant::now();
    assert_eq!(client.call_ok("vault_read", read_far())["text"], "slow", "its disk answers, if slowly");
    assert!(began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
    assert_ne!(ground.state().expect("watched")["state"], "not answering");
}

/// The disk of the tests does what a disk does.
#[test]
fn the_disk_of_these_tests_is_a_disk() {
    let Some(ground) = Ground::new() else { return };
    let (disk, root) = (&ground.disk, ground.root());
    assert_eq!(fs::read_to_string(root.join("far.md")).expect("a file"), "far");
    fs::write(root.join("a"), "one").expect("a file");
    fs::write(root.join("b"), "other").expect("a file");
    let exchange = rustix::fs::RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(rustix::fs::CWD, root.join("a"), rustix::fs::CWD, root.join("b"), exchange)
        .expect("an exchange");
    assert_eq!(fs::read_to_string(root.join("a")).expect("a file"), "other");
    fs::create_dir_all(root.join("d/e")).expect("directories");
    fs::rename(root.join("a"), root.join("d/e/a")).expect("a rename");
    fs::write(root.join("d/e/a"), "shorter").expect("a file");
    assert_eq!(fs::read_to_string(ground.home.path().join("backing/d/e/a")).expect("a file"), "shorter");
    fs::remove_file(root.join("b")).expect("a removal");
    let names: Vec<String> = fs::read_dir(&root)
        .expect("a listing")
        .map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["d", "far.md"]);
    disk.set("d", &Operation::CHANGING, Fault::NoSpace);
    let refused = fs::write(root.join("d/e/a"), "x").expect_err("no space").kind();
    assert_eq!(refused, std::io::ErrorKind::StorageFull);
    fs::write(root.join("c"), "elsewhere there is").expect("a file");
    disk.hang();
    let path = root.join("c");
    let stuck = std::thread::spawn(move || fs::read_to_string(path));
    wait_until("it hangs", || (disk.hanging() > 0).then_some(()));
    assert!(!stuck.is_finished());
    disk.heal();
    assert_eq!(stuck.join().expect("no panic").expect("a file"), "elsewhere there is");
    let mounts = fs::read_to_string("/proc/1/mountinfo").unwrap_or_default();
    assert!(!mounts.contains("stalling"), "nobody else sees it");
}
