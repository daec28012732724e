//! Requests without an answer, and what the next daemon must be told. Messages of the host come in and get their
//! numbers; frames to send and a [`Resume`] go out. This is where requests wait if there are too many for the daemon.
//! Pure: it knows no socket, no clock and no stdout.

use std::collections::VecDeque;

use trellis_protocol::codec::{self, FrameView};
use trellis_protocol::envelope::{FrameRole, Payload, Resume, SessionKey, UnansweredRequest};
use trellis_protocol::limits::{MAX_QUEUED, MAX_QUEUED_BYTES, MAX_RUNNING, MAX_RUNNING_BYTES};
use trellis_protocol::message::{self, MessageHead};

/// Subscriptions beyond this are not made again: they live as long as their daemon.
const MAX_REPLAY_BYTES: usize = 512 << 10;
/// A request that was under way this often when a daemon died is not sent again: it may be the cause.
const MAX_SENDS: u8 = 10;

/// The notification that acknowledges a `subscriptions/listen`.
const ACKNOWLEDGED: &[u8] = b"notifications/subscriptions/acknowledged";

/// What a message means to a session that may have to be resumed.
#[derive(Debug, PartialEq, Eq)]
enum MessageClass {
    Initialize,
    SetLevel,
    Subscribe(String),
    Unsubscribe(String),
    /// Stays open for as long as the host wants news.
    Listen,
    OtherRequest,
    /// Wants no answer, be it a notification or a response; kept only until it is sent.
    Unanswerable,
}

impl MessageClass {
    fn of(method: &str, params: Option<&str>) -> Self {
        let about = |class: fn(String) -> Self| message::uri_of(params).map_or(Self::OtherRequest, class);
        match method {
            "initialize" => Self::Initialize,
            "logging/setLevel" => Self::SetLevel,
            "resources/subscribe" => about(Self::Subscribe),
            "resources/unsubscribe" => about(Self::Unsubscribe),
            "subscriptions/listen" => Self::Listen,
            _ => Self::OtherRequest,
        }
    }
}

#[derive(Debug)]
struct PendingMessage {
    sequence: u64,
    bytes: Vec<u8>,
    /// As the host wrote it; empty if it wants no answer.
    id: String,
    class: MessageClass,
    /// Whether the daemon that is there now has it.
    sent: bool,
    /// How many daemons have had it.
    sends: u8,
    /// Whether the host has been told that its subscription stands.
    acknowledged: bool,
}

impl PendingMessage {
    /// Whether the host waits for an answer that comes by itself.
    fn is_due(&self) -> bool {
        !matches!(self.class, MessageClass::Unanswerable | MessageClass::Listen)
    }
}

/// Too many requests wait already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

/// A request that gets no answer from any daemon.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AbandonedRequest {
    pub(crate) bytes: Vec<u8>,
    /// Whether a daemon may have done it.
    pub(crate) sent: bool,
}

#[derive(Debug, Default)]
pub(crate) struct PendingRequests {
    last_sequence: u64,
    /// In the order in which they are sent.
    messages: VecDeque<PendingMessage>,
    /// The `initialize` that was answered last.
    initialize: Option<Vec<u8>>,
    level: Option<Vec<u8>>,
    subscriptions: Vec<(String, Vec<u8>)>,
    /// How often `initialize` was answered: a greeting made before the last time is out of date.
    pub(crate) initialize_count: u32,
}

impl PendingRequests {
    /// Queues a message of the host. `connected` tells whether a daemon is there to hear it.
    pub(crate) fn accept(&mut self, head: &MessageHead<'_>, bytes: &[u8], connected: bool) -> Result<(), QueueFull> {
        let is_cancellation =
            matches!(head, MessageHead::Notification { method, .. } if method == "notifications/cancelled");
        let (id, class) = match head {
            MessageHead::Request { id, method, params } => ((*id).to_owned(), MessageClass::of(method, *params)),
            MessageHead::Notification { params, .. } if is_cancellation && !self.cancel(*params, connected) => {
                return Ok(());
            }
            // It answers a question of a daemon that is gone.
            MessageHead::Response { .. } if !connected => return Ok(()),
            MessageHead::Notification { .. } | MessageHead::Response { .. } => {
                (String::new(), MessageClass::Unanswerable)
            }
        };
        if !self.has_room(bytes.len()) {
            return if class == MessageClass::Unanswerable { Ok(()) } else { Err(QueueFull) };
        }
        self.last_sequence += 1;
        let (sequence, bytes) = (self.last_sequence, bytes.to_vec());
        let pending = PendingMessage { sequence, bytes, id, class, sent: false, sends: 0, acknowledged: false };
        if is_cancellation {
            // Until the daemon hears of it, the cancelled request is one of those that it works on.
            self.messages.push_front(pending);
        } else {
            self.messages.push_back(pending);
        }
        Ok(())
    }

