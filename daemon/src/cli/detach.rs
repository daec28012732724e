//! `trellisd run --on-demand`: starts the daemon with the same environment and descriptors, and leaves at once. The
//! system gives the daemon another parent then, so that it is not among the descendants of the host that needed it
//! first: some hosts signal all of theirs when they end. Serves nobody.

use std::process::Command;

use trellis_protocol::{Failure, FailureKind};

use super::serve;

/// Leaves a daemon behind. Its first line goes to whoever waits for ours.
pub(super) fn run() -> Result<(), Failure> {
    spawn().map_err(|error| {
        let failure = Failure::new("unavailable", FailureKind::Unavailable, format!("cannot start itself: {error}"));
        serve::tell_starter(&failure);
        failure
    })
}

#[expect(clippy::disallowed_methods, reason = "the one place where the daemon's program starts a program: itself")]
fn spawn() -> std::io::Result<()> {
    // Nobody waits for it: the system does, once we have left.
    Command::new(std::env::current_exe()?).args(["run", "--on-demand", "--detached"]).spawn().map(drop)
}
