//! Failures and reports as lines on a terminal: the message, then what to do.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use serde_json::json;
use trellis_protocol::Failure;
use trellis_protocol::control::Status;

/// Two lines: what is wrong, what to do.
pub fn failure(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("error: {}\n  try: {hint}", failure.message),
        None => format!("error: {}", failure.message),
    }
}

/// A failure for programs, on one line.
pub fn failure_as_json(failure: &Failure) -> String {
    let Failure { code, message, hint, details, .. } = failure;
    let details = if details.is_object() { details.clone() } else { json!({}) };
    let error = json!({ "code": code, "message": message, "hint": hint, "details": details });
    json!({ "schema": "trellis.error/1", "error": error }).to_string()
}

/// A status on one screen.
pub fn status(status: &Status) -> String {
    let mut text = String::new();
    let stays = match status.idle_seconds {
        Some(seconds) => format!("leaves after {} without clients", duration(seconds)),
        None => "stays".to_owned(),
    };
    let _ = writeln!(
        text,
        "trellisd {} is running (pid {}, protocol {}, up {}, started {}, {stays})",
        status.build,
        status.pid,
        status.protocol,
        duration(status.uptime_seconds),
        status.started_by,
    );
    let _ = writeln!(text, "socket    {}", status.socket);
    let _ = writeln!(text, "gateway   {}", status.gateway);
    let _ = writeln!(text, "landlock  {}", status.landlock);
    let families: Vec<String> =
        status.families.iter().map(|family| format!("{} ({} tools)", family.name, family.tools)).collect();
    let _ = writeln!(text, "families  {}", families.join(", "));
    let setting =
        |name: &str| status.settings.iter().find(|setting| setting.name == name).map(|row| row.value.as_str());
    if let (Some(days), Some(mib), Some(feed_days), Some(changes)) =
        (setting("journal_days"), setting("journal_mib"), setting("feed_days"), setting("feed_changes"))
    {
        let _ = writeln!(
            text,
            "keeps     old texts for {days} days, {mib} MiB at most; the feed for {feed_days} days, {changes} changes"
        );
    }
    if let Some(progress) = status.catching_up {
        let _ = writeln!(text, "catching up with the disk: {} of {}", progress.done, progress.total);
    }
    for root in &status.roots {
        let _ = writeln!(
            text,
            "watching  {} ({}, {} files, {} documents, by {})",
            root.path, root.state, root.files, root.documents, root.backend
        );
    }
    let counters = status.counters;
    let _ = writeln!(
        text,
        "so far    {} sessions, {} calls, {} faults, {} slow clients dropped, {} strangers refused",
        counters.sessions, counters.calls, counters.panics, counters.dropped_clients, counters.refused_peers,
    );
    if status.sessions.is_empty() {
        let _ = writeln!(text, "no sessions are connected");
    } else {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["pid", "host", "directory", "in flight"]);
        for session in &status.sessions {
            table.add_row([
                session.pid.to_string(),
                session.client.clone(),
                session.directory.clone(),
                session.in_flight.to_string(),
            ]);
        }
        let _ = writeln!(text, "{table}");
    }
    for warning in &status.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// Settings with the place each value came from.
pub fn settings(status: &Status) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["setting", "value", "from"]);
    for setting in &status.settings {
        table.add_row([&setting.name, &setting.value, &setting.source]);
    }
    format!("{table}\n")
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
