//! Requests without an answer, and what the next daemon must be told. Messages of the host come in and get their
//! numbers; frames to send, sequences to retire and a [`Resume`] go out. Every queue here has an end. Pure: it knows
//! no socket, no clock and no stdout.

use std::collections::VecDeque;

use trellis_protocol::codec;
use trellis_protocol::envelope::{Envelope, Frame, Part, Payload, Resume, SessionKey, Unanswered};
use trellis_protocol::message::{self, Peek};

/// Requests that a daemon works on for one host at a time.
const IN_FLIGHT: usize = 64;
/// And how many bytes of them are kept here to be sent again; one request alone may be larger.
const IN_FLIGHT_BYTES: usize = 32 << 20;
/// Messages that wait for their turn, or for a daemon.
const WAITING: usize = 1024;
/// And their bytes; one message alone may be larger.
const WAITING_BYTES: usize = 8 << 20;
/// Bytes of subscriptions that are made again; what is beyond lives as long as its daemon.
const RENEWED_BYTES: usize = 512 << 10;
/// A request that was under way this often when a daemon died is not sent again: it may be the cause.
const SENDS: u8 = 10;

/// What acknowledges a subscription.
const ACKNOWLEDGED: &[u8] = b"notifications/subscriptions/acknowledged";

/// What a message means to a session that may have to be resumed.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Initialize,
    SetLevel,
    Subscribe(String),
    Unsubscribe(String),
    /// Stays open for as long as the host wants news.
    Listen,
    Other,
    /// Wants no answer; kept only until it is sent.
    Note,
}

impl Kind {
    fn of(method: &str, params: Option<&str>) -> Self {
        let about = |kind: fn(String) -> Self| message::uri_of(params).map_or(Self::Other, kind);
        match method {
            "initialize" => Self::Initialize,
            "logging/setLevel" => Self::SetLevel,
            "resources/subscribe" => about(Self::Subscribe),
            "resources/unsubscribe" => about(Self::Unsubscribe),
            "subscriptions/listen" => Self::Listen,
            _ => Self::Other,
        }
    }
}

#[derive(Debug)]
struct Entry {
    sequence: u64,
    /// Always a frame; kept whole, so that it is sent again as it was sent first.
    envelope: Envelope,
    /// As the host wrote it.
    id: String,
    kind: Kind,
    /// Whether the daemon that is there now has it.
    sent: bool,
    /// How many daemons have had it.
    sends: u8,
    /// Whether the host has been told that its subscription stands.
    acknowledged: bool,
}

impl Entry {
    fn bytes(&self) -> &[u8] {
        match &self.envelope {
            Envelope::Frame(frame) => &frame.payload.0,
            _ => &[],
        }
    }

    fn into_bytes(self) -> Vec<u8> {
        match self.envelope {
            Envelope::Frame(frame) => frame.payload.0,
            _ => Vec::new(),
        }
    }

    /// Whether the host waits for it.
    fn is_due(&self) -> bool {
        !matches!(self.kind, Kind::Note | Kind::Listen)
    }
}

/// What became of a message of the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It will be sent, or nobody needs it any more.
    Kept,
    /// Too many wait already.
    Busy,
}

/// A request that gets no answer from any daemon.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Orphan {
    /// The whole request.
    pub(crate) bytes: Vec<u8>,
    /// Whether a daemon may have done it.
    pub(crate) sent: bool,
}

/// The table of one session.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    last_sequence: u64,
    /// In the order of their numbers.
    entries: VecDeque<Entry>,
    /// The opening that was answered.
    initialize: Option<Vec<u8>>,
    level: Option<Vec<u8>>,
    subscriptions: Vec<(String, Vec<u8>)>,
    /// How often `initialize` was answered: a greeting made before that is out of date.
    openings: u32,
}

