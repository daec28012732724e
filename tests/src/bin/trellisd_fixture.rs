//! The daemon with the families that exist only in tests.

use std::process::ExitCode;

use trellis_tests::clash::ClashFamily;
use trellis_tests::fixture::FixtureFamily;
use trellis_tests::notes::{self, NotesFamily};
use trellisd::families::{self, FamilyDescriptor};

fn main() -> ExitCode {
    let mut families = families::all();
    families.push(FamilyDescriptor::of::<FixtureFamily>());
    families.push(FamilyDescriptor::of::<ClashFamily>());
    if std::env::var_os(notes::NOTES_VARIABLE).is_some() {
        families.push(FamilyDescriptor::of::<NotesFamily>());
    }
    trellisd::cli::main(families)
}
