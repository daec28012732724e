//! Requests whose end is unsure, and bytes that are no request: refused in JSON, and nothing after them is read.

use trellis_tests::harness::http::HttpResponse;
use trellis_tests::harness::{Home, HttpClient};

#[track_caller]
fn refused(web: &HttpClient, bytes: &[u8], status: u16) -> HttpResponse {
    let mut line = web.open();
    line.write(bytes);
    let reply = line.reply();
    assert_eq!(
        (reply.status, reply.code()),
        (status, (-32600).into()),
        "{:?}",
        String::from_utf8_lossy(&bytes[..bytes.len().min(300)])
    );
    assert!(line.is_closed());
    reply
}

#[test]
fn a_request_has_one_end() {
    let (_home, web) = Home::new().gateway(&[]);
    let json = web.with("Content-Type", "application/json");
    let smuggled = "GET /tools HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (one, other) in [
        (("Content-Length", "2"), ("Content-Length", "2")),
        (("Content-Length", "2"), ("content-length", "3")),
        (("Content-Length", "2"), ("Transfer-Encoding", "chunked")),
        (("Transfer-Encoding", "chunked"), ("Content-Length", "2")),
        (("Content-Length", "2, 2"), ("X", "y")),
        (("Content-Length", "+2"), ("X", "y")),
        (("Content-Length", "0x2"), ("X", "y")),
        (("Transfer-Encoding", "gzip, chunked"), ("X", "y")),
        (("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")),
    ] {
        let mut bytes = json.with(one.0, one.1).with(other.0, other.1).bytes("POST", "/tools/vault_ls", None);
        bytes.extend_from_slice(b"2\r\n{}\r\n0\r\n\r\n");
        bytes.extend_from_slice(smuggled.as_bytes());
        refused(&web, &bytes, 400);
    }
    // The second of two requests on one connection is looked at as closely as the first.
    let mut line = web.open();
    line.write(&json.bytes("POST", "/tools/vault_ls", Some(b"{}")));
    line.reply();
    line.write(&json.with("Content-Length", "2").with("Content-Length", "2").bytes("POST", "/tools/vault_ls", None));
    assert_eq!(line.reply().status, 400);
    assert!(line.is_closed());
}

#[test]
fn bytes_that_are_no_request_are_answered_in_json() {
    let (_home, web) = Home::new().gateway(&[]);
    let head = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
    let many: String = (0..80).map(|number| format!("X-{number}: y\r\n")).collect();
    let cases: [(Vec<u8>, u16); 8] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), 400),
        (b"hello\r\n\r\n".to_vec(), 400),
        (b"GET /health HTTP/9.9\r\n\r\n".to_vec(), 400),
        (b"GET /he alth HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 400),
        (format!("{head}no colon\r\n\r\n").into_bytes(), 400),
        (format!("{head}{many}\r\n").into_bytes(), 431),
        (format!("{head}X: {}\r\n\r\n", "y".repeat(17 << 10)).into_bytes(), 431),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "y".repeat(17 << 10)).into_bytes(), 431),
    ];
    for (bytes, status) in cases {
        refused(&web, &bytes, status);
    }
    assert_eq!(web.get("/health").status, 200);
}
