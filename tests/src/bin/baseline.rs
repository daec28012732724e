//! The baseline of the measurements: a process that answers `initialize` and `ping` by itself.

use std::io::{BufRead as _, Write as _};

fn main() {
    let mut stdout = std::io::stdout();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
        if message.get("id").is_some() {
            let answer = serde_json::json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} });
            if writeln!(stdout, "{answer}").and_then(|()| stdout.flush()).is_err() {
                return;
            }
        }
    }
}
