//! A cache of answers to writes, for repeated requests: hosts retry, and so do proxies after a crash.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trellis_protocol::{Failure, FailureKind};

use crate::disk::journal::{CallId, RecordedAnswer};
use crate::disk::recover::Recovered;
use crate::families::{Answer, Body};
use crate::text::json::Json;

const MAX_CACHED_ANSWERS: usize = 10_000;
/// In bytes of JSON; the newest answer always stays.
const MAX_CACHED_ANSWER_BYTES: usize = 8 << 20;

/// The key of a cached answer: the session's number of the request, or the caller's own key for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnswerKey {
    /// The session's number.
    Call(CallId),
    /// The caller's own name, with its arguments.
    Key(String),
}

/// The names of a call.
pub fn answer_keys(call: Option<&CallId>, key: Option<&str>) -> Vec<AnswerKey> {
    call.cloned().map(AnswerKey::Call).into_iter().chain(key.map(|key| AnswerKey::Key(key.to_owned()))).collect()
}

/// The newest answers to writes.
#[derive(Debug, Default)]
pub struct AnswerCache {
    known: HashMap<AnswerKey, Option<RecordedAnswer>>,
    order: VecDeque<AnswerKey>,
    bytes: usize,
}

impl AnswerCache {
    /// Takes over what earlier daemons answered, and what nobody knows the answer to.
    pub fn of(recovered: Recovered) -> Self {
        let mut answers = Self::default();
        answers.add(recovered);
        answers
    }

    /// Takes over what has become known later.
    pub fn add(&mut self, recovered: Recovered) {
        let happened = recovered.applied.into_iter().map(|entry| (entry.call, entry.key, Some(entry.answer)));
        let unknown = recovered.unknown.into_iter().map(|entry| (entry.call, entry.key, None));
        for (call, key, answer) in happened.chain(unknown) {
            for name in answer_keys(call.as_ref(), key.as_deref()) {
                self.insert(name, answer.clone());
            }
        }
    }

    /// The answer that was given to a call with one of these names.
    pub fn find(&self, names: &[AnswerKey]) -> Option<Result<Answer, Failure>> {
        names.iter().find_map(|name| match self.known.get(name)? {
            Some(recorded) => from_stored(&recorded.0).map(Ok),
            None => Some(Err(outcome_unknown())),
        })
    }

    /// Remembers an answer under all of these names.
    pub fn remember(&mut self, names: &[AnswerKey], answer: &RecordedAnswer) {
        names.iter().for_each(|name| self.insert(name.clone(), Some(answer.clone())));
    }

    fn insert(&mut self, name: AnswerKey, answer: Option<RecordedAnswer>) {
        let size = |answer: &Option<RecordedAnswer>| answer.as_ref().map_or(0, |answer| answer.0.len());
        self.bytes += size(&answer);
        match self.known.insert(name.clone(), answer) {
            Some(before) => self.bytes -= size(&before),
            None => self.order.push_back(name),
        }
        while self.order.len() > MAX_CACHED_ANSWERS || (self.bytes > MAX_CACHED_ANSWER_BYTES && self.order.len() > 1) {
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
    Failure::new("outcome_unknown", FailureKind::Unavailable, message).with_hint("read the file before you write again")
}

/// What the journal keeps of an answer: one of the three bodies, and its meta.
#[derive(Serialize, Deserialize)]
struct StoredAnswer {
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
pub fn to_stored(answer: &Answer) -> RecordedAnswer {
    let mut record = StoredAnswer { object: None, text: None, pretty: None, meta: answer.meta.clone() };
    match &answer.body {
        Body::Object(object) => record.object = Some(object.clone()),
        Body::Text(text) => record.text = Some(text.clone()),
        Body::Pretty(value) => record.pretty = Some(value.clone()),
    }
    // Maps with texts for keys can always be written.
    serde_json::to_string(&record).map(|text| RecordedAnswer(text.into())).unwrap_or_default()
}

/// The answer that was stored; its notifications were sent then.
fn from_stored(recorded: &str) -> Option<Answer> {
    let StoredAnswer { object, text, pretty, meta } = serde_json::from_str(recorded).ok()?;
    let body = object.map(Body::Object).or(text.map(Body::Text)).or(pretty.map(Body::Pretty))?;
    Some(Answer { body, meta })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::disk::journal::JournalRecord;

    #[test]
    fn an_answer_comes_back_as_it_was_given() {
        let mut answers = AnswerCache::default();
        let call = CallId { session: "s".into(), sequence: 7 };
        for answer in [Answer::object(json!({ "b": 1, "a": [] })), Answer::text("x"), Answer::pretty(json!([1]))] {
            answers.remember(&answer_keys(Some(&call), None), &to_stored(&answer));
            assert_eq!(answers.find(&answer_keys(Some(&call), None)), Some(Ok(answer)));
        }
        assert_eq!(answers.find(&answer_keys(None, Some("k"))), None);
    }

    #[test]
    fn the_newest_of_earlier_daemons_are_known_and_what_nobody_knows_is_said() {
        let entry = |sequence: u64| JournalRecord {
            call: Some(CallId { session: "s".into(), sequence }),
            key: None,
            at: 0,
            change: None,
            answer: to_stored(&Answer::text(sequence.to_string())),
            files: Vec::new(),
            aborts: None,
            finished: Vec::new(),
        };
        let happened = (0..=MAX_CACHED_ANSWERS as u64).map(entry).collect();
        let answers =
            AnswerCache::of(Recovered { applied: happened, unknown: vec![entry(99_999)], ..Recovered::default() });
        let find = |sequence| answers.find(&answer_keys(Some(&CallId { session: "s".into(), sequence }), None));
        assert_eq!(find(0), None, "the oldest is forgotten");
        assert_eq!(find(MAX_CACHED_ANSWERS as u64), Some(Ok(Answer::text(MAX_CACHED_ANSWERS.to_string()))));
        assert!(find(99_999).is_some_and(|answer| answer.is_err_and(|failure| failure.code == "outcome_unknown")));
    }

    #[test]
    fn only_the_newest_are_remembered() {
        let mut answers = AnswerCache::default();
        for number in 0..=MAX_CACHED_ANSWERS {
            answers.remember(&answer_keys(None, Some(&number.to_string())), &to_stored(&Answer::text("x")));
        }
        assert_eq!(answers.find(&answer_keys(None, Some("0"))), None);
        assert!(answers.find(&answer_keys(None, Some("1"))).is_some());
    }

    #[test]
    fn long_answers_do_not_fill_the_memory() {
        let mut answers = AnswerCache::default();
        for number in 0..40 {
            answers.remember(
                &answer_keys(None, Some(&number.to_string())),
                &to_stored(&Answer::text("x".repeat(MAX_CACHED_ANSWER_BYTES / 10))),
            );
        }
        assert!(answers.bytes <= MAX_CACHED_ANSWER_BYTES);
        assert!(
            answers.find(&answer_keys(None, Some("0"))).is_none()
                && answers.find(&answer_keys(None, Some("39"))).is_some()
        );
        answers.remember(
            &answer_keys(None, Some("long")),
            &to_stored(&Answer::text("x".repeat(2 * MAX_CACHED_ANSWER_BYTES))),
        );
        assert!(answers.find(&answer_keys(None, Some("long"))).is_some(), "the newest always is");
    }
}
