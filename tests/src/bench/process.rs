//! Spawn, ping, memory and idle cost of proxy and daemon, compared with a baseline process that answers by itself.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Measurement, ms, percentiles, us};
use crate::harness::{Home, programs, wait_until};

const SPAWNS: usize = 200;
const COLD_STARTS: usize = 15;
const PINGS: usize = 5000;
const STORM: usize = 50;
const SETTLED: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(30);

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

/// A process that is spoken to without any machinery in between.
pub(super) struct ProxyProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The last answer.
    pub(super) buffer: String,
}

impl ProxyProcess {
    fn open(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self { child, stdin, stdout, buffer: String::new() }
    }

    pub(super) fn ask(&mut self, line: &str) -> Duration {
        let began = Instant::now();
        self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.write_all(b"\n")).expect("it reads");
        loop {
            self.buffer.clear();
            self.stdout.read_line(&mut self.buffer).expect("it answers");
            // What we are told besides is no answer.
            if !self.buffer.contains("\"method\":\"notifications/") {
                break;
            }
        }
        assert!(self.buffer.contains("\"result\""), "{}", self.buffer);
        began.elapsed()
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// From before the spawn until the first answer is there.
pub(super) fn first_answer(command: Command) -> (ProxyProcess, Duration) {
    let began = Instant::now();
    let mut line = ProxyProcess::open(command);
    line.ask(INITIALIZE);
    (line, began.elapsed())
}

/// All figures of this part.
pub fn measurements() -> Vec<Measurement> {
    let mut measurements = Vec::new();
    let size = fs::metadata(programs::proxy()).map_or(0, |file| file.len());
    measurements.push(Measurement::at_most("size of trellis-mcp", size as f64 / 1e3, 750.0, "KB"));
    measurements.extend(spawns());
    measurements.extend(cold_starts());
    measurements.extend(storm());
    measurements.extend(pings());
    measurements.extend(memory());
    measurements.extend(idleness());
    measurements
}

fn baseline() -> Command {
    Command::new(programs::proxy().with_file_name("baseline"))
}

fn spawns() -> Vec<Measurement> {
    let home = Home::new();
    let _daemon = first_answer(home.proxy(&[]));
    let (mut baselines, mut proxies) = (Vec::new(), Vec::new());
    for _ in 0..SPAWNS {
        baselines.push(first_answer(baseline()).1);
        proxies.push(first_answer(home.proxy(&[])).1);
    }
    let (baseline, proxy) = (percentiles(baselines), percentiles(proxies));
    let ratio = proxy.p50.as_secs_f64() / baseline.p50.as_secs_f64();
    vec![
        Measurement::note(
            "bare process: spawn → initialize, p50 / p95",
            format!("{:.2} / {:.2} ms", ms(baseline.p50), ms(baseline.p95)),
        ),
        Measurement::note(
            "proxy: spawn → initialize, p50 / p95",
            format!("{:.2} / {:.2} ms", ms(proxy.p50), ms(proxy.p95)),
        ),
        Measurement::at_most("proxy : bare process", ratio, 1.25, "×"),
    ]
}

fn cold_starts() -> Vec<Measurement> {
    let times = (0..COLD_STARTS).map(|_| first_answer(Home::new().proxy(&[])).1).collect();
    vec![Measurement::at_most("daemon not running → first answer, p50", ms(percentiles(times).p50), 100.0, "ms")]
}

fn storm() -> Vec<Measurement> {
    let home = Home::new();
    let began = Instant::now();
    let mut lines: Vec<ProxyProcess> = (0..STORM).map(|_| ProxyProcess::open(home.proxy(&[]))).collect();
    for line in &mut lines {
        line.stdin.write_all(INITIALIZE.as_bytes()).and_then(|()| line.stdin.write_all(b"\n")).expect("it reads");
    }
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        let waits: Vec<_> = lines
            .iter_mut()
            .map(|line| {
                scope.spawn(move || {
                    line.stdout.read_line(&mut line.buffer).expect("it answers");
                    began.elapsed()
                })
            })
            .collect();
        times.extend(waits.into_iter().map(|wait| wait.join().expect("an answer")));
    });
    let daemons = home.daemons().len();
    vec![
        Measurement::at_most(
            "50 proxies at one instant, no daemon: first answer, p95",
            ms(percentiles(times).p95),
            1500.0,
            "ms",
        ),
        Measurement::at_most("… daemons afterwards", daemons as f64, 1.0, ""),
    ]
}

