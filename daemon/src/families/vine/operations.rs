//! What `vine_write` may be asked to do. Objects of unknown shape come in, operations go out; whether they suit the
//! plan is for `apply`. Every operation is checked before any file is looked at.

use serde_json::{Map, Value};

use super::error::VineError;
use super::model::{Annotations, Status};

/// One change, as asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A new plan, in this version of the format; first or not at all.
    Create { version: Option<String> },
    /// A task at the end.
    AddTask {
        /// Not there yet.
        id: String,
        /// A single line of text.
        name: String,
        /// Not started unless said.
        status: Option<Status>,
        /// Empty unless said.
        description: Option<String>,
        /// May name what comes later.
        depends_on: Vec<String>,
        /// In the header.
        annotations: Annotations,
    },
    /// A node, which is not the root, and all edges to it go.
    RemoveTask { id: String },
    /// A task, not a reference, gets another status.
    SetStatus { id: String, status: Status },
    /// Somebody starts a task; if exclusive, nobody else may have begun it.
    Claim { id: String, exclusive: bool },
    /// Other words; each given field replaces the old one.
    Update {
        id: String,
        /// A single line of text.
        name: Option<String>,
        description: Option<String>,
        /// All of them.
        decisions: Option<Vec<String>>,
        /// All of them; class, mime and uri. Not for references.
        attachments: Option<Vec<[String; 3]>>,
        /// All of them.
        annotations: Option<Annotations>,
    },
    /// One more thing that a node needs.
    AddDep { task: String, dep: String },
    /// One thing less that a node needs.
    RemoveDep { task: String, dep: String },
    /// A reference at the end.
    AddRef {
        /// Not there yet.
        id: String,
        /// A single line of text.
        name: String,
        /// Where the other plan is.
        vine: String,
        /// Empty unless said.
        description: Option<String>,
        /// May name what comes later.
        depends_on: Vec<String>,
        /// None unless said.
        decisions: Vec<String>,
    },
    /// The other plan of a reference is at this URI now.
    UpdateRefUri { id: String, uri: String },
    /// A task, which is not the root, becomes a plan of its own at `vine`, with a reference in its place. That has the
    /// task's name unless said.
    ExtractToRef { id: String, vine: String, ref_name: Option<String> },
}

impl Operation {
    /// What was done, in a few words.
    pub fn phrase(&self) -> String {
        match self {
            Self::Create { .. } => "created graph".to_owned(),
            Self::AddTask { id, .. } => format!("added task \"{id}\""),
            Self::RemoveTask { id } => format!("removed task \"{id}\""),
            Self::SetStatus { id, status } => format!("set \"{id}\" → {}", status.word()),
            Self::Claim { id, .. } => format!("claimed \"{id}\""),
            Self::Update { id, .. } => format!("updated \"{id}\""),
            Self::AddDep { task, dep } => format!("added dep {task} → {dep}"),
            Self::RemoveDep { task, dep } => format!("removed dep {task} → {dep}"),
            Self::AddRef { id, .. } => format!("added ref \"{id}\""),
            Self::UpdateRefUri { id, .. } => format!("updated ref URI for \"{id}\""),
            Self::ExtractToRef { id, vine, .. } => format!("extracted \"{id}\" to ref ({vine})"),
        }
    }

    /// Checks the shape of all of them, in order.
    pub fn parse_all(operations: &[Map<String, Value>]) -> Result<Vec<Self>, VineError> {
        operations.iter().enumerate().map(|(number, fields)| Fields::of(number, fields)?.operation()).collect()
    }
}

