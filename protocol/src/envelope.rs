//! What travels between proxy and daemon.
//!
//! A connection opens with one greeting and one reply, each marked with its protocol number; after
//! that both sides send [`Envelope`]s. JSON-RPC messages are carried as bytes and never re-encoded.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Surface;
use crate::control::{ControlReply, ControlRequest};

/// The first words of a proxy or of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the program, for people.
    pub build: String,
    /// For display only: a pid is never proof of anything.
    pub pid: u32,
    /// Who is calling.
    pub caller: Caller,
    /// The directory the session works in, as given with `--cwd` or inherited.
    #[serde(with = "serde_bytes")]
    pub directory: Vec<u8>,
    /// What the session may see.
    pub surface: Surface,
    /// The session's own settings, paths already absolute. Never a secret.
    pub environment: Vec<(String, String)>,
    /// An IANA name, or empty when unknown: dates in names of new files are the session's.
    pub time_zone: String,
    /// New files get `0666 & !umask`.
    pub umask: u32,
    /// What this session had with a daemon that is gone.
    pub resume: Option<Resume>,
}

/// Stands in a session's environment if its directory was named with `--cwd`.
pub const EXPLICIT_DIRECTORY: &str = "TRELLIS_CWD";

/// Who is calling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caller {
    /// Speaks MCP in frames.
    Proxy,
    /// Sends one [`ControlRequest`] and reads its [`ControlReply`].
    CommandLine,
}

/// What a session needs to go on with another daemon as if nothing had happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Under which name the journal knows the session.
    pub session: SessionKey,
    /// The host's `initialize` request, if it sent one.
    pub initialize: Option<Payload>,
    /// Requests whose effect must be made again without being answered: log level, subscriptions.
    pub replay: Vec<Payload>,
    /// Requests still without an answer; they follow as frames with these numbers.
    pub unanswered: Vec<UnansweredRequest>,
}

/// One request that is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnansweredRequest {
    /// The number of its frame.
    pub sequence: u64,
    /// Whether its acknowledgement has reached the host already (`subscriptions/listen`).
    pub acknowledged: bool,
}

/// One JSON-RPC message, as it came.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload(#[serde(with = "serde_bytes")] pub Vec<u8>);

impl fmt::Debug for Payload {
    /// Bodies stay out of logs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Payload({} bytes)", self.0.len())
    }
}

/// Names a session across daemons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionKey(pub u128);

impl fmt::Display for SessionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// The daemon's answer to a greeting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The session is served.
    Welcome(Welcome),
    /// It is not, and this is why.
    Refused(Refused),
}

/// What a served session should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version of the daemon, for people.
    pub build: String,
    /// The name to resume under.
    pub session: SessionKey,
    /// A line the proxy should put on its stderr, such as a setting that came too late.
    pub notice: Option<String>,
}

/// Why a session is not served, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// What a program can act on.
    pub reason: RefusalReason,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// What a program can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalReason {
    /// The greeting's number is not one the daemon reads.
    Version,
    /// The flags name something that does not exist.
    Surface,
    /// The daemon is about to leave; the next one will answer.
    Draining,
    /// Too many clients, or something else that may pass.
    Busy,
}

/// Everything after the greeting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Envelope {
    /// A JSON-RPC message, or a part of one.
    Frame(Frame),
    /// From the command line.
    ControlRequest(ControlRequest),
    /// To the command line.
    ControlReply(ControlReply),
    /// The last envelope of a connection that ends on purpose.
    Close(CloseReason),
}

/// A JSON-RPC message, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// From the proxy: the number of this message, counted from 1 over the whole session.
    /// From the daemon: the number of the request it belongs to, 0 for none.
    pub sequence: u64,
    /// What the message is to the request with that number.
    pub role: FrameRole,
    pub payload: Payload,
}

/// What a frame is to the request with its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameRole {
    /// Goes on in the next frame with the same number.
    Continued,
    /// Ends a message that answers the request (from the proxy: a whole message).
    Answer,
    /// Ends a message that does not answer it: a notification, a request of the daemon's.
    Unsolicited,
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CloseReason {
    /// The host closed its side.
    Done,
    /// The daemon leaves; another may follow.
    Draining,
    /// The other side did not read, or broke the rules.
    Dropped,
}
