//! The stdio side of Trellis: connect, forward, resume or answer alone.
//!
//! Lines of JSON-RPC come in on stdin and leave as frames on the daemon's socket; frames come back and leave as
//! lines on stdout. A daemon that dies is replaced without the host noticing; when there is none to be had every
//! request is still answered, in valid MCP. Of a message nothing is read but id, method and what a later daemon must
//! be told again.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use trellis_protocol::endpoint::TrellisPaths;
use trellis_protocol::envelope::{Caller, EXPLICIT_DIRECTORY, Hello};

/// Arguments → what the session may see and where it works.
mod flags;

/// The system → what the protocol needs to know about the account and the session.
pub mod surroundings;

/// Paths → a socket with our own daemon at the other end, greeted.
pub mod connect;

/// Nobody answers → one daemon, started once, however many want one.
pub mod launch;

/// What is settled for the whole process: its heap, and what children inherit.
mod process;

/// Bytes that were read and not used yet.
mod buffer;

/// Bytes of stdin → lines, within the limit.
mod lines;

/// Bytes of the socket → whole messages.
mod receiver;

/// Messages → stdout, without blocking.
mod host_output;

/// Whether the host that started us still lives.
mod parent;

/// Requests without an answer, and what the next daemon must be told.
mod pending;

/// Finds or starts a daemon and greets it.
mod daemon_link;

/// Envelopes out, messages in, while a daemon is there.
mod connection;

/// What to answer when no daemon is to be had.
pub mod offline;

/// The loop over all of these.
mod session;

pub use process::{limit_heap, trim_heap};

use daemon_link::DaemonLink;
use flags::Command;
use session::ProxySession;

/// Two threads at most, and they rarely allocate at the same time.
const MALLOC_ARENAS: i32 = 1;
/// Most messages are smaller; what is larger is given back to the system at once.
const MMAP_THRESHOLD_BYTES: i32 = 16 << 10;

/// Serves one host on stdin and stdout until it leaves. `program` is the name in messages, `args` what follows it.
pub fn run(program: &'static str, args: impl Iterator<Item = OsString>) -> ExitCode {
    let flags = match flags::parse(args) {
        Ok(Command::Serve(flags)) => flags,
        Ok(Command::Version) => return print(&format!("{program} {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Help) => return print(&flags::help(program)),
        Err(error) => return misused(program, &error),
    };
    if std::env::var_os("ENABLE_STDIO").is_some_and(|value| value == "false") {
        note(program, "ENABLE_STDIO=false: nothing is served here; unset it, or call the daemon over HTTP");
        return ExitCode::from(2);
    }
    process::limit_heap(MALLOC_ARENAS, MMAP_THRESHOLD_BYTES);
    let account = surroundings::gather();
    let paths = TrellisPaths::of(&account);
    // The daemon wakes up while the rest is gathered.
    let running = connect::connect_daemon(&paths, account.uid).ok();
    let is_told = flags.directory.is_some();
    let directory = match surroundings::directory(&account, flags.directory) {
        Ok(directory) => directory,
        Err(error) => return misused(program, &error),
    };
    let mut environment = surroundings::session_environment(&account, &directory);
    if is_told {
        environment.push((EXPLICIT_DIRECTORY.to_owned(), "1".to_owned()));
    }
    let tool_list_cache = paths.tool_list_cache(&flags.surface.key());
    let hello = Hello {
        build: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        caller: Caller::Proxy,
        directory: directory.into_os_string().into_encoded_bytes(),
        surface: flags.surface,
        environment,
        time_zone: surroundings::time_zone(&account),
        umask: surroundings::umask(),
        resume: None,
    };
    let mut link = DaemonLink::new(program, paths, account, hello);
    let served = running.and_then(|stream| link.greet_running(stream));
    ProxySession::new(program, tool_list_cache, link, served).run();
    ExitCode::SUCCESS
}

/// One line for the person who reads the host's log.
fn note(program: &str, text: &str) {
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    // A host may have closed stderr; there is nobody else to tell.
    let _ = std::io::stderr().write_all(format!("{program}: {line}\n").as_bytes());
}

fn print(text: &str) -> ExitCode {
    std::io::stdout().write_all(text.as_bytes()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn misused(program: &str, error: &str) -> ExitCode {
    note(program, &format!("{error}; try `{program} --help`"));
    ExitCode::from(2)
}
