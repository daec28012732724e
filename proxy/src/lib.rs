//! The stdio side of Trellis: connect, pump, resume or refuse.
//!
//! Lines of JSON-RPC come in on stdin and leave as frames on the daemon's socket; frames come back and leave as
//! lines on stdout. One thread reads stdin and alone writes to the socket; the other finds the daemon, reads the
//! socket and writes stdout. A daemon that dies is replaced without the host noticing; when there is none to be had
//! every request is still answered, in valid MCP. Of a message nothing is read but id, method and what a later
//! daemon must be told again.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use trellis_protocol::endpoint::Places;
use trellis_protocol::envelope::{Caller, Hello, TOLD_DIRECTORY};

/// Arguments → what the session may see and where it works.
mod flags;

/// The system → what the protocol needs to know about the account and the session.
pub mod surroundings;

/// Places → a socket with our own daemon at the other end, greeted.
pub mod connect;

/// Nobody answers → one daemon, started once, however many want one.
pub mod launch;

/// What is settled for the whole process: its heap, and what children inherit.
mod process;

/// Bytes of stdin → lines, within the limit.
mod lines;

/// Requests without an answer, and what the next daemon must be told.
mod pending;

/// What the two threads share.
mod session;

/// Messages both ways, once a daemon is there.
mod pump;

/// Frames → whole messages.
mod parts;

/// Messages → stdout, one at a time.
mod outlet;

/// Keeps a daemon at the other end, for as long as the host lives.
mod resume;

/// No daemon to be had: what to answer all the same.
pub mod refuse;

/// Waiting without missing the host's end.
mod vigil;

/// Whether the host that started us still lives.
mod parent;

pub use process::{give_back, keep_heap_small};

use flags::Command;
use vigil::Over;

/// Pieces of memory from this size on are given back at once: most messages are smaller.
const LARGE_PIECE: i32 = 16 << 10;

/// Room for the second thread: it recurses nowhere and keeps its buffers on the heap.
const SECOND_STACK: usize = 256 << 10;

/// Serves one host on stdin and stdout until it leaves. `program` is the name in messages, `args` what follows it.
pub fn run(program: &'static str, args: impl Iterator<Item = OsString>) -> ExitCode {
    let flags = match flags::parse(args) {
        Ok(Command::Serve(flags)) => flags,
        Ok(Command::Version) => return print(&format!("{program} {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Help) => return print(&flags::help(program)),
        Err(error) => return misused(program, &error.to_string()),
    };
    if std::env::var_os("ENABLE_STDIO").is_some_and(|value| value == "false") {
        note(program, "ENABLE_STDIO=false: nothing is served here; unset it, or call the daemon over HTTP");
        return ExitCode::from(2);
    }
    process::keep_heap_small(1, LARGE_PIECE);
    let around = surroundings::gather();
    let places = Places::of(&around);
    // A daemon that sleeps wakes up meanwhile.
    let daemon = connect::reach(&places, around.uid).ok();
    let is_told = flags.directory.is_some();
    let directory = match surroundings::directory(&around, flags.directory) {
        Ok(directory) => directory,
        Err(error) => return misused(program, &error),
    };
    let mut environment = surroundings::session_environment(&around, &directory);
    if is_told {
        environment.push((TOLD_DIRECTORY.to_owned(), "1".to_owned()));
    }
    let hello = Hello {
        build: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        caller: Caller::Proxy,
        directory: directory.into_os_string().into_encoded_bytes(),
        surface: flags.surface,
        environment,
        time_zone: surroundings::time_zone(&around),
        umask: surroundings::umask(),
        resume: None,
    };
    let (session, wake) = match session::Session::new(program, &hello.surface, places) {
        Ok(made) => made,
        Err(error) => return failed(program, &format!("cannot open a pipe: {error}")),
    };
    let session = Arc::new(session);
    let mut keeper = resume::Keeper::new(Arc::clone(&session), around, hello);
    // A daemon that is there is greeted, told what the host says, and heard before the second thread exists: starting
    // a thread takes about as long as the daemon needs for its first answer.
    let hailed = daemon.and_then(|daemon| keeper.hail(daemon));
    let mut host = pump::Host::new(&session, wake);
    let Ok(opened) = host.open(&mut keeper, hailed) else { return ExitCode::SUCCESS };
    let second = std::thread::Builder::new().stack_size(SECOND_STACK).spawn(move || {
        let _together = EndTogether;
        keeper.keep(opened);
    });
    if let Err(error) = second {
        return failed(program, &format!("cannot start a thread: {error}"));
    }
    // However the host leaves, it owes us nothing.
    let (Ok(()) | Err(Over)) = host.serve();
    ExitCode::SUCCESS
}

/// One thread without the other would leave the host waiting; hosts start a server again that has ended.
struct EndTogether;

impl Drop for EndTogether {
    fn drop(&mut self) {
        std::process::exit(1);
    }
}

/// One line for the person who reads the host's log.
fn note(program: &str, text: &str) {
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    // A host may have closed stderr; there is nobody else to tell.
    let _ = std::io::stderr().write_all(format!("{program}: {line}\n").as_bytes());
}

fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn misused(program: &str, error: &str) -> ExitCode {
    note(program, &format!("{error}; try `{program} --help`"));
    ExitCode::from(2)
}

fn failed(program: &str, error: &str) -> ExitCode {
    note(program, error);
    ExitCode::FAILURE
}
