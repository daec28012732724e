//! The socket without a proxy or without a daemon: a test speaks for either side, byte by byte if it wants to.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use trellis_protocol::codec::{self, LENGTH_BYTES, MARK_BYTES};
use trellis_protocol::envelope::{Caller, Frame, FrameRole, Payload, Welcome};
use trellis_protocol::{Envelope, Hello, Reply, SessionKey, Surface, version};
use trellis_tests::harness::wait::WAIT_TIMEOUT;
use trellis_tests::harness::{Home, wait_until};

/// One end of a connection.
pub(crate) struct RawConnection {
    stream: UnixStream,
    /// Where the session works that it greets for.
    directory: PathBuf,
}

impl RawConnection {
    /// Connects to the daemon of a home, as a proxy would.
    pub(crate) fn connect(home: &Home) -> Self {
        let stream = UnixStream::connect(home.paths().socket).expect("a daemon listens");
        Self { directory: home.project(), ..Self::over(stream) }
    }

    /// A client of the daemon that asks for much and reads nothing, with answers that are stuck.
    pub(crate) fn stalled(home: &Home) -> Self {
        home.write("vault/long.md", "a line of text\n".repeat(1_300));
        let mut deaf = Self::connect(home);
        deaf.greet(version::CURRENT, Caller::Proxy);
        deaf.ask(1, "initialize", opening());
        for sequence in 2..60 {
            let arguments = json!({ "path": "long.md", "full": true });
            deaf.send(&request(sequence, "tools/call", json!({ "name": "vault_read", "arguments": arguments })));
        }
        wait_until("its answers are stuck", || {
            let status = home.status().expect("a daemon");
            let busy = |session: &Value| session["in_flight"].as_u64() > Some(0);
            status["sessions"].as_array().is_some_and(|sessions| sessions.iter().any(busy)).then_some(())
        });
        deaf
    }

    /// Takes either end of a connection.
    pub(crate) fn over(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(WAIT_TIMEOUT)).expect("a time-out");
        Self { stream, directory: PathBuf::from("/") }
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the other side listens");
    }

    /// Greets and reads the reply and its number.
    pub(crate) fn greet(&mut self, number: u16, caller: Caller) -> (u16, Option<Reply>) {
        let directory = self.directory.as_os_str().as_encoded_bytes().to_vec();
        self.send_bytes(&codec::encode_hello(number, &Hello { directory, ..hello(caller) }).expect("fits"));
        self.reply()
    }

    /// The daemon's reply and its number.
    pub(crate) fn reply(&mut self) -> (u16, Option<Reply>) {
        let (number, body) = self.marked().expect("a reply");
        (number, codec::decode_reply(number, &body).expect("a reply"))
    }

    /// The greeting of a proxy and its number, if it still wants to say something.
    pub(crate) fn greeting(&mut self) -> Option<(u16, Hello)> {
        let (number, body) = self.marked().ok()?;
        Some((number, codec::decode_hello(number, &body).expect("a greeting").expect("in words we know")))
    }

    fn marked(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let mut prefix = [0; MARK_BYTES];
        self.stream.read_exact(&mut prefix)?;
        let (number, length) = codec::mark(prefix).map_err(io::Error::other)?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((number, body))
    }

    /// Replies to a greeting.
    pub(crate) fn answer(&mut self, number: u16, reply: &Reply) {
        self.send_bytes(&codec::encode_reply(number, reply).expect("fits"));
    }

    /// Sends one envelope.
    pub(crate) fn send(&mut self, envelope: &Envelope) {
        self.send_bytes(&codec::encode(envelope).expect("fits"));
    }

    /// The next envelope; nothing when the other side has closed.
    pub(crate) fn next(&mut self) -> Option<Envelope> {
        let mut prefix = [0; LENGTH_BYTES];
        self.stream.read_exact(&mut prefix).ok()?;
        let mut body = vec![0; codec::envelope_length(prefix).expect("within the limit")];
        self.stream.read_exact(&mut body).ok()?;
        Some(codec::decode(body).expect("an envelope"))
    }

    /// Asks in the handshake's revision and returns the result.
    pub(crate) fn ask(&mut self, sequence: u64, method: &str, params: Value) -> Value {
        self.send(&request(sequence, method, params));
        loop {
            match self.next() {
                Some(Envelope::Frame(frame)) if frame.sequence == sequence && frame.role == FrameRole::Answer => {
                    let answer: Value = serde_json::from_slice(&frame.payload.0).expect("JSON");
                    return answer["result"].clone();
                }
                Some(_) => {}
                None => panic!("no answer to {method}"),
            }
        }
    }

    /// Whether the other side says nothing for so long.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).expect("a time-out");
        let read = self.stream.read(&mut [0]);
        self.stream.set_read_timeout(Some(WAIT_TIMEOUT)).expect("a time-out");
        read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether the other side closes without another word.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// A request in a frame.
pub(crate) fn request(sequence: u64, method: &str, params: Value) -> Envelope {
    let message = json!({ "jsonrpc": "2.0", "id": sequence, "method": method, "params": params });
    Envelope::Frame(Frame { sequence, role: FrameRole::Answer, payload: Payload(message.to_string().into_bytes()) })
}

/// The parameters of an opening.
pub(crate) fn opening() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" } })
}

/// A greeting as plain as it can be.
pub(crate) fn hello(caller: Caller) -> Hello {
    Hello {
        build: "test".into(),
        pid: std::process::id(),
        caller,
        directory: b"/".to_vec(),
        surface: Surface::default(),
        environment: Vec::new(),
        time_zone: String::new(),
        umask: 0o022,
        resume: None,
    }
}

/// A welcome as plain as it can be.
pub(crate) fn welcome() -> Reply {
    Reply::Welcome(Welcome { build: "fake".into(), session: SessionKey(7), notice: None })
}

/// Listens where the programs of a home look for their daemon.
pub(crate) fn listen(home: &Home) -> UnixListener {
    let socket = home.paths().socket;
    let directory = socket.parent().expect("a directory");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).expect("a directory");
    UnixListener::bind(socket).expect("bind")
}

/// Answers every request of a proxy with the name of a daemon that is none.
pub(crate) fn serve(line: &mut RawConnection) {
    while let Some(envelope) = line.next() {
        let Envelope::Frame(frame) = envelope else { return };
        let message: Value = serde_json::from_slice(&frame.payload.0).expect("JSON");
        if let Some(id) = message.get("id") {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "served_by": "fake" } });
            let payload = Payload(answer.to_string().into_bytes());
            line.send(&Envelope::Frame(Frame { sequence: frame.sequence, role: FrameRole::Answer, payload }));
        }
    }
}