impl Pending {
    /// Takes a message of the host. `connected` tells whether a daemon is there to hear it.
    pub(crate) fn take(&mut self, peek: &Peek<'_>, bytes: &[u8], connected: bool) -> Taken {
        let (id, kind) = match peek {
            Peek::Request { id, method, params } => ((*id).to_owned(), Kind::of(method, *params)),
            Peek::Notification { method, params } if method == "notifications/cancelled" => {
                if !self.cancel(*params, connected) {
                    return Taken::Kept;
                }
                (String::new(), Kind::Note)
            }
            Peek::Notification { .. } => (String::new(), Kind::Note),
            // It answers a question of a daemon that is gone.
            Peek::Response { .. } if !connected => return Taken::Kept,
            Peek::Response { .. } => (String::new(), Kind::Note),
        };
        if !self.has_room(bytes.len()) {
            return if kind == Kind::Note { Taken::Kept } else { Taken::Busy };
        }
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let envelope = Envelope::Frame(Frame { sequence, part: Part::Answer, payload: Payload(bytes.to_vec()) });
        self.entries.push_back(Entry { sequence, envelope, id, kind, sent: false, sends: 0, acknowledged: false });
        Taken::Kept
    }

    /// The next envelope for the daemon, encoded. Notes pass, requests wait for their turn.
    pub(crate) fn next_to_send(&mut self) -> Option<Vec<u8>> {
        let place = self.sendable()?;
        self.send(place)
    }

    /// The opening, if the host has said nothing else yet. It alone may go to a daemon that has not welcomed us: it
    /// changes nothing, so it does no harm if that one hears it late and another one hears it again.
    pub(crate) fn opening_to_send(&mut self) -> Option<Vec<u8>> {
        let first = self.entries.front()?;
        if first.kind == Kind::Initialize && !first.sent { self.send(0) } else { None }
    }

    fn send(&mut self, place: usize) -> Option<Vec<u8>> {
        let entry = &mut self.entries[place];
        entry.sent = true;
        entry.sends = entry.sends.saturating_add(1);
        let encoded = codec::encode(&entry.envelope).ok();
        if entry.kind == Kind::Note || encoded.is_none() {
            self.entries.remove(place);
        }
        encoded
    }

    /// Whether [`Self::next_to_send`] has something.
    pub(crate) fn has_sendable(&self) -> bool {
        self.sendable().is_some()
    }

    /// The daemon answered: true if the host still waits for it.
    pub(crate) fn retire(&mut self, sequence: u64, answer: &[u8]) -> bool {
        let Some(mut entry) = self.remove(sequence) else { return false };
        // What failed changed nothing that would have to be made again.
        let kind = std::mem::replace(&mut entry.kind, Kind::Other);
        if matches!(kind, Kind::Listen | Kind::Other | Kind::Note) || message::is_error(answer) {
            return true;
        }
        match kind {
            Kind::Initialize => self.opened(entry.into_bytes()),
            Kind::SetLevel => self.level = Some(entry.into_bytes()),
            Kind::Subscribe(uri) => self.subscribed(uri, entry.into_bytes()),
            Kind::Unsubscribe(uri) => self.subscriptions.retain(|(known, _)| *known != uri),
            Kind::Listen | Kind::Other | Kind::Note => {}
        }
        true
    }

    /// The host was answered an `initialize`, by a daemon or by us.
    pub(crate) fn opened(&mut self, initialize: Vec<u8>) {
        self.initialize = Some(initialize);
        self.openings += 1;
    }

    /// Whether the host has been answered an `initialize`.
    pub(crate) fn is_open(&self) -> bool {
        self.initialize.is_some()
    }

    /// Changes when a greeting that was made before would leave something out.
    pub(crate) fn openings(&self) -> u32 {
        self.openings
    }

    /// Something reached the host for a request that stays open.
    pub(crate) fn aside(&mut self, sequence: u64, payload: &[u8]) {
        let Ok(place) = self.entries.binary_search_by_key(&sequence, |entry| entry.sequence) else { return };
        let entry = &mut self.entries[place];
        if entry.kind == Kind::Listen && !entry.acknowledged {
            entry.acknowledged = payload.windows(ACKNOWLEDGED.len()).any(|bytes| bytes == ACKNOWLEDGED);
        }
    }

