//! The document of all tools.

use trellis_tests::harness::Home;

#[test]
fn the_document_describes_the_tools_that_are_listed() {
    let (_home, web) = Home::new().gateway(&[]);
    assert_eq!(web.without("X-API-Key").get("/openapi.json").status, 401);
    let reply = web.get("/openapi.json");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json; charset=utf-8")));
    let document = reply.json();
    assert_eq!(document["openapi"], "3.1.0");
    let tools = web.get("/tools").json();
    for tool in tools["tools"].as_array().expect("a list") {
        let name = tool["name"].as_str().expect("a name");
        let operation = &document["paths"][format!("/tools/{name}")]["post"];
        assert_eq!(operation["operationId"], name);
        assert_eq!(operation["requestBody"]["content"]["application/json"]["schema"], tool["inputSchema"]);
        for status in ["200", "400", "401", "404", "409"] {
            assert!(operation["responses"][status].is_object(), "{name} {status}");
        }
    }
    for path in ["/health", "/tools", "/sync"] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let text = reply.text();
    for reference in text.split("\"$ref\":\"#/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(document.pointer(&format!("/{reference}")).is_some(), "{reference}");
    }
}