fn pings() -> Vec<Measurement> {
    let home = Home::new();
    home.write("vault/note.md", "uno\ndos\ntres\n");
    let (mut proxy, _) = first_answer(home.proxy(&[]));
    let (mut baseline, _) = first_answer(baseline());
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let read = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"vault_read","arguments":{"path":"note.md","full":true}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#;
    let mut times = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..PINGS {
        times[0].push(baseline.ask(ping));
        times[1].push(proxy.ask(ping));
    }
    for _ in 0..PINGS / 5 {
        times[2].push(proxy.ask(read));
        times[3].push(proxy.ask(list));
    }
    let [baseline, ping, read, list] = times.map(percentiles);
    vec![
        Measurement::note("bare process: ping, p50", format!("{:.0} µs", us(baseline.p50))),
        Measurement::at_most("ping through proxy and daemon, p50", us(ping.p50), 150.0, "µs"),
        Measurement::note("… p95", format!("{:.0} µs", us(ping.p95))),
        Measurement::note(
            "vault_read of a small file, p50 / p95",
            format!("{:.0} / {:.0} µs", us(read.p50), us(read.p95)),
        ),
        Measurement::note("tools/list, p50 / p95", format!("{:.0} / {:.0} µs", us(list.p50), us(list.p95))),
    ]
}

fn memory() -> Vec<Measurement> {
    let home = Home::new();
    let mut lines: Vec<ProxyProcess> = (0..10).map(|_| idle_session(&home)).collect();
    rest(&home);
    let ten = summed_pss(&home, &lines);
    let daemon_at_ten = home.daemons().into_iter().map(pss).sum::<f64>();
    lines.extend((0..10).map(|_| idle_session(&home)));
    rest(&home);
    let twenty = summed_pss(&home, &lines);
    vec![
        Measurement::note("daemon with 10 sessions, PSS", format!("{daemon_at_ten:.2} MiB")),
        Measurement::at_most("each further idle session (10 → 20), summed PSS", (twenty - ten) / 10.0, 0.2, "MiB"),
    ]
}

/// A session of a host that has begun as hosts do, and asks for nothing more.
fn idle_session(home: &Home) -> ProxyProcess {
    let (mut line, _) = first_answer(home.proxy(&[]));
    line.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    line
}

/// Until the daemon has nothing to do any more, and proxies have noticed that.
pub(super) fn rest(home: &Home) {
    let used = || home.daemons().into_iter().map(ticks).sum::<u64>();
    let mut before = used();
    wait_until("the daemon rests", || {
        std::thread::sleep(Duration::from_millis(400));
        let now = used();
        (std::mem::replace(&mut before, now) == now).then_some(())
    });
}

fn summed_pss(home: &Home, lines: &[ProxyProcess]) -> f64 {
    let proxies = lines.iter().map(|line| pss(line.child.id())).sum::<f64>();
    proxies + home.daemons().into_iter().map(pss).sum::<f64>()
}

/// Memory of a process, shared pages divided by those who share them.
pub(crate) fn pss(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or("0");
    line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap_or(0.0) / 1024.0
}

fn idleness() -> Vec<Measurement> {
    let home = Home::new();
    let (line, _) = first_answer(home.proxy(&[]));
    rest(&home);
    std::thread::sleep(SETTLED);
    let pids: Vec<u32> = home.daemons().into_iter().chain([line.child.id()]).collect();
    let before: u64 = pids.iter().copied().map(ticks).sum();
    std::thread::sleep(IDLE);
    let after: u64 = pids.iter().copied().map(ticks).sum();
    vec![Measurement::at_most("proxy and daemon idle for 30 s, CPU ticks of 10 ms", (after - before) as f64, 0.0, "")]
}

/// User and system time of a process, in clock ticks.
fn ticks(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    field(11) + field(12)
}
