//! A small MCP client over a proxy's stdin and stdout: a host, as far as a test needs one.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wait::WAIT_TIMEOUT;

/// A host that has started a proxy.
#[derive(Debug)]
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    aside: VecDeque<Value>,
    next_id: u64,
    modern: bool,
}

impl Client {
    /// Starts a proxy. Its stderr goes where the test's goes.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the proxy starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, aside: VecDeque::new(), next_id: 1, modern: false }
    }

    /// Shakes hands in this revision and returns the result.
    pub fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({}))
    }

    /// The same, with these capabilities of the host.
    pub fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let result = self.request("initialize", params);
        self.notify("notifications/initialized", json!({}));
        result
    }

    /// From now on every request carries its version, as the revision without a handshake asks.
    pub fn go_modern(&mut self) {
        self.modern = true;
    }

    /// Sends a line as it is.
    pub fn send_line(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
        self.send_bytes(b"\n");
    }

    /// Sends bytes as they are; they need be no line, and no text.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the proxy reads");
    }

    /// Sends a request and returns its id; the answer is fetched with [`Self::answer`].
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if self.modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
        }
        self.send_line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send_line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// The next message, whatever it is; earlier ones that nobody fetched come first.
    #[track_caller]
    pub fn next_message(&mut self) -> Value {
        match self.aside.pop_front() {
            Some(message) => message,
            None => self.read(WAIT_TIMEOUT).expect("a message in time"),
        }
    }

    /// The next message, if one comes within this time.
    pub fn message_within(&mut self, time: Duration) -> Option<Value> {
        self.aside.pop_front().or_else(|| self.read(time))
    }

    fn read(&mut self, time: Duration) -> Option<Value> {
        match self.lines.recv_timeout(time) {
            Ok(line) => {
                Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("stdout carries JSON only: {line}")))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// The whole answer to a request; other messages are put aside.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        if let Some(place) = self.aside.iter().position(|message| is_answer(message, id)) {
            return self.aside.remove(place).expect("it is there");
        }
        let end = Instant::now() + WAIT_TIMEOUT;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.read(left).unwrap_or_else(|| panic!("no answer to request {id} in time"));
            if is_answer(&message, id) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// Sends a request and returns its result; an error fails the test.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a request and returns the whole answer, result or error.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// The same from a proxy that may be killed meanwhile: none if it is gone, or silent for so long. Whatever else it
    /// says is dropped.
    pub fn try_ask(&mut self, method: &str, params: Value, time: Duration) -> Option<Value> {
        let id = self.next_id;
        self.next_id += 1;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.stdin.as_mut()?.write_all(format!("{line}\n").as_bytes()).ok()?;
        let end = Instant::now() + time;
        loop {
            let message = self.read(end.saturating_duration_since(Instant::now()))?;
            if is_answer(&message, id) {
                return Some(message);
            }
        }
    }

    /// Calls a tool and returns the whole result, good or bad.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool that must succeed, checks that both channels agree, and returns the structured content.
    #[track_caller]
    pub fn call_ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        both_channels(&result)
    }

    /// Calls a tool that must fail, checks that both channels agree, and returns the structured content.
    #[track_caller]
    pub fn call_err(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        both_channels(&result)
    }

    /// The names of the tools, in the order of the list.
    #[track_caller]
    pub fn tool_names(&mut self) -> Vec<String> {
        let list = self.request("tools/list", json!({}));
        let tools = list["tools"].as_array().expect("an array");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// The proxy's pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin and waits for the proxy's end.
    pub fn close(&mut self) -> ExitStatus {
        self.stdin = None;
        self.child.wait().expect("the proxy ends")
    }
}

/// Structured content and the JSON in the text are the same; each is complete alone.
#[track_caller]
fn both_channels(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().expect("a text");
    let parsed: Value = serde_json::from_str(text).expect("the text is JSON");
    assert_eq!(parsed, result["structuredContent"], "both channels say the same");
    parsed
}

fn is_answer(message: &Value, id: u64) -> bool {
    message["id"] == id && message.get("method").is_none()
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