    /// The daemon did not welcome us, so it has nothing of what was sent to it.
    pub(crate) fn unheard(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.sent) {
            entry.sent = false;
            entry.sends -= 1;
        }
    }

    /// The daemon is gone. What it had is to be sent again, except what has been sent too often.
    pub(crate) fn lost(&mut self) -> Vec<Orphan> {
        let mut given_up = Vec::new();
        for mut entry in std::mem::take(&mut self.entries) {
            entry.sent = false;
            if entry.sends >= SENDS && entry.is_due() {
                given_up.push(Orphan { bytes: entry.into_bytes(), sent: true });
            } else {
                self.entries.push_back(entry);
            }
        }
        given_up
    }

    /// There is no daemon to be had: everything the host waits for. Subscriptions that stand go on waiting.
    pub(crate) fn orphans(&mut self) -> Vec<Orphan> {
        let mut orphans = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            if entry.kind == Kind::Listen && entry.acknowledged {
                self.entries.push_back(entry);
            } else if entry.kind != Kind::Note {
                let sent = entry.sends > 0;
                orphans.push(Orphan { bytes: entry.into_bytes(), sent });
            }
        }
        orphans
    }

    /// What the next daemon must know; nothing if it is the first and nothing happened before it.
    pub(crate) fn resume(&self, session: Option<SessionKey>) -> Option<Resume> {
        if session.is_none() && self.initialize.is_none() {
            return None;
        }
        let renew = self.level.iter().chain(self.subscriptions.iter().map(|(_, bytes)| bytes));
        let unanswered = self.entries.iter().filter(|entry| entry.sends > 0);
        Some(Resume {
            session: session.unwrap_or_default(),
            initialize: self.initialize.clone().map(Payload),
            renew: renew.cloned().map(Payload).collect(),
            unanswered: unanswered
                .map(|entry| Unanswered { sequence: entry.sequence, acknowledged: entry.acknowledged })
                .collect(),
        })
    }

    /// Whether an answer is still due, apart from subscriptions, which have no end of their own.
    pub(crate) fn is_due(&self) -> bool {
        self.entries.iter().any(Entry::is_due)
    }

    /// Whether the session needs a daemon even if the host says nothing more.
    pub(crate) fn needs_daemon(&self) -> bool {
        !self.subscriptions.is_empty() || self.entries.iter().any(|entry| entry.kind != Kind::Note)
    }

    fn remove(&mut self, sequence: u64) -> Option<Entry> {
        let place = self.entries.binary_search_by_key(&sequence, |entry| entry.sequence).ok()?;
        self.entries.remove(place)
    }

    fn sendable(&self) -> Option<usize> {
        let mut count = 0;
        let mut bytes = 0;
        for entry in self.entries.iter().filter(|entry| entry.sent && entry.is_due()) {
            count += 1;
            bytes += entry.bytes().len();
        }
        let fits = |entry: &Entry| {
            !entry.is_due() || count == 0 || (count < IN_FLIGHT && bytes + entry.bytes().len() <= IN_FLIGHT_BYTES)
        };
        self.entries.iter().position(|entry| !entry.sent && fits(entry))
    }

    /// Whether another message may wait. What a daemon has had before is not counted.
    fn has_room(&self, length: usize) -> bool {
        let mut count = 0;
        let mut bytes = 0;
        for entry in self.entries.iter().filter(|entry| entry.sends == 0 || entry.kind == Kind::Listen) {
            count += 1;
            bytes += entry.bytes().len();
        }
        count == 0 || (count < WAITING && bytes + length <= WAITING_BYTES)
    }

    /// Forgets the request that a cancellation names; true if the daemon should hear of it.
    fn cancel(&mut self, params: Option<&str>, connected: bool) -> bool {
        let Some(target) = message::cancel_target(params) else { return connected };
        let named = |entry: &Entry| entry.kind != Kind::Note && same_id(&entry.id, &target);
        let Some(place) = self.entries.iter().rposition(named) else { return connected };
        self.entries.remove(place).is_some_and(|entry| entry.sent) && connected
    }

    fn subscribed(&mut self, uri: String, bytes: Vec<u8>) {
        self.subscriptions.retain(|(known, _)| *known != uri);
        let held: usize = self.subscriptions.iter().map(|(_, bytes)| bytes.len()).sum();
        if held + bytes.len() <= RENEWED_BYTES {
            self.subscriptions.push((uri, bytes));
        }
    }
}