/// The fields of one operation.
struct Fields<'a> {
    number: usize,
    op: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(number: usize, fields: &'a Map<String, Value>) -> Result<Self, VineError> {
        let op = fields.get("op").and_then(Value::as_str);
        let op = op.ok_or_else(|| VineError::Operation(format!("Operation {number}: missing \"op\" field.")))?;
        Ok(Self { number, op, fields })
    }

    fn operation(&self) -> Result<Operation, VineError> {
        Ok(match self.op {
            "create" => Operation::Create { version: self.text("version") },
            "add_task" => Operation::AddTask {
                id: self.required("id")?,
                name: self.required("name")?,
                status: self.optional_status()?,
                description: self.text("description"),
                depends_on: self.texts("dependsOn")?.unwrap_or_default(),
                annotations: self.annotations()?.unwrap_or_default(),
            },
            "remove_task" => Operation::RemoveTask { id: self.required("id")? },
            "set_status" => {
                let (id, status) = (self.required("id")?, self.required("status")?);
                Operation::SetStatus { id, status: self.status(&status)? }
            }
            "claim" => Operation::Claim { id: self.required("id")?, exclusive: self.exclusive()? },
            "update" => Operation::Update {
                id: self.required("id")?,
                name: self.text("name"),
                description: self.text("description"),
                decisions: self.texts("decisions")?,
                attachments: self.attachments()?,
                annotations: self.annotations()?,
            },
            "add_dep" => Operation::AddDep { task: self.required("taskId")?, dep: self.required("depId")? },
            "remove_dep" => Operation::RemoveDep { task: self.required("taskId")?, dep: self.required("depId")? },
            "add_ref" => Operation::AddRef {
                id: self.required("id")?,
                name: self.required("name")?,
                vine: self.required("vine")?,
                description: self.text("description"),
                depends_on: self.texts("dependsOn")?.unwrap_or_default(),
                decisions: self.texts("decisions")?.unwrap_or_default(),
            },
            "update_ref_uri" => Operation::UpdateRefUri { id: self.required("id")?, uri: self.required("uri")? },
            "extract_to_ref" => Operation::ExtractToRef {
                id: self.required("id")?,
                vine: self.required("vine")?,
                ref_name: self.text("refName"),
            },
            unknown => return Err(self.wrong(format!("unknown op \"{unknown}\"."))),
        })
    }

    fn wrong(&self, words: impl std::fmt::Display) -> VineError {
        VineError::Operation(format!("Operation {}: {words}", self.number))
    }

    fn required(&self, field: &str) -> Result<String, VineError> {
        self.text(field).ok_or_else(|| self.wrong(format!("{} requires \"{field}\".", self.op)))
    }

    /// What is no text counts as absent.
    fn text(&self, field: &str) -> Option<String> {
        self.fields.get(field).and_then(Value::as_str).map(str::to_owned)
    }

    /// What is no list counts as absent, but a list must be one of texts.
    fn texts(&self, field: &str) -> Result<Option<Vec<String>>, VineError> {
        let Some(list) = self.fields.get(field).and_then(Value::as_array) else { return Ok(None) };
        let wrong = || self.wrong(format!("{} \"{field}\" must be an array of strings.", self.op));
        all_texts(list).map(Some).ok_or_else(wrong)
    }

    fn optional_status(&self) -> Result<Option<Status>, VineError> {
        match self.fields.get("status") {
            None => Ok(None),
            Some(Value::String(word)) => self.status(word).map(Some),
            Some(_) => Err(self.wrong("status must be a string.")),
        }
    }

    fn status(&self, word: &str) -> Result<Status, VineError> {
        let wrong = || self.wrong(format!("invalid status \"{word}\". Valid: {}", Status::WORDS));
        Status::parse(word).ok_or_else(wrong)
    }

    /// Whoever asks for it must get it: anything but a boolean is a mistake.
    fn exclusive(&self) -> Result<bool, VineError> {
        match self.fields.get("exclusive") {
            None => Ok(false),
            Some(Value::Bool(exclusive)) => Ok(*exclusive),
            Some(_) => Err(self.wrong("claim \"exclusive\" must be a boolean.")),
        }
    }

    fn annotations(&self) -> Result<Option<Annotations>, VineError> {
        let wrong = |words: &str| self.wrong(format!("{} \"annotations\" {words}", self.op));
        let object = match self.fields.get("annotations") {
            None => return Ok(None),
            Some(Value::Object(object)) => object,
            Some(Value::Array(_)) => return Err(wrong("must be an object.")),
            Some(_) => return Err(wrong("must be an object mapping keys to string arrays.")),
        };
        let entry = |(key, values): (&String, &Value)| Some((key.clone(), all_texts(values.as_array()?)?));
        let all: Option<Annotations> = object.iter().map(entry).collect();
        all.map(Some).ok_or_else(|| wrong("values must be arrays of strings."))
    }

    fn attachments(&self) -> Result<Option<Vec<[String; 3]>>, VineError> {
        let Some(list) = self.fields.get("attachments").and_then(Value::as_array) else { return Ok(None) };
        let attachment = |value: &Value| {
            let text = |field: &str| value.as_object()?.get(field)?.as_str().map(str::to_owned);
            Some([text("class")?, text("mime")?, text("uri")?])
        };
        let wrong = || self.wrong("update \"attachments\" elements must have class, mime, and uri as strings.");
        list.iter().map(attachment).collect::<Option<_>>().map(Some).ok_or_else(wrong)
    }
}

