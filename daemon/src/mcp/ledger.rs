//! What is in flight, what waits, and what is still owed, for one session.
//!
//! Messages come in with their sequence numbers; each is passed on, held back, answered or ignored.
//! Requests wait when too many are in flight; notifications and responses never do. No I/O here.

use std::collections::{HashMap, HashSet, VecDeque};

use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, GetExtensions as _, GetMeta as _, JsonRpcMessage, ProtocolVersion,
    RequestId,
};
use serde_json::json;
use trellis_protocol::message::{self, INVALID_PARAMS, INVALID_REQUEST, SERVER_ERROR};

use super::decode::{Decoded, decode, meta};
use super::era::{Era, Meta};
use super::handler::Slip;

/// Requests in flight at most; the rest wait.
const MOST_IN_FLIGHT: usize = 64;
/// Their bytes at most; one request may always fly.
const MOST_BYTES_IN_FLIGHT: usize = 32 << 20;
/// Requests that stay open on purpose; further ones are refused as busy.
const MOST_LASTING: usize = 64;
/// Requests that may wait; further ones are refused as busy.
const MOST_WAITING: usize = 1024;
/// Their bytes at most.
const MOST_BYTES_WAITING: usize = 8 << 20;

/// What is to be done with a message.
#[derive(Debug)]
pub enum Admission {
    /// rmcp gets it now.
    Pass(Box<ClientJsonRpcMessage>),
    /// It waits for its turn.
    Hold,
    /// It is answered without rmcp.
    Answer(Vec<u8>),
    /// Nothing: nobody waits for an answer.
    Ignore,
}

/// The books of one session.
#[derive(Debug, Default)]
pub struct Ledger {
    era: Era,
    flying: HashMap<RequestId, Flight>,
    slots: usize,
    bytes: usize,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    acknowledged: HashSet<u64>,
    renewed: u64,
    /// The handshake is being answered: what came after it waits, so that its answer comes first.
    opening: bool,
}

/// A request that was passed on.
#[derive(Debug, Default)]
pub struct Flight {
    /// The number of its frame; 0 if nobody is owed an answer. And where its answer will be.
    pub slip: Slip,
    /// Stays open on purpose, so nothing waits for its answer.
    pub lasting: bool,
    opening: bool,
    size: usize,
}

#[derive(Debug)]
struct Waiting {
    id: RequestId,
    flight: Flight,
    message: Box<ClientJsonRpcMessage>,
}

