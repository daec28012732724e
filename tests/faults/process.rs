//! What the system says about a process: whether it lives, what it uses, what it holds open.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, kill_process};
use trellis_tests::harness::wait_until;

pub(crate) use rustix::process::Signal;

/// Sends a signal to a process that this test has started.
pub(crate) fn signal(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid as i32).expect("a pid"), signal);
}

/// Whether a process runs; one that has ended and was not collected does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    fields(pid).is_some_and(|fields| !matches!(fields[0].as_str(), "Z" | "X"))
}

/// The process that a process belongs to now.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

/// Waits for the end of a process.
#[track_caller]
pub(crate) fn until_gone(pid: u32) {
    wait_until("the process ends", || (!is_alive(pid)).then_some(()));
}

/// Ticks of processor time that a process has used.
pub(crate) fn ticks(pid: u32) -> u64 {
    let fields = fields(pid).expect("the process lives");
    let field = |place: usize| fields[place].parse::<u64>().expect("a number");
    field(11) + field(12)
}

/// The most memory that a process has had, in KiB.
pub(crate) fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// What the descriptors of a process lead to.
pub(crate) fn open_files(pid: u32) -> Vec<PathBuf> {
    let listed = fs::read_dir(format!("/proc/{pid}/fd")).expect("the process lives");
    listed.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).collect()
}

/// What follows the name in the system's line about a process, beginning with its state.
fn fields(pid: u32) -> Option<Vec<String>> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = line.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}
