//! The daemon and its command line, with every family that exists.

use std::process::ExitCode;

fn main() -> ExitCode {
    trellisd::cli::main(trellisd::families::all())
}
