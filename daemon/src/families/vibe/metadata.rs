//! What a document says about itself: front matter first, then what its place and its status line suggest.
//!
//! Text comes in, kind, status, date, tags and owner go out. Odd values are as if they were not there; nothing here
//! fails.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::layout::DocumentPath;

/// What a text says, before its place is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredMetadata {
    /// `type` of the front matter.
    pub kind: Option<Box<str>>,
    /// `status` of the front matter.
    pub status: Option<Box<str>>,
    /// The status line of the body.
    pub status_line: Option<Box<str>>,
    /// `updated` of the front matter.
    pub updated: Option<Date>,
    /// `tags` of the front matter.
    pub tags: Box<[Box<str>]>,
    /// `owner` of the front matter.
    pub owner: Option<Box<str>>,
}

/// What is known about a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveMetadata {
    /// `task`, `plan` …; none for files that are nothing in particular.
    pub kind: Option<String>,
    /// Normalised; one of the four, or whatever somebody wrote.
    pub status: Option<String>,
    /// The official date, or that of the file.
    pub updated: Date,
    /// In lower case.
    pub tags: Vec<String>,
    /// Whose it is.
    pub owner: Option<String>,
}

impl DeclaredMetadata {
    /// Front matter and the status line of the body.
    pub fn of(front: Option<&Map<String, Value>>, status_line: Option<&str>) -> Self {
        let field = |name: &str| front.and_then(|front| front.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        Self {
            kind: text("type").map(|kind| kind.to_lowercase().into()),
            status: text("status").map(|status| normalised(status).into()),
            status_line: status_line.map(normalised).filter(|status| !status.is_empty()).map(Into::into),
            updated: text("updated").and_then(day),
            tags: tags(field("tags")),
            owner: field("owner").and_then(scalar).map(Into::into),
        }
    }

    /// The kind: what the text says, else what its place suggests.
    pub fn kind(&self, path: &DocumentPath) -> Option<String> {
        self.kind.as_deref().or_else(|| path.kind()).map(str::to_owned)
    }

    /// The status that counts. The status line is one only in a task.
    pub fn status(&self, path: &DocumentPath) -> Option<&str> {
        let is_task = || self.kind.as_deref().or_else(|| path.kind()) == Some("task");
        self.status.as_deref().or_else(|| self.status_line.as_deref().filter(|_| is_task()))
    }

    /// All of it, for a file at this place that changed at this moment.
    pub fn metadata(&self, path: &DocumentPath, modified_ns: i128, zone: &TimeZone) -> EffectiveMetadata {
        EffectiveMetadata {
            kind: self.kind(path),
            status: self.status(path).map(str::to_owned),
            updated: self.updated.unwrap_or_else(|| date_of(modified_ns, zone)),
            tags: self.tags.iter().map(|tag| tag.to_string()).collect(),
            owner: self.owner.as_deref().map(str::to_owned),
        }
    }
}

impl EffectiveMetadata {
    /// The five keys that a reader sees.
    pub fn json(&self) -> Value {
        json!({
            "type": self.kind,
            "status": self.status,
            "updated": self.updated.to_string(),
            "tags": self.tags,
            "owner": self.owner,
        })
    }
}

/// A status as it is compared: `In Progress` is `in-progress`.
pub fn normalised(status: &str) -> String {
    let mut normal = String::new();
    for character in status.trim().to_lowercase().chars() {
        let joins = character.is_whitespace() || character == '_';
        match (joins, normal.ends_with('-')) {
            (true, true) => {}
            (true, false) => normal.push('-'),
            (false, _) => normal.push(character),
        }
    }
    normal
}

/// The day with which a text begins.
pub fn day(text: &str) -> Option<Date> {
    let day = text.get(..10)?;
    let is_shaped = day.bytes().enumerate().all(|(place, byte)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if is_shaped { day.parse().ok() } else { None }
}

/// The day of a file's time.
pub fn date_of(modified_ns: i128, zone: &TimeZone) -> Date {
    moment(modified_ns).to_zoned(zone.clone()).date()
}

/// A file's time in UTC, to the second.
pub fn instant(modified_ns: i128) -> String {
    moment(modified_ns).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn moment(modified_ns: i128) -> Timestamp {
    Timestamp::from_nanosecond(modified_ns).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn tags(value: Option<&Value>) -> Box<[Box<str>]> {
    let words: Vec<String> = match value {
        Some(Value::Array(values)) => values.iter().filter_map(scalar).collect(),
        Some(value) => scalar(value).iter().flat_map(|text| text.split(',')).map(str::to_owned).collect(),
        None => Vec::new(),
    };
    words
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().into())
        .collect()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected as a reader sees it, for a file that changed on the first day of 2026.
    fn check(path: &str, front: Value, status_line: Option<&str>, expected: Value) {
        let path = DocumentPath::of(path).expect("a document");
        let said = DeclaredMetadata::of(front.as_object(), status_line);
        let changed = 1_767_225_600_000_000_000;
        assert_eq!(said.metadata(&path, changed, &TimeZone::UTC).json(), expected, "{front}");
    }

    #[test]
    fn the_text_comes_first_then_the_place() {
        let plain = |kind: Value, status: Value| json!({ "type": kind, "status": status, "updated": "2026-01-01", "tags": [], "owner": null });
        check("p/tasks/1.md", json!(null), Some("In  Progress"), plain(json!("task"), json!("in-progress")));
        check("p/tasks/sub/1.md", json!({}), Some("done"), plain(json!("task"), json!("done")));
        check("p/plans/a.md", json!(null), Some("done"), plain(json!("plan"), json!(null)));
        check("p/status.md", json!(null), Some("setup"), plain(json!("status"), json!(null)));
        check("p/notes.md", json!(null), None, plain(json!(null), json!(null)));
        check("p/other/notes.md", json!(null), None, plain(json!(null), json!(null)));
        check("p/tasks/1.md", json!({ "type": "Note" }), Some("done"), plain(json!("note"), json!(null)));
        check("p/plans/1.md", json!({ "type": "task" }), Some("done"), plain(json!("task"), json!("done")));
        check("p/tasks/1.md", json!({ "status": "Blocked" }), Some("done"), plain(json!("task"), json!("blocked")));
        check("p/tasks/1.md", json!({ "status": null, "type": null }), Some("x_y"), plain(json!("task"), json!("x-y")));
        check(
            "p/tasks/1.md",
            json!({ "status": 3, "type": [], "updated": "soon" }),
            Some(" "),
            plain(json!("task"), json!(null)),
        );
        let all = json!({ "type": " Task ", "status": "done", "updated": "2025-02-09T10:00:00Z", "tags": ["A", 2, " ", true, []], "owner": 7 });
        let seen = json!({ "type": "task", "status": "done", "updated": "2025-02-09", "tags": ["a", "2", "true"], "owner": "7" });
        check("p/scratch/1.md", all, None, seen);
        let listed =
            json!({ "type": "report", "status": null, "updated": "2026-01-01", "tags": ["uno", "dos"], "owner": null });
        check("p/reports/1.md", json!({ "tags": "Uno, ,DOS", "updated": "2025-02-30" }), None, listed);
    }
}
