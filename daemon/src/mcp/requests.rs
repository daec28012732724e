//! The table of a session's requests: running, queued, and answered but not acknowledged.
//!
//! Messages come in with their sequence numbers; each is dispatched, answered or ignored. Requests are refused when too
//! many are under way, and one that was cancelled is under way until nobody works on it any more; notifications and
//! responses are never refused. No I/O here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, GetExtensions as _, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId,
};
use serde_json::json;
use trellis_protocol::limits::{MAX_RUNNING, MAX_RUNNING_BYTES, MAX_SUBSCRIPTIONS};
use trellis_protocol::message::{self, INVALID_PARAMS, INVALID_REQUEST, SERVER_ERROR};

use super::decode::{DecodedMessage, decode, meta};
use super::handler::AnswerSlot;
use super::revision::{Meta, Revision};

/// Requests that were cancelled and have not ended yet; beyond that no further one begins.
const MAX_CANCELLED: usize = 1024;

/// What is to be done with a message.
#[derive(Debug)]
pub enum RequestAdmission {
    /// rmcp gets it now.
    Pass(Box<ClientJsonRpcMessage>),
    /// It is answered without rmcp.
    Answer(Vec<u8>),
    /// Nothing: nobody waits for an answer.
    Ignore,
}

/// The requests of one session.
#[derive(Debug, Default)]
pub struct RequestTable {
    revision: Revision,
    running: HashMap<RequestId, RunningRequest>,
    slots: usize,
    unfinished: Arc<UnfinishedRequests>,
    acknowledged: HashSet<u64>,
    replayed: u64,
}

/// What requests take up until each has ended, whether or not anybody still waits for its answer.
#[derive(Debug, Default)]
struct UnfinishedRequests {
    count: AtomicUsize,
    bytes: AtomicUsize,
}

/// The part of one request in that. It is given back when the last one who works on the request lets go of it.
#[derive(Debug)]
pub struct RequestShare {
    unfinished: Arc<UnfinishedRequests>,
    bytes: usize,
}

impl RequestShare {
    fn new(unfinished: &Arc<UnfinishedRequests>, bytes: usize) -> Self {
        unfinished.count.fetch_add(1, Ordering::Relaxed);
        unfinished.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { unfinished: Arc::clone(unfinished), bytes }
    }
}

