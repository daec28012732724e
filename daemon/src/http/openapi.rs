//! The table of tools as an OpenAPI 3.1 document: one operation a tool, and the few paths besides.

use serde_json::{Map, Value, json};

use crate::families::Catalogue;

/// The document without tools. Its operations name only the answers that are their own.
const SKELETON: &str = include_str!("openapi.json");

/// The document for what a catalogue shows.
pub fn document(catalogue: &Catalogue) -> Value {
    let mut document: Value = serde_json::from_str(SKELETON).unwrap_or_default();
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    for (exposed, family, tool) in catalogue.tools() {
        // A body may be left out if nothing in it must be there.
        let required = tool.schema.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
        document["paths"][format!("/tools/{}", exposed.name)] = json!({ "post": {
            "operationId": exposed.name,
            "summary": tool.title,
            "description": catalogue.speak(family, tool.description),
            "tags": [family.name],
            "requestBody": { "required": required, "content": { "application/json": { "schema": catalogue.schema(family, tool) } } },
            "responses": { "200": { "description": "The tool's answer.", "content": { "application/json": { "schema": {} } } } },
        } });
    }
    let failures = document["components"]["responses"].as_object().cloned().unwrap_or_default();
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in paths.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        let Some(responses) = operation["responses"].as_object_mut() else { continue };
        for status in failures.keys() {
            let own = responses.shift_remove(status);
            let shared = || json!({ "$ref": format!("#/components/responses/{status}") });
            responses.insert(status.clone(), own.unwrap_or_else(shared));
        }
    }
    document
}
