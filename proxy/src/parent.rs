//! Whether the host that started us still lives. On Linux a descriptor becomes readable when it ends, so nothing has
//! to be asked again and again; elsewhere, and where the kernel has none, the caller asks every two seconds.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, getppid};

/// How often to ask when no descriptor tells.
const PARENT_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The process that started us.
#[derive(Debug)]
pub(crate) struct Parent {
    pid: Option<Pid>,
    process: Option<OwnedFd>,
}

impl Parent {
    pub(crate) fn find() -> Self {
        let pid = getppid();
        Self { pid, process: pid.and_then(open) }
    }

    /// Becomes readable when the parent ends.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        self.process.as_ref().map(AsFd::as_fd)
    }

    /// How often the caller must ask whether it is gone; never when the descriptor tells.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        (self.process.is_none() && self.pid.is_some()).then_some(PARENT_POLL_INTERVAL)
    }

    /// Whether it is gone, where no descriptor tells: an orphan is given another parent.
    pub(crate) fn is_gone(&self) -> bool {
        self.poll_interval().is_some() && getppid() != self.pid
    }
}

#[cfg(target_os = "linux")]
fn open(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open(_: Pid) -> Option<OwnedFd> {
    None
}