impl Drop for RequestShare {
    fn drop(&mut self) {
        self.unfinished.count.fetch_sub(1, Ordering::Relaxed);
        self.unfinished.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A request that was passed on.
#[derive(Debug)]
struct RunningRequest {
    /// The number of its frame, 0 if nobody is owed an answer; and where its answer will be.
    slot: AnswerSlot,
    /// Stays open on purpose, so nothing waits for its answer.
    is_long_lived: bool,
    size: usize,
}

impl RunningRequest {
    /// Whether it is counted among the running ones: not what stays open, and not what nobody waits for.
    fn takes_a_slot(&self) -> bool {
        !self.is_long_lived && self.slot.sequence != 0
    }
}

impl RequestTable {
    /// The requests of a session that begins, or goes on after a handshake with another daemon.
    pub fn new(had_handshake: bool, acknowledged: impl IntoIterator<Item = u64>) -> Self {
        Self {
            revision: if had_handshake { Revision::Handshake } else { Revision::Fresh },
            acknowledged: acknowledged.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Decides about one message.
    pub fn admit(&mut self, sequence: u64, bytes: &[u8]) -> RequestAdmission {
        match decode(bytes) {
            Ok(DecodedMessage::Request { id, method, declares_version, mut message }) => {
                if !self.revision.admits(&method, || meta(bytes, declares_version)) {
                    let sentence = "send `initialize` first, or give `io.modelcontextprotocol/protocolVersion` and \
                                    `io.modelcontextprotocol/clientCapabilities` in `_meta`";
                    return refuse(&id, INVALID_PARAMS, sentence, None);
                }
                if method == "server/discover" && meta(bytes, declares_version) == Meta::Absent {
                    declare_modern(&mut message);
                }
                if self.running.contains_key(&id) {
                    let sentence = "a request with this id is still being worked on: use another id";
                    return refuse(&id, INVALID_REQUEST, sentence, None);
                }
                let slot = AnswerSlot { sequence, ..AnswerSlot::default() };
                let running =
                    RunningRequest { slot, is_long_lived: method == "subscriptions/listen", size: bytes.len() };
                match self.limit_reached_by(&running) {
                    Some(limit) => {
                        let sentence = "too many requests are under way; this one was not done: send it again after \
                                        some answers have come";
                        refuse(&id, SERVER_ERROR, sentence, Some(json!({ "code": "busy", "limit": limit })))
                    }
                    None => RequestAdmission::Pass(self.dispatch(id, running, message)),
                }
            }
            Ok(DecodedMessage::Cancel { target, message }) => {
                // It will not be answered, and its place is free; its share is, once nobody works on it any more.
                self.remove(&target);
                RequestAdmission::Pass(message)
            }
            Ok(DecodedMessage::Notification(message) | DecodedMessage::Response(message)) => {
                RequestAdmission::Pass(message)
            }
            Err(Some(answer)) => RequestAdmission::Answer(answer),
            Err(None) => RequestAdmission::Ignore,
        }
    }

    /// Passes a request that an earlier daemon had answered: its effect is wanted again, not its answer.
    pub fn replay(&mut self, bytes: &[u8]) -> Option<Box<ClientJsonRpcMessage>> {
        let Ok(DecodedMessage::Request { mut message, .. }) = decode(bytes) else { return None };
        self.replayed += 1;
        let id = RequestId::String(format!("trellis-renewed-{}", self.replayed).into());
        if let JsonRpcMessage::Request(request) = message.as_mut() {
            request.id = id.clone();
        }
        let running = RunningRequest { slot: AnswerSlot::default(), is_long_lived: false, size: bytes.len() };
        Some(self.dispatch(id, running, message))
    }

    /// How many such requests there may be, if this one is too many. One that never ends by itself neither takes
    /// nor needs the place of one that does.
    fn limit_reached_by(&self, running: &RunningRequest) -> Option<usize> {
        if running.is_long_lived {
            let lasting = self.running.values().filter(|running| running.is_long_lived).count();
            return (lasting >= MAX_SUBSCRIPTIONS).then_some(MAX_SUBSCRIPTIONS);
        }
        let count = self.unfinished.count.load(Ordering::Relaxed);
        let bytes = self.unfinished.bytes.load(Ordering::Relaxed) + running.size;
        let fits = self.slots < MAX_RUNNING && count < MAX_RUNNING + MAX_CANCELLED && bytes <= MAX_RUNNING_BYTES;
        (count > 0 && !fits).then_some(MAX_RUNNING)
    }

    fn dispatch(
        &mut self,
        id: RequestId,
        mut running: RunningRequest,
        mut message: Box<ClientJsonRpcMessage>,
    ) -> Box<ClientJsonRpcMessage> {
        if running.takes_a_slot() {
            self.slots += 1;
            running.slot.share = Some(Arc::new(RequestShare::new(&self.unfinished, running.size)));
        }
        if let JsonRpcMessage::Request(request) = message.as_mut() {
            request.request.extensions_mut().insert(running.slot.clone());
        }
        self.running.insert(id, running);
        message
    }

    /// rmcp answers a request: to whom? `None`: it was taken back, nobody wants to hear it.
    pub fn take_running(&self, id: &RequestId) -> Option<AnswerSlot> {
        self.running.get(id).map(|running| running.slot.clone())
    }

    /// The answer is about to be written: its place is free before the client can have read it. False if the request
    /// was taken back meanwhile.
    pub fn complete(&mut self, id: &RequestId, sequence: u64) -> bool {
        let is_flying = self.running.get(id).is_some_and(|running| running.slot.sequence == sequence);
        if is_flying {
            self.remove(id);
        }
        is_flying
    }

    fn remove(&mut self, id: &RequestId) {
        if self.running.remove(id).is_some_and(|running| running.takes_a_slot()) {
            self.slots -= 1;
        }
    }

    /// The request that a subscription's acknowledgement belongs to, and whether the host has heard it before.
    pub fn acknowledging(&mut self, id: &RequestId) -> Option<(u64, bool)> {
        let sequence = self.running.get(id)?.slot.sequence;
        Some((sequence, !self.acknowledged.insert(sequence)))
    }

    /// How many requests are being worked on, apart from those that stay open on purpose.
    pub fn in_flight(&self) -> usize {
        self.slots
    }
}

/// Only the revision without a handshake knows discovery, and rmcp asks every request of it for its version.
fn declare_modern(message: &mut ClientJsonRpcMessage) {
    if let JsonRpcMessage::Request(request) = message {
        let meta = request.request.get_meta_mut();
        meta.set_protocol_version(ProtocolVersion::V_2026_07_28);
        meta.set_client_capabilities(ClientCapabilities::default());
    }
}

fn refuse(id: &RequestId, code: i32, sentence: &str, data: Option<serde_json::Value>) -> RequestAdmission {
    let id = id.clone().into_json_value().to_string();
    let data = data.map(|data| data.to_string());
    RequestAdmission::Answer(message::error_answer(&id, code, sentence, data.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ping(id: u64, padding: usize) -> Vec<u8> {
        let padding = "x".repeat(padding);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"_":"{padding}"}}}}"#).into_bytes()
    }

    fn cancel(id: u64) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#).into_bytes()
    }

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    fn check(admission: &RequestAdmission, expected: &str) {
        let word = match admission {
            RequestAdmission::Pass(_) => "pass",
            RequestAdmission::Answer(_) => "answer",
            RequestAdmission::Ignore => "ignore",
        };
        assert_eq!(word, expected);
    }

    #[test]
    fn the_sixty_fifth_request_is_refused_while_notifications_pass() {
        let mut requests = RequestTable::default();
        for number in 1..=64 {
            check(&requests.admit(number, &ping(number, 0)), "pass");
        }
        let RequestAdmission::Answer(answer) = requests.admit(65, &ping(65, 0)) else { panic!("it is refused") };
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(answer["error"]["data"], json!({ "code": "busy", "limit": 64 }));
        check(&requests.admit(66, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), "pass");
        assert_eq!(requests.take_running(&id(1)).expect("it flies").sequence, 1);
        check(&requests.admit(67, &ping(67, 0)), "answer");
        assert!(requests.complete(&id(1), 1));
        check(&requests.admit(68, &ping(68, 0)), "pass");
    }

    #[test]
    fn bytes_in_flight_are_bounded_unless_one_flies_alone() {
        let mut requests = RequestTable::default();
        check(&requests.admit(1, &ping(1, 15 << 20)), "pass");
        check(&requests.admit(2, &ping(2, 15 << 20)), "pass");
        check(&requests.admit(3, &ping(3, 6 << 20)), "answer");
        assert!(requests.complete(&id(1), 1) && requests.complete(&id(2), 2));
        check(&requests.admit(4, &ping(4, 40 << 20)), "pass");
        check(&requests.admit(5, &ping(5, 0)), "answer");
    }

    #[test]
    fn subscriptions_take_nobody_s_place() {
        let listen = |id: u64| {
            let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
            let params = format!(r#"{{"notifications":{{}},"_meta":{meta}}}"#);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{params}}}"#).into_bytes()
        };
        let mut requests = RequestTable::default();
        for number in 1..=64 {
            check(&requests.admit(number, &listen(number)), "pass");
        }
        check(&requests.admit(65, &listen(65)), "answer");
        check(&requests.admit(66, &ping(66, 0)), "pass");
        assert_eq!(requests.in_flight(), 1);
        check(&requests.admit(67, &cancel(1)), "pass");
        check(&requests.admit(68, &listen(68)), "pass");
    }

    #[test]
    fn a_cancelled_request_gives_its_place_back_and_is_not_answered() {
        let mut requests = RequestTable::default();
        check(&requests.admit(1, &ping(1, 0)), "pass");
        check(&requests.admit(2, &cancel(1)), "pass");
        assert_eq!(requests.in_flight(), 0);
        assert!(requests.take_running(&id(1)).is_none());
    }

    #[test]
    fn a_cancelled_request_is_counted_until_it_ends() {
        let mut requests = RequestTable::default();
        let worked_on: Vec<RequestAdmission> =
            (1..=2).map(|number| requests.admit(number, &ping(number, 15 << 20))).collect();
        check(&requests.admit(3, &cancel(1)), "pass");
        check(&requests.admit(4, &cancel(2)), "pass");
        check(&requests.admit(5, &ping(5, 6 << 20)), "answer");
        drop(worked_on);
        check(&requests.admit(6, &ping(6, 6 << 20)), "pass");
        assert!(requests.complete(&id(6), 6));
        let mut worked_on = Vec::new();
        for number in 10..(10 + MAX_CANCELLED as u64 + MAX_RUNNING as u64) {
            worked_on.push(requests.admit(number, &ping(number, 0)));
            check(worked_on.last().expect("one"), "pass");
            check(&requests.admit(0, &cancel(number)), "pass");
        }
        check(&requests.admit(7, &ping(7, 0)), "answer");
    }

    #[test]
    fn a_request_that_is_cancelled_while_its_answer_waits_frees_its_place_once() {
        let mut requests = RequestTable::default();
        check(&requests.admit(1, &ping(7, 0)), "pass");
        let slot = requests.take_running(&id(7)).expect("it flies");
        check(&requests.admit(2, &cancel(7)), "pass");
        assert_eq!(requests.in_flight(), 0);
        check(&requests.admit(3, &ping(7, 0)), "pass");
        assert!(!requests.complete(&id(7), slot.sequence), "the answer belongs to the one before");
        assert_eq!(requests.in_flight(), 1);
    }

    #[test]
    fn an_id_that_flies_is_not_taken_twice() {
        let mut requests = RequestTable::default();
        check(&requests.admit(1, &ping(7, 0)), "pass");
        check(&requests.admit(2, &ping(7, 0)), "answer");
        assert!(requests.complete(&id(7), 1));
        check(&requests.admit(3, &ping(7, 0)), "pass");
        assert_eq!(requests.in_flight(), 1);
    }

    #[test]
    fn renewed_requests_owe_nobody_and_take_no_place() {
        let mut requests = RequestTable::new(true, []);
        for _ in 0..100 {
            let replayed = br#"{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
            assert!(requests.replay(replayed).is_some());
        }
        let first = RequestId::String("trellis-renewed-1".into());
        assert_eq!(requests.take_running(&first).expect("it flies").sequence, 0);
        assert_eq!(requests.in_flight(), 0);
        assert!(requests.complete(&first, 0));
    }
}