/// Two spellings of one id; strings may be escaped differently.
fn same_id(one: &str, other: &str) -> bool {
    let text = |raw: &str| serde_json::from_str::<String>(raw).ok();
    one == other || (one.starts_with('"') && other.starts_with('"') && text(one) == text(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pending: &mut Pending, text: &str, connected: bool) -> Taken {
        let peek = message::peek(text.as_bytes()).expect("a message");
        pending.take(&peek, text.as_bytes(), connected)
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
    fn send(pending: &mut Pending) -> Vec<u64> {
        std::iter::from_fn(|| pending.next_to_send())
            .map(|bytes| match codec::decode(bytes[codec::LENGTH_BYTES..].to_vec()) {
                Ok(Envelope::Frame(frame)) => frame.sequence,
                other => panic!("not a frame: {other:?}"),
            })
            .collect()
    }

    #[test]
    fn every_message_has_a_number_and_an_answer_is_owed_once() {
        let mut pending = Pending::default();
        take(&mut pending, &request(1, "ping"), true);
        take(&mut pending, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, true);
        take(&mut pending, &request(2, "ping"), true);
        assert_eq!(send(&mut pending), [1, 2, 3]);
        assert!(pending.is_due());
        assert!(pending.retire(3, b"{}") && pending.retire(1, b"{}"));
        assert!(!pending.retire(1, b"{}") && !pending.retire(2, b"{}") && !pending.retire(0, b"{}"));
        assert!(!pending.is_due() && !pending.needs_daemon());
    }

    #[test]
    fn what_a_dead_daemon_had_is_sent_again_with_its_number_but_not_for_ever() {
        let mut pending = Pending::default();
        take(&mut pending, &request(7, "tools/call"), true);
        for _ in 0..SENDS - 1 {
            assert_eq!(send(&mut pending), [1]);
            assert_eq!(pending.lost(), []);
        }
        take(&mut pending, &request(8, "tools/call"), false);
        assert_eq!(send(&mut pending), [1, 2]);
        let given_up = pending.lost();
        assert_eq!(given_up, [Orphan { bytes: request(7, "tools/call").into_bytes(), sent: true }]);
        assert_eq!(send(&mut pending), [2]);
    }

    #[test]
    fn a_cancelled_request_is_forgotten_and_the_daemon_hears_of_it_only_if_it_knows_it() {
        let mut pending = Pending::default();
        take(&mut pending, r#"{"jsonrpc":"2.0","id":"\u0061","method":"x"}"#, true);
        assert_eq!(send(&mut pending), [1]);
        take(&mut pending, &cancel(r#""a""#), true);
        assert_eq!(send(&mut pending), [2]);
        assert!(!pending.retire(1, b"{}"));

        take(&mut pending, &request(5, "x"), false);
        take(&mut pending, &cancel("5"), false);
        take(&mut pending, &cancel("6"), false);
        assert_eq!(send(&mut pending), [0; 0]);
    }

    #[test]
    fn only_the_opening_goes_before_the_welcome_and_counts_for_nothing_without_one() {
        let mut pending = Pending::default();
        take(&mut pending, &request(1, "initialize"), false);
        take(&mut pending, &request(2, "tools/call"), false);
        assert!(pending.opening_to_send().is_some());
        assert_eq!(pending.opening_to_send(), None);
        pending.unheard();
        let orphans = pending.orphans();
        assert_eq!(orphans.iter().map(|orphan| orphan.sent).collect::<Vec<_>>(), [false, false]);
        take(&mut pending, &request(3, "tools/call"), false);
        assert_eq!(pending.opening_to_send(), None, "a call may change something");
    }

    #[test]
    fn only_an_answered_opening_is_replayed() {
        let mut pending = Pending::default();
        assert_eq!(pending.resume(None), None);
        take(&mut pending, &request(1, "initialize"), true);
        send(&mut pending);
        let key = SessionKey(9);
        let resume = pending.resume(Some(key)).expect("welcomed before");
        assert_eq!((resume.session, resume.initialize), (key, None));
        assert_eq!(resume.unanswered, [Unanswered { sequence: 1, acknowledged: false }]);
        pending.retire(1, b"{}");
        let resume = pending.resume(None).expect("opened before");
        assert_eq!(resume.initialize, Some(Payload(request(1, "initialize").into_bytes())));
        assert_eq!((resume.session, resume.unanswered.len()), (SessionKey::default(), 0));
    }

    #[test]
    fn levels_and_subscriptions_are_renewed() {
        let mut pending = Pending::default();
        let talk = [
            request(1, "logging/setLevel"),
            about(2, "resources/subscribe", "a:1"),
            about(3, "resources/subscribe", "a:2"),
            about(4, "resources/subscribe", "a:1"),
            about(5, "resources/unsubscribe", "a:2"),
            request(6, "logging/setLevel"),
        ];
        for text in &talk {
            take(&mut pending, text, true);
        }
        for sequence in send(&mut pending) {
            pending.retire(sequence, b"{}");
        }
        take(&mut pending, &about(7, "resources/subscribe", "a:3"), true);
        assert!(send(&mut pending) == [7] && pending.retire(7, br#"{"error":{}}"#));
        let renew = pending.resume(Some(SessionKey(1))).expect("welcomed before").renew;
        assert_eq!(renew, [&talk[5], &talk[3]].map(|text| Payload(text.clone().into_bytes())));
        assert!(pending.needs_daemon());
    }

    #[test]
    fn a_subscription_that_stands_outlives_daemons() {
        let mut pending = Pending::default();
        take(&mut pending, &request(1, "subscriptions/listen"), true);
        for _ in 0..SENDS + 2 {
            assert_eq!(send(&mut pending), [1]);
            pending.aside(1, br#"{"method":"notifications/subscriptions/acknowledged"}"#);
            assert_eq!(pending.lost(), []);
        }
        let resume = pending.resume(Some(SessionKey(1))).expect("welcomed before");
        assert_eq!(resume.unanswered, [Unanswered { sequence: 1, acknowledged: true }]);
        assert_eq!(pending.orphans(), []);
        assert!(pending.needs_daemon() && !pending.is_due());
    }

    #[test]
    fn orphans_say_whether_a_daemon_may_have_done_them() {
        let mut pending = Pending::default();
        take(&mut pending, &request(1, "a"), true);
        send(&mut pending);
        pending.lost();
        take(&mut pending, &request(2, "b"), false);
        let sent: Vec<bool> = pending.orphans().into_iter().map(|orphan| orphan.sent).collect();
        assert_eq!(sent, [true, false]);
        assert!(!pending.is_due());
    }

    #[test]
    fn requests_wait_for_their_turn_and_the_queue_has_an_end() {
        let mut pending = Pending::default();
        let all = (IN_FLIGHT + WAITING) as u32;
        for id in 0..all {
            assert_eq!(take(&mut pending, &request(id, "x"), true), Taken::Kept);
            if id < IN_FLIGHT as u32 {
                assert_eq!(send(&mut pending).len(), 1);
            }
        }
        assert_eq!(take(&mut pending, &request(all, "x"), true), Taken::Busy);
        assert!(!pending.has_sendable());
        pending.retire(1, b"{}");
        assert_eq!(send(&mut pending), [IN_FLIGHT as u64 + 1]);
        assert_eq!(take(&mut pending, &request(all, "x"), true), Taken::Kept);
    }

    #[test]
    fn large_messages_wait_one_behind_the_other() {
        let mut pending = Pending::default();
        let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":["{}"]}}"#, "x".repeat(15 << 20));
        for _ in 0..3 {
            assert_eq!(take(&mut pending, &large, true), Taken::Kept);
            send(&mut pending);
        }
        assert_eq!(take(&mut pending, &large, true), Taken::Busy);
        pending.retire(1, b"{}");
        assert_eq!(send(&mut pending), [3]);
    }

    #[test]
    fn answers_to_a_daemon_that_is_gone_are_dropped() {
        let mut pending = Pending::default();
        take(&mut pending, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, false);
        assert_eq!(send(&mut pending), [0; 0]);
        take(&mut pending, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true);
        assert_eq!(send(&mut pending), [1]);
    }
}
