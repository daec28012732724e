//! The daemon with the family that exists only in tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    trellisd::cli::main(trellisd::families::all())
}
