//! The daemon with the families that exist only in tests.

use std::process::ExitCode;

use trellis_tests::rehearsal::Rehearsal;
use trellis_tests::understudy::Understudy;
use trellisd::families::{self, Registered};

fn main() -> ExitCode {
    let mut families = families::all();
    families.push(Registered::of::<Rehearsal>());
    families.push(Registered::of::<Understudy>());
    trellisd::cli::main(families)
}
