//! The table of tools as an OpenAPI 3.1 document: one operation a tool, and the few paths besides.

use serde_json::{Map, Value, json};

use crate::tools::Catalogue;

/// The statuses of failures, each with its sentence.
const FAILURES: [(&str, &str); 13] = [
    ("400", "The request or its arguments are not what is asked for."),
    ("401", "No good credentials."),
    ("403", "This may not be done, or not from that web page."),
    ("404", "It is not there."),
    ("405", "The path does not answer that method."),
    ("408", "The request took too long to arrive."),
    ("409", "It is not what the caller thought it was."),
    ("413", "The body is too large."),
    ("415", "The body is not JSON."),
    ("421", "The server does not answer to that host name."),
    ("431", "The header lines are too long or too many."),
    ("500", "It could not be read or written, or the fault is ours."),
    ("503", "Not now."),
];

/// The document for what a catalogue shows.
pub fn document(catalogue: &Catalogue) -> Value {
    let mut paths = Map::new();
    paths.insert("/health".to_owned(), health());
    paths.insert("/tools".to_owned(), tools());
    paths.insert("/sync".to_owned(), sync());
    for (exposed, family, tool) in catalogue.tools() {
        let mut operation = json!({
            "operationId": exposed.name,
            "summary": tool.title,
            "description": tool.description,
            "tags": [family.name],
            "requestBody": body(&Value::Object(tool.schema.clone())),
            "responses": responses(json!({ "description": "The tool's answer." })),
        });
        operation["responses"]["200"]["content"] = content(&json!({}));
        paths.insert(format!("/tools/{}", exposed.name), json!({ "post": operation }));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Trellis",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Memory and tasks in plain files on this machine.",
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "security": [{ "apiKey": [] }, { "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
            "schemas": { "Error": error() },
            "responses": failures(),
        },
    })
}

fn content(schema: &Value) -> Value {
    json!({ "application/json": { "schema": schema } })
}

/// A body that may be left out if nothing in it must be there.
fn body(schema: &Value) -> Value {
    let required = schema["required"].as_array().is_some_and(|names| !names.is_empty());
    json!({ "required": required, "content": content(schema) })
}

/// A good answer, and a reference to each failure.
fn responses(good: Value) -> Value {
    let mut all = Map::new();
    all.insert("200".to_owned(), good);
    for (status, _) in FAILURES {
        all.insert(status.to_owned(), json!({ "$ref": format!("#/components/responses/{status}") }));
    }
    Value::Object(all)
}

fn failures() -> Value {
    let reference = json!({ "$ref": "#/components/schemas/Error" });
    let failure = |(status, description): (&str, &str)| {
        (status.to_owned(), json!({ "description": description, "content": content(&reference) }))
    };
    Value::Object(FAILURES.into_iter().map(failure).collect())
}

fn error() -> Value {
    json!({
        "type": "object",
        "required": ["success", "error"],
        "properties": {
            "success": { "const": false },
            "error": {
                "type": "object",
                "required": ["code", "name", "message"],
                "properties": {
                    "code": { "type": ["integer", "string"] },
                    "name": { "type": "string" },
                    "message": { "type": "string" },
                    "data": {},
                    "hint": { "type": "string" },
                },
            },
        },
    })
}

fn health() -> Value {
    let text = json!({ "type": "string" });
    let schema = json!({
        "type": "object",
        "required": ["status", "server", "version", "timestamp"],
        "properties": {
            "status": { "enum": ["healthy", "degraded"] },
            "server": text,
            "version": text,
            "timestamp": { "type": "string", "format": "date-time" },
        },
    });
    let answer = |description: &str| json!({ "description": description, "content": content(&schema) });
    let mut responses = responses(answer("All is well."));
    responses["503"] = answer("The bridge file cannot be read.");
    json!({ "get": {
        "operationId": "health",
        "summary": "Whether the server is well",
        "security": [],
        "responses": responses,
    } })
}

fn tools() -> Value {
    let tool = json!({
        "type": "object",
        "required": ["name", "description", "inputSchema"],
        "properties": {
            "name": { "type": "string" },
            "description": { "type": "string" },
            "inputSchema": { "type": "object" },
        },
    });
    let list = json!({
        "type": "object",
        "required": ["tools"],
        "properties": { "tools": { "type": "array", "items": tool } },
    });
    let call = json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "type": "string" }, "arguments": { "type": "object" } },
    });
    json!({
        "get": {
            "operationId": "list_tools",
            "summary": "All tools",
            "responses": responses(json!({ "description": "The tools.", "content": content(&list) })),
        },
        "post": {
            "operationId": "call_tool",
            "summary": "Call a tool by its name",
            "requestBody": body(&call),
            "responses": responses(json!({ "description": "The tool's answer.", "content": content(&json!({})) })),
        },
    })
}

fn sync() -> Value {
    let number = json!({ "type": "integer" });
    let schema = json!({
        "type": "object",
        "required": ["success", "syncedAt", "tasksSynced", "conflicts", "conflictsResolved"],
        "properties": {
            "success": { "const": true },
            "syncedAt": { "type": "string", "format": "date-time" },
            "tasksSynced": number,
            "conflicts": number,
            "conflictsResolved": { "type": "array" },
        },
    });
    json!({ "post": {
        "operationId": "sync",
        "summary": "Read the bridge file again",
        "responses": responses(json!({ "description": "It was read.", "content": content(&schema) })),
    } })
}