fn all_texts(list: &[Value]) -> Option<Vec<String>> {
    list.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(operations: Value) -> Result<Vec<Operation>, VineError> {
        let operations: Vec<Map<String, Value>> = serde_json::from_value(operations).expect("objects");
        Operation::parse_all(&operations)
    }

    fn check(operation: Value, words: &str) {
        let error = parsed(json!([{ "op": "create" }, operation])).expect_err("a refusal");
        assert_eq!(error.to_string(), format!("Operation 1: {words}"), "{operation}");
    }

    #[test]
    fn shapes_are_checked_with_exact_words() {
        check(json!({}), "missing \"op\" field.");
        check(json!({ "op": 1 }), "missing \"op\" field.");
        check(json!({ "op": "Claim" }), "unknown op \"Claim\".");
        let required: [(&str, &[&str]); 10] = [
            ("add_task", &["id", "name"]),
            ("remove_task", &["id"]),
            ("set_status", &["id", "status"]),
            ("claim", &["id"]),
            ("update", &["id"]),
            ("add_dep", &["taskId", "depId"]),
            ("remove_dep", &["taskId", "depId"]),
            ("add_ref", &["id", "name", "vine"]),
            ("update_ref_uri", &["id", "uri"]),
            ("extract_to_ref", &["id", "vine"]),
        ];
        for (op, fields) in required {
            let mut given = json!({ "op": op });
            for field in fields {
                check(given.clone(), &format!("{op} requires \"{field}\"."));
                given[field] = json!(7);
                check(given.clone(), &format!("{op} requires \"{field}\"."));
                given[field] = json!("");
            }
        }
        let valid = "Valid: complete, started, reviewing, planning, notstarted, blocked";
        check(json!({ "op": "set_status", "id": "a", "status": "done" }), &format!("invalid status \"done\". {valid}"));
        let task = |field: &str, value: Value| json!({ "op": "add_task", "id": "a", "name": "b", field: value });
        check(task("status", json!("Done")), &format!("invalid status \"Done\". {valid}"));
        check(task("status", json!(null)), "status must be a string.");
        check(task("dependsOn", json!(["a", 1])), "add_task \"dependsOn\" must be an array of strings.");
        for scalar in [json!(null), json!("x"), json!(1)] {
            check(
                task("annotations", scalar),
                "add_task \"annotations\" must be an object mapping keys to string arrays.",
            );
        }
        check(task("annotations", json!([])), "add_task \"annotations\" must be an object.");
        check(task("annotations", json!({ "k": "v" })), "add_task \"annotations\" values must be arrays of strings.");
        check(task("annotations", json!({ "k": [1] })), "add_task \"annotations\" values must be arrays of strings.");
        let update = |field: &str, value: Value| json!({ "op": "update", "id": "a", field: value });
        check(update("decisions", json!([null])), "update \"decisions\" must be an array of strings.");
        let words = "update \"attachments\" elements must have class, mime, and uri as strings.";
        for wrong in
            [json!(["x"]), json!([{ "class": "file", "mime": "m" }]), json!([{ "class": 1, "mime": "m", "uri": "u" }])]
        {
            check(update("attachments", wrong), words);
        }
        let reference = json!({ "op": "add_ref", "id": "a", "name": "b", "vine": "u", "decisions": [1] });
        check(reference, "add_ref \"decisions\" must be an array of strings.");
        check(json!({ "op": "claim", "id": "a", "exclusive": "yes" }), "claim \"exclusive\" must be a boolean.");
    }

    #[test]
    fn the_rest_of_the_wrong_type_is_as_if_absent() {
        let given = json!([
            { "op": "create", "version": 2 },
            { "op": "add_task", "id": "a", "name": "b", "description": 1, "dependsOn": "x", "decisions": [1] },
            { "op": "update", "id": "a", "name": 1, "description": [], "decisions": {}, "attachments": "x" },
            { "op": "add_ref", "id": "r", "name": "n", "vine": "u", "annotations": 1, "status": "x" },
            { "op": "extract_to_ref", "id": "a", "vine": "v", "refName": 3 },
        ]);
        let operations = parsed(given).expect("operations");
        assert_eq!(operations[0], Operation::Create { version: None });
        let Operation::AddTask { description: None, depends_on, .. } = &operations[1] else { panic!() };
        assert!(depends_on.is_empty());
        let nothing = Operation::Update {
            id: "a".into(),
            name: None,
            description: None,
            decisions: None,
            attachments: None,
            annotations: None,
        };
        assert_eq!(operations[2], nothing);
        assert!(matches!(&operations[4], Operation::ExtractToRef { ref_name: None, .. }));
    }
}
