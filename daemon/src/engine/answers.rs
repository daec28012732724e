//! What was answered to writes, for those who ask again: hosts repeat requests, and so do proxies
//! after a crash.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};
use trellis_protocol::{Failure, Kind};

use crate::disk::journal::CallId;
use crate::disk::recover::Recovered;
use crate::tools::{Answer, Body};

/// How many are remembered.
const MOST: usize = 10_000;

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
    known: HashMap<Name, Option<Value>>,
    order: VecDeque<Name>,
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
            Some(recorded) => replay(recorded).map(Ok),
            None => Some(Err(outcome_unknown())),
        })
    }

    /// Remembers an answer under all of these names.
    pub fn remember(&mut self, names: &[Name], answer: &Answer) {
        names.iter().for_each(|name| self.insert(name.clone(), Some(record(answer))));
    }

    fn insert(&mut self, name: Name, answer: Option<Value>) {
        if self.known.insert(name.clone(), answer).is_none() {
            self.order.push_back(name);
        }
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

/// What is answered when neither the files nor the journal can tell.
pub fn outcome_unknown() -> Failure {
    let message = "the write was cut off, and it cannot be told whether it has happened";
    Failure::new("outcome_unknown", Kind::Unavailable, message).with_hint("read the file before you write again")
}

/// An answer as the journal keeps it.
pub fn record(answer: &Answer) -> Value {
    match &answer.body {
        Body::Object(object) => json!({ "object": object, "meta": answer.meta }),
        Body::Text(text) => json!({ "text": text, "meta": answer.meta }),
    }
}

/// The answer that was recorded; what it told others about was told then.
fn replay(recorded: &Value) -> Option<Answer> {
    let body = match (recorded.get("object"), recorded.get("text")) {
        (Some(Value::Object(object)), _) => Body::Object(object.clone()),
        (_, Some(Value::String(text))) => Body::Text(text.clone()),
        _ => return None,
    };
    let meta = recorded.get("meta").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    Some(Answer { body, meta, notices: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::journal::Entry;

    #[test]
    fn an_answer_comes_back_as_it_was_given() {
        let mut answers = Answers::default();
        let call = CallId { session: "s".into(), sequence: 7 };
        for answer in [Answer::object(json!({ "b": 1, "a": [] })), Answer::text("x")] {
            answers.remember(&names(Some(&call), None), &answer);
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
            answers.remember(&names(None, Some(&number.to_string())), &Answer::text("x"));
        }
        assert_eq!(answers.find(&names(None, Some("0"))), None);
        assert!(answers.find(&names(None, Some("1"))).is_some());
    }
}