impl Ledger {
    /// The books of a session that begins, or goes on after a handshake with another daemon.
    pub fn new(had_handshake: bool, acknowledged: impl IntoIterator<Item = u64>) -> Self {
        Self {
            era: if had_handshake { Era::Both } else { Era::Fresh },
            acknowledged: acknowledged.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Decides about one message.
    pub fn admit(&mut self, sequence: u64, bytes: &[u8]) -> Admission {
        match decode(bytes) {
            Ok(Decoded::Request { id, method, declares_version, mut message }) => {
                if !self.era.admits(&method, || meta(bytes, declares_version)) {
                    return Admission::Answer(undeclared(&id));
                }
                if method == "server/discover" && meta(bytes, declares_version) == Meta::Absent {
                    declare_modern(&mut message);
                }
                if self.flying.contains_key(&id) || self.waiting.iter().any(|waiting| waiting.id == id) {
                    return Admission::Answer(duplicate(&id));
                }
                let flight = Flight {
                    slip: Slip { sequence, ..Slip::default() },
                    lasting: method == "subscriptions/listen",
                    opening: method == "initialize",
                    size: bytes.len(),
                };
                self.take_off(Waiting { id, flight, message })
            }
            Ok(Decoded::Cancel { target, message }) => self.cancel(&target, message),
            Ok(Decoded::Notification(message) | Decoded::Response(message)) => Admission::Pass(message),
            Err(Some(answer)) => Admission::Answer(answer),
            Err(None) => Admission::Ignore,
        }
    }

    /// Passes a request that an earlier daemon had answered: its effect is wanted again, not its answer.
    pub fn renew(&mut self, bytes: &[u8]) -> Option<Box<ClientJsonRpcMessage>> {
        let Ok(Decoded::Request { mut message, .. }) = decode(bytes) else { return None };
        self.renewed += 1;
        let id = RequestId::String(format!("trellis-renewed-{}", self.renewed).into());
        if let JsonRpcMessage::Request(request) = message.as_mut() {
            request.id = id.clone();
        }
        match self.take_off(Waiting { id, flight: Flight::default(), message }) {
            Admission::Pass(message) => Some(message),
            _ => None,
        }
    }

    fn take_off(&mut self, waiting: Waiting) -> Admission {
        let size = waiting.flight.size;
        // One that never ends by itself must neither take nor wait for the place of one that does.
        if waiting.flight.lasting && !self.opening {
            let lasting = self.flying.values().filter(|flight| flight.lasting).count();
            let room = lasting < MOST_LASTING;
            return if room { Admission::Pass(self.launch(waiting)) } else { Admission::Answer(busy(&waiting.id)) };
        }
        if self.has_room(size) && self.waiting.is_empty() {
            return Admission::Pass(self.launch(waiting));
        }
        if self.waiting.len() >= MOST_WAITING || self.waiting_bytes + size > MOST_BYTES_WAITING {
            return Admission::Answer(busy(&waiting.id));
        }
        self.waiting_bytes += size;
        self.waiting.push_back(waiting);
        Admission::Hold
    }

    fn has_room(&self, size: usize) -> bool {
        let fits = self.slots < MOST_IN_FLIGHT && self.bytes + size <= MOST_BYTES_IN_FLIGHT;
        !self.opening && (self.slots == 0 || fits)
    }

    fn launch(&mut self, mut waiting: Waiting) -> Box<ClientJsonRpcMessage> {
        if let JsonRpcMessage::Request(request) = waiting.message.as_mut() {
            request.request.extensions_mut().insert(waiting.flight.slip.clone());
        }
        if !waiting.flight.lasting {
            self.slots += 1;
            self.bytes += waiting.flight.size;
        }
        self.opening |= waiting.flight.opening;
        self.flying.insert(waiting.id, waiting.flight);
        waiting.message
    }

    /// A request that waits is forgotten; one that flies is taken back by rmcp, and will not be answered.
    fn cancel(&mut self, target: &RequestId, message: Box<ClientJsonRpcMessage>) -> Admission {
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.id == *target) {
            if let Some(forgotten) = self.waiting.remove(place) {
                self.waiting_bytes -= forgotten.flight.size;
            }
            return Admission::Ignore;
        }
        Admission::Pass(message)
    }

    /// A request was taken back while it flew: its place is free. Returns who may fly now.
    pub fn taken_back(&mut self, message: &ClientJsonRpcMessage) -> Vec<Box<ClientJsonRpcMessage>> {
        let Some(target) = cancel_target(message) else { return Vec::new() };
        match self.flying.remove(target) {
            Some(flight) => self.landed(flight),
            None => Vec::new(),
        }
    }

    /// rmcp answers a request: to whom? `None`: it was taken back, nobody wants to hear it.
    pub fn answering(&mut self, id: &RequestId) -> Option<Flight> {
        self.flying.remove(id)
    }

    /// The answer is on its way: its place is free. Returns who may fly now.
    pub fn landed(&mut self, flight: Flight) -> Vec<Box<ClientJsonRpcMessage>> {
        if !flight.lasting {
            self.slots -= 1;
            self.bytes -= flight.size;
        }
        self.opening &= !flight.opening;
        let mut released = Vec::new();
        while let Some(next) = self.waiting.front() {
            if !self.has_room(next.flight.size) {
                break;
            }
            if let Some(next) = self.waiting.pop_front() {
                self.waiting_bytes -= next.flight.size;
                released.push(self.launch(next));
            }
        }
        released
    }

    /// The request that a subscription's acknowledgement belongs to, and whether the host has heard it before.
    pub fn acknowledging(&mut self, id: &RequestId) -> Option<(u64, bool)> {
        let sequence = self.flying.get(id)?.slip.sequence;
        Some((sequence, !self.acknowledged.insert(sequence)))
    }

    /// How many requests are being worked on, apart from those that stay open on purpose.
    pub fn in_flight(&self) -> usize {
        self.slots
    }

    /// Whether no answer is owed, apart from those that stay open on purpose.
    pub fn is_quiet(&self) -> bool {
        self.slots == 0
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

fn cancel_target(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Notification(notification) => match &notification.notification {
            rmcp::model::ClientNotification::CancelledNotification(cancelled) => cancelled.params.request_id.as_ref(),
            _ => None,
        },
        _ => None,
    }
}

fn refuse(id: &RequestId, code: i32, sentence: &str, data: Option<serde_json::Value>) -> Vec<u8> {
    let id = id.clone().into_json_value().to_string();
    message::error_answer(&id, code, sentence, data.map(|data| data.to_string()).as_deref())
}

fn undeclared(id: &RequestId) -> Vec<u8> {
    let sentence = "send `initialize` first, or give `io.modelcontextprotocol/protocolVersion` and \
                    `io.modelcontextprotocol/clientCapabilities` in `_meta`";
    refuse(id, INVALID_PARAMS, sentence, None)
}

fn duplicate(id: &RequestId) -> Vec<u8> {
    refuse(id, INVALID_REQUEST, "a request with this id is still being worked on: use another id", None)
}

fn busy(id: &RequestId) -> Vec<u8> {
    let sentence = "too many requests are waiting; this one was not done: send it again after some answers have come";
    refuse(id, SERVER_ERROR, sentence, Some(json!({ "code": "busy", "waiting": MOST_WAITING })))
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

    fn check(admission: &Admission, expected: &str) {
        let word = match admission {
            Admission::Pass(_) => "pass",
            Admission::Hold => "hold",
            Admission::Answer(_) => "answer",
            Admission::Ignore => "ignore",
        };
        assert_eq!(word, expected);
    }

    #[test]
    fn the_sixty_fifth_request_waits_while_notifications_pass() {
        let mut ledger = Ledger::default();
        for number in 1..=64 {
            check(&ledger.admit(number, &ping(number, 0)), "pass");
        }
        check(&ledger.admit(65, &ping(65, 0)), "hold");
        check(&ledger.admit(66, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), "pass");
        let flight = ledger.answering(&id(1)).expect("it flies");
        assert_eq!(flight.slip.sequence, 1);
        assert_eq!(ledger.landed(flight).len(), 1, "the one that waited flies now");
        assert!(ledger.answering(&id(65)).is_some());
    }

    #[test]
    fn those_that_wait_are_bounded() {
        let mut ledger = Ledger::default();
        for number in 1..=(64 + 1024) {
            let admission = ledger.admit(number, &ping(number, 0));
            check(&admission, if number <= 64 { "pass" } else { "hold" });
        }
        check(&ledger.admit(2000, &ping(2000, 0)), "answer");
        let mut heavy = Ledger::default();
        check(&heavy.admit(1, &ping(1, 15 << 20)), "pass");
        check(&heavy.admit(2, &ping(2, 15 << 20)), "pass");
        check(&heavy.admit(3, &ping(3, 6 << 20)), "hold");
        check(&heavy.admit(4, &ping(4, 6 << 20)), "answer");
    }

    #[test]
    fn subscriptions_take_nobody_s_place() {
        let listen = |id: u64| {
            let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
            let params = format!(r#"{{"notifications":{{}},"_meta":{meta}}}"#);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{params}}}"#).into_bytes()
        };
        let mut ledger = Ledger::default();
        for number in 1..=64 {
            check(&ledger.admit(number, &listen(number)), "pass");
        }
        check(&ledger.admit(65, &listen(65)), "answer");
        check(&ledger.admit(66, &ping(66, 0)), "pass");
        assert_eq!(ledger.in_flight(), 1);
        let Admission::Pass(message) = ledger.admit(67, &cancel(1)) else { panic!("it passes") };
        ledger.taken_back(&message);
        check(&ledger.admit(68, &listen(68)), "pass");
    }

    #[test]
    fn a_cancelled_request_gives_its_place_back_and_is_not_answered() {
        let mut ledger = Ledger::default();
        check(&ledger.admit(1, &ping(1, 0)), "pass");
        let Admission::Pass(message) = ledger.admit(2, &cancel(1)) else { panic!("it passes") };
        ledger.taken_back(&message);
        assert_eq!(ledger.in_flight(), 0);
        assert!(ledger.answering(&id(1)).is_none());
        assert!(ledger.is_quiet());
    }

    #[test]
    fn one_that_waits_is_cancelled_without_rmcp() {
        let mut ledger = Ledger::default();
        for number in 1..=65 {
            ledger.admit(number, &ping(number, 0));
        }
        check(&ledger.admit(66, &cancel(65)), "ignore");
        let flight = ledger.answering(&id(1)).expect("it flies");
        assert!(ledger.landed(flight).is_empty());
    }

    #[test]
    fn an_id_that_flies_is_not_taken_twice() {
        let mut ledger = Ledger::default();
        check(&ledger.admit(1, &ping(7, 0)), "pass");
        check(&ledger.admit(2, &ping(7, 0)), "answer");
        let flight = ledger.answering(&id(7)).expect("it flies");
        check(&ledger.admit(3, &ping(7, 0)), "pass");
        ledger.landed(flight);
        assert_eq!(ledger.in_flight(), 1);
    }

    #[test]
    fn the_handshake_is_answered_before_what_came_after_it() {
        let mut ledger = Ledger::default();
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
            "capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        check(&ledger.admit(1, initialize.as_bytes()), "pass");
        check(&ledger.admit(2, &ping(2, 0)), "hold");
        let flight = ledger.answering(&id(1)).expect("it flies");
        assert_eq!(ledger.landed(flight).len(), 1);
    }

    #[test]
    fn a_renewed_request_owes_nobody() {
        let mut ledger = Ledger::new(true, []);
        let message =
            ledger.renew(br#"{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"a:b"}}"#);
        assert!(message.is_some());
        let flight = ledger.answering(&RequestId::String("trellis-renewed-1".into())).expect("it flies");
        assert_eq!(flight.slip.sequence, 0);
    }
}
