//! What the system forbids a daemon: to execute files, to make devices, to connect; and what it must go on allowing.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use serde_json::json;
use trellis_tests::harness::{Home, programs, wait_until};
use trellisd::cli::landlock::{self, Landlock};

use super::process::{Signal, signal};

/// In a thread of its own: the restriction counts for that thread and what it starts, and for nobody else.
fn restricted(check: impl FnOnce(&Landlock) + Send) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let landlock = landlock::restrict();
            if let Landlock::Nothing(why) = &landlock {
                println!("NOT CHECKED: Landlock forbids nothing on this machine: {why}");
                return;
            }
            check(&landlock);
        });
    });
}

#[test]
fn r28_programs_devices_and_connections_are_forbidden() {
    let directory = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    restricted(|landlock| {
        let denied = |what: &str, error: std::io::Error| {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{what}: {error}");
        };
        denied("a program", Command::new("/bin/true").status().expect_err("no program starts"));
        let device = |kind| rustix::fs::mknodat(CWD, directory.path().join("d"), kind, Mode::RUSR, 0x103);
        for kind in [FileType::CharacterDevice, FileType::BlockDevice] {
            // Who is not root is refused with another word, with or without Landlock.
            assert!(
                device(kind).is_err_and(|error| [rustix::io::Errno::ACCESS, rustix::io::Errno::PERM].contains(&error))
            );
        }
        if *landlock == Landlock::Full {
            denied("a connection", TcpStream::connect(address).expect_err("nobody is called"));
        } else {
            println!("NOT CHECKED: this kernel cannot forbid connections");
        }
    });
    assert!(Command::new("/bin/true").status().expect("a program starts").success(), "others are not restricted");
    TcpStream::connect(address).expect("nor are their connections");
}

#[test]
fn r28_what_a_daemon_does_stays_allowed() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    restricted(|_| {
        fs::create_dir_all(at("a/b")).expect("directories are made");
        fs::create_dir(at("c")).expect("a directory is made");
        fs::write(at("a/b/one"), "1").expect("a file is written");
        fs::write(at("c/two"), "2").expect("a file is written");
        fs::rename(at("a/b/one"), at("c/one")).expect("a file moves to another directory");
        fs::hard_link(at("c/one"), at("a/link")).expect("a file gets a name in another directory");
        let exchanged = rustix::fs::renameat_with(CWD, at("a/link"), CWD, at("c/two"), RenameFlags::EXCHANGE);
        exchanged.expect("two files of different directories change places");
        assert_eq!(fs::read_to_string(at("a/link")).expect("read"), "2");
        fs::File::options().write(true).open(at("c/one")).and_then(|file| file.set_len(0)).expect("a file is cut");
        fs::rename(at("c"), at("a/b/c")).expect("a directory moves to another");
        fs::remove_dir_all(at("a")).expect("all of it goes");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a gateway may listen");
        listener.set_nonblocking(true).expect("set");
        assert!(listener.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
        let listener = UnixListener::bind(at("s")).expect("a local socket");
        UnixStream::connect(at("s")).expect("a local connection");
        listener.accept().expect("a local connection");
        assert!(Path::new("/proc/self/fd").is_dir() && fs::read("/etc/passwd").is_ok());
    });
}

/// The gateway answers, files in any directory are written, and a daemon says what it is forbidden.
#[test]
fn r28_a_daemon_serves_under_landlock_and_says_so() {
    let (home, http) = Home::new().gateway(&[("ALLOW_UNAUTHENTICATED", "true")]);
    let mut client = home.host(&["--only", "vault"]);
    assert_eq!(http.get("/health").status, 200);
    home.write("vault/sub/note.md", "one\n");
    client.call_ok("vault_create", json!({ "path": "first.md", "content": "x" }));
    client.call_ok("vault_replace", json!({ "path": "sub/note.md", "find": "one", "replace": "two" }));
    let said = home.status().expect("a daemon")["landlock"].as_str().expect("text").to_owned();
    let shown = String::from_utf8(home.trellisd(&["status"]).stdout).expect("text");
    assert!(shown.contains(&format!("landlock  {said}\n")), "{shown}");
    let mut expected = String::new();
    std::thread::scope(|scope| {
        scope.spawn(|| expected = landlock::restrict().describe());
    });
    assert_eq!(said, expected, "a daemon is restricted as a thread of ours is");
    let pid = home.daemon_pid().expect("a daemon");
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").flatten();
    for thread in threads {
        let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
        assert!(said.starts_with("forbids nothing") || status.contains("NoNewPrivs:\t1"), "{status}");
    }
}

/// The real daemon restricts itself before it has a second thread, so that none is left out.
#[test]
fn r28_no_thread_of_a_daemon_is_left_out() {
    if !Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("NOT CHECKED: there is no `strace` here");
        return;
    }
    let home = Home::new();
    let trace = home.path().join("trace");
    let mut command = home.command("strace".as_ref());
    command.args(["-f", "-e", "trace=clone,clone3,landlock_restrict_self", "-o"]).arg(&trace);
    command.arg(programs::daemon()).arg("run").stdin(Stdio::null()).stderr(Stdio::null());
    let mut strace = command.spawn().expect("strace starts");
    let pid = wait_until("the daemon is ready", || home.daemon_pid());
    let said = home.status().expect("a daemon")["landlock"].to_string();
    signal(pid, Signal::TERM);
    strace.wait().expect("it ends");
    let trace = fs::read_to_string(&trace).expect("a trace");
    if said.contains("forbids nothing") {
        println!("NOT CHECKED: Landlock forbids nothing on this machine: {said}");
        return;
    }
    let first = |word: &str| trace.lines().position(|line| line.contains(word));
    let restricted = trace.lines().position(|line| line.contains("landlock_restrict_self(") && line.ends_with("= 0"));
    let restricted = restricted.unwrap_or_else(|| panic!("it restricts itself:\n{trace}"));
    let thread = first("clone").unwrap_or_else(|| panic!("it starts threads:\n{trace}"));
    assert!(restricted < thread, "{trace}");
}
