//! The daemon with the families that exist only in tests.

use std::process::ExitCode;

use trellis_tests::library::{self, Library};
use trellis_tests::rehearsal::Rehearsal;
use trellis_tests::understudy::Understudy;
use trellisd::families::{self, Registered};

fn main() -> ExitCode {
    let mut families = families::all();
    families.push(Registered::of::<Rehearsal>());
    families.push(Registered::of::<Understudy>());
    if std::env::var_os(library::ASKED_FOR).is_some() {
        families.push(Registered::of::<Library>());
    }
    trellisd::cli::main(families)
}