    /// The next envelope for the daemon, encoded.
    pub(crate) fn next_to_send(&mut self) -> Option<Vec<u8>> {
        let place = self.sendable()?;
        let pending = &mut self.messages[place];
        pending.sent = true;
        pending.sends = pending.sends.saturating_add(1);
        let frame = FrameView { sequence: pending.sequence, role: FrameRole::Answer, payload: &pending.bytes };
        let encoded = codec::encode_frame(frame).ok();
        if pending.class == MessageClass::Unanswerable || encoded.is_none() {
            self.messages.remove(place);
        }
        encoded
    }

    /// The daemon answered: true if the host still waits for it.
    pub(crate) fn complete(&mut self, sequence: u64, answer: &[u8]) -> bool {
        let Some(request) = self.position(sequence).and_then(|place| self.messages.remove(place)) else { return false };
        // What failed changed nothing that would have to be made again.
        let failed = || message::is_error(answer);
        match request.class {
            MessageClass::Initialize if !failed() => self.initialized(request.bytes),
            MessageClass::SetLevel if !failed() => self.level = Some(request.bytes),
            MessageClass::Subscribe(uri) if !failed() => self.subscribed(uri, request.bytes),
            MessageClass::Unsubscribe(uri) if !failed() => self.subscriptions.retain(|(known, _)| *known != uri),
            _ => {}
        }
        true
    }

    /// The host was answered an `initialize`, by a daemon or by us.
    pub(crate) fn initialized(&mut self, initialize: Vec<u8>) {
        self.initialize = Some(initialize);
        self.initialize_count += 1;
    }

    /// Something reached the host for a request that stays open.
    pub(crate) fn acknowledge(&mut self, sequence: u64, payload: &[u8]) {
        let Some(place) = self.position(sequence) else { return };
        let request = &mut self.messages[place];
        if request.class == MessageClass::Listen && !request.acknowledged {
            request.acknowledged = payload.windows(ACKNOWLEDGED.len()).any(|bytes| bytes == ACKNOWLEDGED);
        }
    }

    /// The daemon is gone. What it had is to be sent again, except what has been sent too often.
    pub(crate) fn disconnected(&mut self) -> Vec<AbandonedRequest> {
        let mut given_up = Vec::new();
        for mut pending in std::mem::take(&mut self.messages) {
            pending.sent = false;
            if pending.sends >= MAX_SENDS && pending.is_due() {
                given_up.push(AbandonedRequest { bytes: pending.bytes, sent: true });
            } else {
                self.messages.push_back(pending);
            }
        }
        given_up
    }

    /// There is no daemon to be had: everything the host waits for. Subscriptions that stand go on waiting.
    pub(crate) fn abandon_all(&mut self) -> Vec<AbandonedRequest> {
        let mut abandoned = Vec::new();
        for pending in std::mem::take(&mut self.messages) {
            if pending.class == MessageClass::Listen && pending.acknowledged {
                self.messages.push_back(pending);
            } else if pending.class != MessageClass::Unanswerable {
                abandoned.push(AbandonedRequest { bytes: pending.bytes, sent: pending.sends > 0 });
            }
        }
        abandoned
    }

    /// What the next daemon must know; nothing if it is the first and nothing happened before it.
    pub(crate) fn resume(&self, session: Option<SessionKey>) -> Option<Resume> {
        if session.is_none() && self.initialize.is_none() {
            return None;
        }
        let replay = self.level.iter().chain(self.subscriptions.iter().map(|(_, bytes)| bytes));
        let unanswered = self.messages.iter().filter(|pending| pending.sends > 0);
        Some(Resume {
            session: session.unwrap_or_default(),
            initialize: self.initialize.clone().map(Payload),
            replay: replay.cloned().map(Payload).collect(),
            unanswered: unanswered
                .map(|pending| UnansweredRequest { sequence: pending.sequence, acknowledged: pending.acknowledged })
                .collect(),
        })
    }

