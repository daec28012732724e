//! What was answered to writes, for those who ask again: hosts repeat requests, and so do proxies
//! after a crash.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};

use crate::disk::journal::CallId;
use crate::disk::recover;
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
    known: HashMap<Name, Value>,
    order: VecDeque<Name>,
}

impl Answers {
    /// Takes over what earlier daemons answered.
    pub fn of(recovered: recover::Answers) -> Self {
        let mut answers = Self::default();
        recovered.by_call.into_iter().for_each(|(call, answer)| answers.insert(Name::Call(call), answer));
        recovered.by_key.into_iter().for_each(|(key, answer)| answers.insert(Name::Key(key), answer));
        answers
    }

    /// The answer that was given to a call with one of these names.
    pub fn find(&self, names: &[Name]) -> Option<Answer> {
        names.iter().find_map(|name| replay(self.known.get(name)?))
    }

    /// Remembers an answer under all of these names.
    pub fn remember(&mut self, names: &[Name], answer: &Answer) {
        names.iter().for_each(|name| self.insert(name.clone(), record(answer)));
    }

    fn insert(&mut self, name: Name, answer: Value) {
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

    #[test]
    fn an_answer_comes_back_as_it_was_given() {
        let mut answers = Answers::default();
        let call = CallId { session: "s".into(), sequence: 7 };
        for answer in [Answer::object(json!({ "b": 1, "a": [] })), Answer::text("x")] {
            answers.remember(&names(Some(&call), None), &answer);
            assert_eq!(answers.find(&names(Some(&call), None)), Some(answer));
        }
        assert_eq!(answers.find(&names(None, Some("k"))), None);
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
