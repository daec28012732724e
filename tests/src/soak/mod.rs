//! A long day: sessions that write, read and search without a pause, somebody who edits beside them, proxies that come
//! and go, and old texts that press upon the journal. What the daemon takes of the system is sampled meanwhile, and must
//! not grow once it is warm.

/// What the daemon takes of the system.
pub mod sample;

/// Whether a row of figures grows.
pub mod trend;

/// What keeps the daemon at work.
mod load;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use self::load::Load;
use self::sample::{FIGURES, Sample};
use self::trend::{Trend, trend};
use crate::harness::{Home, programs, wait_until};

/// What is asked for on the command line.
#[derive(Debug, Clone)]
pub struct SoakPlan {
    pub length: Duration,
    pub sessions: usize,
    /// How long between two samples.
    pub interval: Duration,
    /// KiB of old text that are displaced in a second.
    pub pressure: u64,
    /// MiB that the journal may hold.
    pub journal_limit: f64,
    /// By how much the daemon's clock is shifted, as `faketime` writes it (`+40d`).
    pub clock: Option<String>,
}

impl Default for SoakPlan {
    fn default() -> Self {
        let (length, interval) = (Duration::from_secs(45 * 60), Duration::from_secs(10));
        Self { length, sessions: 16, interval, pressure: 1500, journal_limit: 512.0, clock: None }
    }
}

/// The share of the time after which everything should be warm.
const WARM_UP_SHARE: f64 = 1.0 / 3.0;
/// By how much a bound may be passed for a moment.
const LIMIT_TOLERANCE: f64 = 1.1;

/// Runs a day and prints what was seen; whether everything stayed flat. An error says why it could not begin.
pub fn run(plan: &SoakPlan) -> Result<bool, String> {
    let home = Home::new();
    let mut service = Service::start(&home, plan.clock.as_deref())?;
    let load = Load::start(&home, plan.sessions, plan.pressure);
    println!("{}", Sample::heading());
    let began = Instant::now();
    let mut samples: Vec<Sample> = Vec::new();
    while began.elapsed() < plan.length {
        std::thread::sleep(plan.interval);
        if service.has_ended() {
            load.stop();
            return Err(format!("the daemon has ended:\n{}", home.log()));
        }
        let calls = load.calls();
        let sample = Sample::take(service.pid(), &home.state(), began.elapsed(), calls);
        println!("{sample}");
        samples.push(sample);
    }
    let refusals = load.stop();
    println!();
    refusals.iter().take(5).for_each(|refusal| println!("refused: {refusal}"));
    println!("{} calls were refused", refusals.len());
    let is_flat = report(plan, &samples);
    Ok(is_flat && refusals.is_empty())
}

/// Prints a line for each figure; whether none of them grows.
fn report(plan: &SoakPlan, samples: &[Sample]) -> bool {
    let warm = samples.len() - samples.len().min((samples.len() as f64 * WARM_UP_SHARE).ceil() as usize);
    let warm = &samples[samples.len() - warm..];
    println!("\nafter warm-up, {} of {} samples", warm.len(), samples.len());
    println!("{:<12} {:>10} {:>10} {:>10} {:>10}  verdict", "figure", "mean", "least", "most", "growth");
    let mut is_flat = warm.len() >= 3;
    if !is_flat {
        println!("too few samples to tell");
    }
    for figure in &FIGURES {
        let points: Vec<(f64, f64)> =
            warm.iter().map(|sample| (sample.at.as_secs_f64(), (figure.of)(sample))).collect();
        let Some(Trend { mean, least, most, growth }) = trend(&points) else { continue };
        let is_steady = growth <= figure.slack.max(mean * figure.share);
        let is_within = figure.name == "journal" && most <= plan.journal_limit * LIMIT_TOLERANCE;
        let verdict = match (is_steady, is_within) {
            (true, _) if figure.name == "journal" && !is_within => "over its limit",
            (true, _) => "flat",
            // It may grow to its limit.
            (false, true) => "filling, within its limit",
            (false, false) => "growing",
        };
        is_flat &= matches!(verdict, "flat" | "filling, within its limit");
        let name = format!("{} {}", figure.name, figure.unit);
        println!("{name:<12} {mean:>10.1} {least:>10.1} {most:>10.1} {growth:>+10.1}  {verdict}");
    }
    is_flat
}

/// A daemon that runs as a service does: in the foreground, for as long as we let it.
struct Service {
    child: Child,
}

impl Service {
    fn start(home: &Home, clock: Option<&str>) -> Result<Self, String> {
        let mut command = match clock {
            None => home.command(&programs::daemon()),
            Some(shift) => {
                let is_there = Command::new("faketime").arg("--version").stdout(Stdio::null()).status().is_ok();
                if !is_there {
                    return Err("`--clock` needs the program `faketime`: install it, or leave the flag out".to_owned());
                }
                let mut command = home.command("faketime".as_ref());
                command.args(["-f", shift]).arg(programs::daemon());
                command
            }
        };
        let child = command.arg("run").stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("the daemon does not start: {error}"))?;
        let service = Self { child };
        wait_until("the daemon answers", || home.status());
        Ok(service)
    }

    /// With `faketime` the child becomes the daemon.
    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