    /// Whether an answer is still due, apart from subscriptions, which have no end of their own.
    pub(crate) fn is_due(&self) -> bool {
        self.messages.iter().any(PendingMessage::is_due)
    }

    /// Whether the session needs a daemon even if the host says nothing more.
    pub(crate) fn needs_daemon(&self) -> bool {
        let awaits = |pending: &PendingMessage| pending.class != MessageClass::Unanswerable;
        !self.subscriptions.is_empty() || self.messages.iter().any(awaits)
    }

    fn position(&self, sequence: u64) -> Option<usize> {
        self.messages.iter().position(|pending| pending.sequence == sequence)
    }

    /// The first message that may be sent now. Requests wait for their turn, and for the answer to an `initialize`
    /// before them, which is to be the first that the host gets; everything else passes them.
    fn sendable(&self) -> Option<usize> {
        let (count, bytes) = total(self.messages.iter().filter(|pending| pending.sent && pending.is_due()));
        let mut after_initialize = false;
        self.messages.iter().position(|pending| {
            let may_go = match pending.class {
                MessageClass::Unanswerable => true,
                _ if after_initialize => false,
                MessageClass::Listen => true,
                _ => count == 0 || (count < MAX_RUNNING && bytes + pending.bytes.len() <= MAX_RUNNING_BYTES),
            };
            after_initialize |= pending.class == MessageClass::Initialize;
            may_go && !pending.sent
        })
    }

    /// Whether another message may wait. What a daemon has had before is not counted.
    fn has_room(&self, length: usize) -> bool {
        let waiting = |pending: &&PendingMessage| pending.sends == 0 || pending.class == MessageClass::Listen;
        let (count, bytes) = total(self.messages.iter().filter(waiting));
        count == 0 || (count < MAX_QUEUED && bytes + length <= MAX_QUEUED_BYTES)
    }

    /// Forgets the request that a cancellation names; true if the daemon should hear of it.
    fn cancel(&mut self, params: Option<&str>, connected: bool) -> bool {
        let Some(target) = message::cancel_target(params) else { return connected };
        let named =
            |pending: &PendingMessage| pending.class != MessageClass::Unanswerable && same_id(&pending.id, &target);
        let Some(place) = self.messages.iter().rposition(named) else { return connected };
        self.messages.remove(place).is_some_and(|pending| pending.sent) && connected
    }

    fn subscribed(&mut self, uri: String, bytes: Vec<u8>) {
        self.subscriptions.retain(|(known, _)| *known != uri);
        let held: usize = self.subscriptions.iter().map(|(_, bytes)| bytes.len()).sum();
        if held + bytes.len() <= MAX_REPLAY_BYTES {
            self.subscriptions.push((uri, bytes));
        }
    }
}

/// How many messages there are, and their bytes.
fn total<'a>(messages: impl Iterator<Item = &'a PendingMessage>) -> (usize, usize) {
    messages.fold((0, 0), |(count, bytes), pending| (count + 1, bytes + pending.bytes.len()))
}

