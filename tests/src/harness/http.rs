//! A small HTTP/1.1 client over a bare socket: requests go out exactly as a test writes them, wrong ones too.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::{AddressFamily, SocketType};
use serde_json::{Value, json};

use super::Home;
use super::wait::WAIT_TIMEOUT;

/// A key that tests use.
pub const KEY: &str = "a-key-of-the-tests";

/// A port that nobody uses at this moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// A caller over HTTP, with the headers that it always sends.
#[derive(Debug, Clone)]
pub struct HttpClient {
    /// Where the gateway listens.
    pub address: SocketAddr,
    /// From where its connections come, if that matters.
    peer: Option<Ipv4Addr>,
    headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A connection that stays open.
#[derive(Debug)]
pub struct HttpConnection {
    reader: BufReader<TcpStream>,
}

impl Home {
    /// Turns the gateway on, with these settings besides, and starts the daemon.
    pub fn gateway(self, settings: &[(&str, &str)]) -> (Self, HttpClient) {
        let port = free_port();
        let mut home = self.with("ENABLE_HTTP", "true").with("PORT", port.to_string()).with("API_KEYS", KEY);
        for (name, value) in settings {
            home = home.with(name, value);
        }
        let output = home.trellisd(&["up"]);
        assert!(output.status.success(), "{output:?}");
        let web = HttpClient::at(port)
            .with("X-API-Key", KEY)
            .with("X-Trellis-Project", home.project().to_str().expect("text"));
        (home, web)
    }
}

impl HttpClient {
    /// A caller of this port on this machine, who sends no header but the host.
    pub fn at(port: u16) -> Self {
        Self { address: SocketAddr::from(([127, 0, 0, 1], port)), peer: None, headers: Vec::new() }
            .with("Host", &format!("127.0.0.1:{port}"))
    }

    /// The same caller with another header.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut web = self.clone();
        web.headers.push((name.to_owned(), value.to_owned()));
        web
    }

    /// The same caller without a header.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut web = self.clone();
        web.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        web
    }

    /// The same caller at an address of this machine that nobody else has.
    #[must_use]
    pub fn elsewhere(&self) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0x7f01_0001);
        Self { peer: Some(Ipv4Addr::from_bits(NEXT.fetch_add(1, Ordering::Relaxed))), ..self.clone() }
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        let Some(peer) = self.peer else { return TcpStream::connect(self.address) };
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
        rustix::net::bind(&socket, &SocketAddr::from((peer, 0)))?;
        rustix::net::connect(&socket, &self.address)?;
        Ok(socket.into())
    }

    /// Opens a connection.
    pub fn open(&self) -> HttpConnection {
        let stream = self.connect().expect("somebody listens");
        stream.set_read_timeout(Some(WAIT_TIMEOUT)).expect("a limit");
        stream.set_write_timeout(Some(WAIT_TIMEOUT)).expect("a limit");
        HttpConnection { reader: BufReader::new(stream) }
    }

    /// The bytes of a request.
    pub fn bytes(&self, method: &str, path: &str, body: Option<&[u8]>) -> Vec<u8> {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        bytes
    }

    /// Sends a request on a connection of its own.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> HttpResponse {
        let mut line = self.open();
        line.write(&self.bytes(method, path, body));
        line.reply_to(method)
    }

    /// Asks for a path.
    #[track_caller]
    pub fn get(&self, path: &str) -> HttpResponse {
        self.send("GET", path, None)
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> HttpResponse {
        self.with("Content-Type", "application/json").send("POST", path, Some(body.to_string().as_bytes()))
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    pub fn call_ok(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.post(&format!("/tools/{tool}"), &arguments);
        assert_eq!(reply.status, 200, "{tool}: {}", reply.text());
        reply.json()
    }

    /// Posts a message to an MCP path, as a client of either kind of revision does.
    #[track_caller]
    pub fn message(&self, path: &str, message: &Value) -> HttpResponse {
        self.with("Accept", "application/json, text/event-stream").post(path, message)
    }

    /// Shakes hands and returns a caller that carries the session.
    #[track_caller]
    pub fn initialize(&self, path: &str, version: &str) -> (Self, Value) {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let reply = self.message(path, &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let session = reply.header("mcp-session-id").expect("a session").to_owned();
        let web = self.with("Mcp-Session-Id", &session);
        let noted = web.message(path, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(noted.status, 202, "{}", noted.text());
        (web, reply.answer()["result"].clone())
    }

    /// Sends a request of a revision without a handshake, with the headers that belong to it.
    #[track_caller]
    pub fn modern(&self, path: &str, method: &str, mut params: Value) -> HttpResponse {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
        let mut web = self.with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method);
        if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
            web = web.with("Mcp-Name", name);
        }
        web.message(path, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }
}

impl HttpConnection {
    /// Sends bytes as they are.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).expect("somebody reads");
    }

    /// The same, to somebody who may have gone.
    pub fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Reads the next answer.
    #[track_caller]
    pub fn reply(&mut self) -> HttpResponse {
        self.reply_to("GET")
    }

    #[track_caller]
    fn reply_to(&mut self, method: &str) -> HttpResponse {
        let mut reply = self.head();
        if method == "HEAD" || reply.status == 204 || reply.status == 202 {
            return reply;
        }
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(mut chunk) = self.chunk() {
                reply.body.append(&mut chunk);
            }
        } else if let Some(length) = reply.header("content-length").map(|length| length.parse().expect("a length")) {
            reply.body = vec![0; length];
            self.reader.read_exact(&mut reply.body).expect("a whole body");
        } else {
            self.reader.read_to_end(&mut reply.body).expect("a body");
        }
        reply
    }

    /// Reads the head of an answer alone; its body may be a stream.
    #[track_caller]
    pub fn head(&mut self) -> HttpResponse {
        let first = self.text_line();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status in {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.text_line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        HttpResponse { status, headers, body: Vec::new() }
    }

    /// The next chunk of a stream; none at its end.
    #[track_caller]
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.text_line();
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("no chunk size in {size:?}"));
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).expect("a whole chunk");
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    /// The next message of an event stream; comments that keep it alive are passed over.
    #[track_caller]
    pub fn event(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = events(&self.chunk()?).into_iter().next() {
                return Some(event);
            }
        }
    }

    /// Whether the other side has closed: waits for it.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A connection that was reset is closed as well.
        !self.reader.read_to_end(&mut rest).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    #[track_caller]
    fn text_line(&mut self) -> String {
        let mut line = String::new();
        let count = self.reader.read_line(&mut line).expect("a line in time");
        assert!(count > 0, "the other side has closed");
        line.trim_end().to_owned()
    }
}

/// The messages in a piece of an event stream.
fn events(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

impl HttpResponse {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("JSON instead of {:?}", self.text()))
    }

    /// The JSON-RPC answer in the body, be it JSON or an event stream.
    #[track_caller]
    pub fn answer(&self) -> Value {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return events(&self.body).into_iter().find(|event| event.get("id").is_some()).expect("an answer");
        }
        self.json()
    }

    /// The code of a failure, after checking that it has the shape of all failures.
    #[track_caller]
    pub fn code(&self) -> Value {
        let body = self.json();
        assert_eq!(body["success"], false, "{body}");
        assert!(body["error"]["name"].is_string() && body["error"]["message"].is_string(), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json; charset=utf-8"));
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()));
        body["error"]["code"].clone()
    }
}
