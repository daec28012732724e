//! What was answered to writes, for those who ask again: hosts repeat requests, and so do proxies
//! after a crash.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trellis_protocol::{Failure, Kind};

use crate::disk::journal::{CallId, Recorded};
use crate::disk::recover::Recovered;
use crate::text::json::Json;
use crate::tools::{Answer, Body};

/// How many are remembered.
const MOST: usize = 10_000;
/// How much of them is remembered, in bytes of JSON; the newest always is.
const MOST_BYTES: usize = 8 << 20;

/// By what an answer is found: the session's number of the request, or the caller's own name for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// The session's number.
    Call(CallId),
    /// The caller's own name, with its arguments.
    Key(String),
}

/// The names of a call.
pub fn names(call: Option<&CallId>, key: Option<&str>) -> Vec<Name> {
    call.cloned().map(Name::Call).into_iter().chain(key.map(|key| Name::Key(key.to_owned()))).collect()
}

/// The newest answers to writes.
#[derive(Debug, Default)]
pub struct Answers {
    known: HashMap<Name, Option<Recorded>>,
    order: VecDeque<Name>,
    bytes: usize,
}

impl Answers {
    /// Takes over what earlier daemons answered, and what nobody knows the answer to.
    pub fn of(recovered: Recovered) -> Self {
        let mut answers = Self::default();
        let happened = recovered.happened.into_iter().map(|entry| (entry.call, entry.key, Some(entry.answer)));
        let unknown = recovered.unknown.into_iter().map(|entry| (entry.call, entry.key, None));
        for (call, key, answer) in happened.chain(unknown) {
            for name in names(call.as_ref(), key.as_deref()) {
                answers.insert(name, answer.clone());
            }
        }
        answers
    }

    /// The answer that was given to a call with one of these names.
    pub fn find(&self, names: &[Name]) -> Option<Result<Answer, Failure>> {
        names.iter().find_map(|name| match self.known.get(name)? {
            Some(recorded) => replay(&recorded.0).map(Ok),
            None => Some(Err(outcome_unknown())),
        })
    }

    /// Remembers an answer under all of these names.
    pub fn remember(&mut self, names: &[Name], answer: &Recorded) {
        names.iter().for_each(|name| self.insert(name.clone(), Some(answer.clone())));
    }

    fn insert(&mut self, name: Name, answer: Option<Recorded>) {
        let size = |answer: &Option<Recorded>| answer.as_ref().map_or(0, |answer| answer.0.len());
        self.bytes += size(&answer);
        match self.known.insert(name.clone(), answer) {
            Some(before) => self.bytes -= size(&before),
            None => self.order.push_back(name),
        }
        while self.order.len() > MOST || (self.bytes > MOST_BYTES && self.order.len() > 1) {
            if let Some(oldest) = self.order.pop_front()
                && let Some(answer) = self.known.remove(&oldest)
            {
                self.bytes -= size(&answer);
            }
        }
    }
}

/// What is answered when neither the files nor the journal can tell.
pub fn outcome_unknown() -> Failure {
    let message = "the write was cut off, and it cannot be told whether it has happened";
    Failure::new("outcome_unknown", Kind::Unavailable, message).with_hint("read the file before you write again")
}

/// What the journal keeps of an answer: one of the three, and what goes with it.
#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pretty: Option<Json>,
    #[serde(default)]
    meta: Map<String, Value>,
}

/// An answer as the journal keeps it.
pub fn record(answer: &Answer) -> Recorded {
    let mut record = Record { object: None, text: None, pretty: None, meta: answer.meta.clone() };
    match &answer.body {
        Body::Object(object) => record.object = Some(object.clone()),
        Body::Text(text) => record.text = Some(text.clone()),
        Body::Pretty(value) => record.pretty = Some(value.clone()),
    }
    // Maps with texts for keys can always be written.
    serde_json::to_string(&record).map(|text| Recorded(text.into())).unwrap_or_default()
}

/// The answer that was recorded; what it told others about was told then.
fn replay(recorded: &str) -> Option<Answer> {
    let Record { object, text, pretty, meta } = serde_json::from_str(recorded).ok()?;
    let body = object.map(Body::Object).or(text.map(Body::Text)).or(pretty.map(Body::Pretty))?;
    Some(Answer { body, meta, notices: Vec::new() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::disk::journal::Entry;

    #[test]
    fn an_answer_comes_back_as_it_was_given() {
        let mut answers = Answers::default();
        let call = CallId { session: "s".into(), sequence: 7 };
        for answer in [Answer::object(json!({ "b": 1, "a": [] })), Answer::text("x"), Answer::pretty(json!([1]))] {
            answers.remember(&names(Some(&call), None), &record(&answer));
            assert_eq!(answers.find(&names(Some(&call), None)), Some(Ok(answer)));
        }
        assert_eq!(answers.find(&names(None, Some("k"))), None);
    }

    #[test]
    fn the_newest_of_earlier_daemons_are_known_and_what_nobody_knows_is_said() {
        let entry = |sequence: u64| Entry {
            call: Some(CallId { session: "s".into(), sequence }),
            key: None,
            at: 0,
            answer: record(&Answer::text(sequence.to_string())),
            files: Vec::new(),
            voids: None,
        };
        let happened = (0..=MOST as u64).map(entry).collect();
        let answers = Answers::of(Recovered { happened, unknown: vec![entry(99_999)] });
        let find = |sequence| answers.find(&names(Some(&CallId { session: "s".into(), sequence }), None));
        assert_eq!(find(0), None, "the oldest is forgotten");
        assert_eq!(find(MOST as u64), Some(Ok(Answer::text(MOST.to_string()))));
        assert!(find(99_999).is_some_and(|answer| answer.is_err_and(|failure| failure.code == "outcome_unknown")));
    }

    #[test]
    fn only_the_newest_are_remembered() {
        let mut answers = Answers::default();
        for number in 0..=MOST {
            answers.remember(&names(None, Some(&number.to_string())), &record(&Answer::text("x")));
        }
        assert_eq!(answers.find(&names(None, Some("0"))), None);
        assert!(answers.find(&names(None, Some("1"))).is_some());
    }

    #[test]
    fn long_answers_do_not_fill_the_memory() {
        let mut answers = Answers::default();
        for number in 0..40 {
            answers
                .remember(&names(None, Some(&number.to_string())), &record(&Answer::text("x".repeat(MOST_BYTES / 10))));
        }
        assert!(answers.bytes <= MOST_BYTES);
        assert!(answers.find(&names(None, Some("0"))).is_none() && answers.find(&names(None, Some("39"))).is_some());
        answers.remember(&names(None, Some("long")), &record(&Answer::text("x".repeat(2 * MOST_BYTES))));
        assert!(answers.find(&names(None, Some("long"))).is_some(), "the newest always is");
    }
}