/// Two spellings of one id; strings may be escaped differently.
fn same_id(one: &str, other: &str) -> bool {
    let text = |raw: &str| serde_json::from_str::<String>(raw).ok();
    one == other || (one.starts_with('"') && other.starts_with('"') && text(one) == text(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(pending: &mut PendingRequests, text: &str, connected: bool) {
        assert_eq!(try_accept(pending, text, connected), Ok(()));
    }

    fn try_accept(pending: &mut PendingRequests, text: &str, connected: bool) -> Result<(), QueueFull> {
        let head = message::read_head(text.as_bytes()).expect("a message");
        pending.accept(&head, text.as_bytes(), connected)
    }

    fn request(id: u32, method: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
    }

    fn about(id: u32, method: &str, uri: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":"{uri}"}}}}"#)
    }

    fn cancel(id: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    }

    /// The sequences of all that can be sent now.
    fn send(pending: &mut PendingRequests) -> Vec<u64> {
        std::iter::from_fn(|| pending.next_to_send())
            .map(|bytes| codec::view_frame(&bytes[codec::LENGTH_BYTES..]).expect("a frame").sequence)
            .collect()
    }

    #[test]
    fn every_message_has_a_number_and_an_answer_is_owed_once() {
        let mut pending = PendingRequests::default();
        accept(&mut pending, &request(1, "ping"), true);
        accept(&mut pending, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, true);
        accept(&mut pending, &request(2, "ping"), true);
        assert_eq!(send(&mut pending), [1, 2, 3]);
        assert!(pending.is_due());
        assert!(pending.complete(3, b"{}") && pending.complete(1, b"{}"));
        assert!(!pending.complete(1, b"{}") && !pending.complete(2, b"{}") && !pending.complete(0, b"{}"));
        assert!(!pending.is_due() && !pending.needs_daemon());
    }

    #[test]
    fn what_a_dead_daemon_had_is_sent_again_with_its_number_but_not_for_ever() {
        let mut pending = PendingRequests::default();
        accept(&mut pending, &request(7, "tools/call"), true);
        for _ in 0..MAX_SENDS - 1 {
            assert_eq!(send(&mut pending), [1]);
            assert_eq!(pending.disconnected(), []);
        }
        accept(&mut pending, &request(8, "tools/call"), false);
        assert_eq!(send(&mut pending), [1, 2]);
        let given_up = pending.disconnected();
        assert_eq!(given_up, [AbandonedRequest { bytes: request(7, "tools/call").into_bytes(), sent: true }]);
        assert_eq!(send(&mut pending), [2]);
    }

    #[test]
    fn a_cancelled_request_is_forgotten_and_the_daemon_hears_of_it_only_if_it_knows_it() {
        let mut pending = PendingRequests::default();
        accept(&mut pending, r#"{"jsonrpc":"2.0","id":"\u0061","method":"x"}"#, true);
        assert_eq!(send(&mut pending), [1]);
        accept(&mut pending, &cancel(r#""a""#), true);
        assert_eq!(send(&mut pending), [2]);
        assert!(!pending.complete(1, b"{}"));

        accept(&mut pending, &request(5, "x"), false);
        accept(&mut pending, &cancel("5"), false);
        accept(&mut pending, &cancel("6"), false);
        assert_eq!(send(&mut pending), [0; 0]);
    }

    #[test]
    fn only_an_answered_initialize_is_replayed() {
        let mut pending = PendingRequests::default();
        assert_eq!(pending.resume(None), None);
        accept(&mut pending, &request(1, "initialize"), true);
        send(&mut pending);
        let key = SessionKey(9);
        let resume = pending.resume(Some(key)).expect("welcomed before");
        assert_eq!((resume.session, resume.initialize), (key, None));
        assert_eq!(resume.unanswered, [UnansweredRequest { sequence: 1, acknowledged: false }]);
        pending.complete(1, b"{}");
        let resume = pending.resume(None).expect("initialized before");
        assert_eq!(resume.initialize, Some(Payload(request(1, "initialize").into_bytes())));
        assert_eq!((resume.session, resume.unanswered.len()), (SessionKey::default(), 0));
    }

    #[test]
    fn levels_and_subscriptions_are_renewed() {
        let mut pending = PendingRequests::default();
        let talk = [
            request(1, "logging/setLevel"),
            about(2, "resources/subscribe", "a:1"),
            about(3, "resources/subscribe", "a:2"),
            about(4, "resources/subscribe", "a:1"),
            about(5, "resources/unsubscribe", "a:2"),
            request(6, "logging/setLevel"),
        ];
        for text in &talk {
            accept(&mut pending, text, true);
        }
        for sequence in send(&mut pending) {
            pending.complete(sequence, b"{}");
        }
        accept(&mut pending, &about(7, "resources/subscribe", "a:3"), true);
        assert!(send(&mut pending) == [7] && pending.complete(7, br#"{"error":{}}"#));
        let replay = pending.resume(Some(SessionKey(1))).expect("welcomed before").replay;
        assert_eq!(replay, [&talk[5], &talk[3]].map(|text| Payload(text.clone().into_bytes())));
        assert!(pending.needs_daemon());
    }

    #[test]
    fn a_subscription_that_stands_outlives_daemons() {
        let mut pending = PendingRequests::default();
        accept(&mut pending, &request(1, "subscriptions/listen"), true);
        for _ in 0..MAX_SENDS + 2 {
            assert_eq!(send(&mut pending), [1]);
            pending.acknowledge(1, br#"{"method":"notifications/subscriptions/acknowledged"}"#);
            assert_eq!(pending.disconnected(), []);
        }
        let resume = pending.resume(Some(SessionKey(1))).expect("welcomed before");
        assert_eq!(resume.unanswered, [UnansweredRequest { sequence: 1, acknowledged: true }]);
        assert_eq!(pending.abandon_all(), []);
        assert!(pending.needs_daemon() && !pending.is_due());
    }

    #[test]
    fn abandoned_requests_say_whether_a_daemon_may_have_done_them() {
        let mut pending = PendingRequests::default();
        accept(&mut pending, &request(1, "a"), true);
        send(&mut pending);
        pending.disconnected();
        accept(&mut pending, &request(2, "b"), false);
        let sent: Vec<bool> = pending.abandon_all().into_iter().map(|request| request.sent).collect();
        assert_eq!(sent, [true, false]);
        assert!(!pending.is_due());
    }

    #[test]
    fn requests_wait_for_their_turn_and_the_queue_has_an_end() {
        let mut pending = PendingRequests::default();
        let all = (MAX_RUNNING + MAX_QUEUED) as u32;
        for id in 0..all {
            accept(&mut pending, &request(id, "x"), true);
            if id < MAX_RUNNING as u32 {
                assert_eq!(send(&mut pending).len(), 1);
            }
        }
        assert_eq!(try_accept(&mut pending, &request(all, "x"), true), Err(QueueFull));
        assert_eq!(send(&mut pending), [0; 0]);
        pending.complete(1, b"{}");
        assert_eq!(send(&mut pending), [MAX_RUNNING as u64 + 1]);
        accept(&mut pending, &request(all, "x"), true);
    }

    #[test]
    fn the_answer_to_initialize_comes_before_what_was_asked_after_it() {
        let mut pending = PendingRequests::default();
        accept(&mut pending, &request(1, "server/discover"), true);
        accept(&mut pending, &request(2, "initialize"), true);
        accept(&mut pending, &request(3, "tools/list"), true);
        accept(&mut pending, &request(4, "subscriptions/listen"), true);
        accept(&mut pending, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, true);
        assert_eq!(send(&mut pending), [1, 2, 5], "notifications pass");
        pending.complete(1, b"{}");
        assert_eq!(send(&mut pending), [0; 0]);
        pending.disconnected();
        assert_eq!(send(&mut pending), [2], "the next daemon answers it first, too");
        pending.complete(2, b"{}");
        assert_eq!(send(&mut pending), [3, 4]);

        accept(&mut pending, &request(6, "initialize"), true);
        accept(&mut pending, &request(7, "ping"), true);
        assert_eq!(send(&mut pending), [6]);
        accept(&mut pending, &cancel("6"), true);
        assert_eq!(send(&mut pending), [8, 7], "nobody waits for what was cancelled");
    }

    #[test]
    fn a_request_that_waits_is_cancelled_here() {
        let mut pending = PendingRequests::default();
        for id in 1..=MAX_RUNNING as u32 + 2 {
            accept(&mut pending, &request(id, "x"), true);
        }
        assert_eq!(send(&mut pending).len(), MAX_RUNNING);
        accept(&mut pending, &cancel("65"), true);
        assert_eq!(send(&mut pending), [0; 0], "the daemon never heard of it");
        pending.complete(1, b"{}");
        assert_eq!(send(&mut pending), [66]);
    }

    #[test]
    fn the_daemon_hears_of_a_cancellation_before_the_next_request() {
        let mut pending = PendingRequests::default();
        for id in 1..=MAX_RUNNING as u32 + 1 {
            accept(&mut pending, &request(id, "x"), true);
        }
        assert_eq!(send(&mut pending).len(), MAX_RUNNING);
        accept(&mut pending, &cancel("1"), true);
        assert_eq!(send(&mut pending), [66, 65]);
    }

    #[test]
    fn large_messages_wait_one_behind_the_other() {
        let mut pending = PendingRequests::default();
        let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":["{}"]}}"#, "x".repeat(15 << 20));
        for _ in 0..3 {
            accept(&mut pending, &large, true);
            send(&mut pending);
        }
        assert_eq!(try_accept(&mut pending, &large, true), Err(QueueFull));
        pending.complete(1, b"{}");
        assert_eq!(send(&mut pending), [3]);
    }

    #[test]
    fn answers_to_a_daemon_that_is_gone_are_dropped() {
        let mut pending = PendingRequests::default();
        accept(&mut pending, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, false);
        assert_eq!(send(&mut pending), [0; 0]);
        accept(&mut pending, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true);
        assert_eq!(send(&mut pending), [1]);
    }
}
