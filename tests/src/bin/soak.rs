//! A long day, by command: `cargo run --release -p trellis-tests --bin soak -- --minutes 45`.
//!
//! Prints a sample every ten seconds, then a table; ends with 1 if something grew, with 2 if it could not begin.

use std::process::ExitCode;
use std::time::Duration;

use trellis_tests::soak::{SoakPlan, run};

const USAGE: &str = "soak [--minutes 45] [--sessions 16] [--every SECONDS] [--pressure KIB_PER_SECOND]\n     \
                     [--journal-limit MIB] [--clock SHIFT]   the clock needs `faketime`, e.g. `--clock +40d`";

fn main() -> ExitCode {
    let Some(plan) = plan(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&plan) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn plan(mut arguments: impl Iterator<Item = String>) -> Option<SoakPlan> {
    let mut plan = SoakPlan::default();
    while let Some(flag) = arguments.next() {
        let value = arguments.next()?;
        match flag.as_str() {
            "--minutes" => plan.length = Duration::try_from_secs_f64(value.parse::<f64>().ok()? * 60.0).ok()?,
            "--sessions" => plan.sessions = value.parse().ok()?,
            "--every" => plan.interval = Duration::try_from_secs_f64(value.parse().ok()?).ok()?,
            "--pressure" => plan.pressure = value.parse().ok()?,
            "--journal-limit" => plan.journal_limit = value.parse().ok()?,
            "--clock" => plan.clock = Some(value),
            _ => return None,
        }
    }
    Some(plan)
}
