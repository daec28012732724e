//! Host, origin, preflight: what a web page may and may not do.

use serde_json::json;
use trellis_tests::harness::{Home, HttpClient};

fn hosted(web: &HttpClient, host: &str) -> HttpClient {
    web.without("Host").with("Host", host)
}

#[test]
fn only_names_of_this_machine_are_answered() {
    let (_home, web) = Home::new().gateway(&[("ALLOWED_HOSTS", "box.example")]);
    let port = web.address.port();
    for host in
        ["localhost", "127.0.0.1", "[::1]", &format!("LocalHost:{port}"), &format!("[::1]:{port}"), "box.example"]
    {
        assert_eq!(hosted(&web, host).get("/tools").status, 200, "{host}");
        let (session, _) = hosted(&web, host).initialize("/mcp", "2025-11-25");
        assert_eq!(session.send("DELETE", "/mcp", None).status, 202, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "169.254.169.254", "localhost:1"] {
        for path in ["/tools", "/health", "/mcp", "/nowhere"] {
            let reply = hosted(&web, host).get(path);
            assert_eq!((reply.status, reply.code()), (421, 1005.into()), "{host} {path}");
        }
    }
    assert_eq!(web.without("Host").get("/health").status, 400);
    assert_eq!(web.with("Host", "localhost").get("/health").status, 400);
    let named_twice = web.get("http://evil.example/health");
    assert_eq!(named_twice.status, 421, "the target of the request counts as well");
}

#[test]
fn only_listed_pages_may_call() {
    let (_home, web) = Home::new().gateway(&[("ALLOWED_ORIGINS", "https://a.example,http://localhost:3000")]);
    let plain = web.get("/tools");
    assert_eq!(plain.header("access-control-allow-origin"), None);
    for origin in ["https://a.example", "http://localhost:3000", &format!("http://127.0.0.1:{}", web.address.port())] {
        for (web, status) in [(web.clone(), 200), (web.without("X-API-Key"), 401)] {
            let reply = web.with("Origin", origin).get("/tools");
            assert_eq!(reply.status, status, "{origin}");
            assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
            assert_eq!(reply.header("vary"), Some("Origin"));
            assert_eq!(reply.header("access-control-expose-headers"), Some("X-Request-ID, Mcp-Session-Id"));
            assert_eq!(reply.header("access-control-allow-credentials"), None);
        }
    }
    for origin in
        ["null", "https://evil.example", "https://a.example.evil.example", "http://a.example", "https://a.example:444"]
    {
        for (web, path) in [
            (web.clone(), "/tools"),
            (web.without("X-API-Key"), "/tools"),
            (web.clone(), "/mcp"),
            (web.clone(), "/health"),
        ] {
            let reply = web.with("Origin", origin).post(path, &json!({}));
            assert_eq!((reply.status, reply.code()), (403, 1005.into()), "{origin} {path}");
            assert_eq!(reply.header("access-control-allow-origin"), None);
        }
    }
    let twice = web.with("Origin", "https://a.example").with("Origin", "https://a.example").get("/tools");
    assert_eq!(twice.status, 403);
}

#[test]
fn a_page_may_ask_first() {
    let (_home, web) = Home::new().gateway(&[("ALLOWED_ORIGINS", "https://a.example")]);
    let stranger = web.without("X-API-Key").with("Access-Control-Request-Method", "POST");
    for path in ["/tools", "/tools/vault_ls", "/mcp", "/nowhere"] {
        let reply = stranger.with("Origin", "https://a.example").send("OPTIONS", path, None);
        assert_eq!(reply.status, 204, "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), Some("https://a.example"));
        assert_eq!(reply.header("access-control-allow-methods"), Some("GET, POST, DELETE, OPTIONS"));
        assert_eq!(reply.header("access-control-max-age"), Some("600"));
        let headers = reply.header("access-control-allow-headers").expect("headers");
        for name in [
            "Content-Type",
            "Authorization",
            "X-API-Key",
            "X-Request-ID",
            "Accept",
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "Mcp-Method",
            "Mcp-Name",
            "Last-Event-ID",
            "X-Trellis-Project",
        ] {
            assert!(headers.split(", ").any(|one| one == name), "{name}");
        }
        assert_eq!(stranger.with("Origin", "https://evil.example").send("OPTIONS", path, None).status, 403);
        let bare = stranger.send("OPTIONS", path, None);
        assert_eq!((bare.status, bare.header("access-control-allow-methods")), (204, None));
    }
}
