//! What a body may be.

use trellis_tests::harness::Home;

#[test]
fn only_json_is_read() {
    let (_home, web) = Home::new().gateway(&[]);
    for path in ["/tools", "/tools/vault_ls", "/sync", "/mcp"] {
        let web = web.with("Accept", "application/json, text/event-stream");
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=latin1",
        ] {
            let reply = web.with("Content-Type", kind).send("POST", path, Some(b"{}"));
            assert_eq!((reply.status, reply.code()), (415, (-32600).into()), "{path} {kind}");
        }
        let untyped = web.send("POST", path, Some(b"{}"));
        assert_eq!(untyped.status, 415, "{path}");
        let packed = web.with("Content-Type", "application/json").with("Content-Encoding", "gzip");
        assert_eq!(packed.send("POST", path, Some(b"{}")).status, 415, "{path}");
    }
}

#[test]
fn a_body_has_a_limit() {
    let home = Home::new();
    home.write("vault/a.md", "one\n");
    let (_home, web) = home.gateway(&[]);
    let web = web.with("Content-Type", "application/json").with("Accept", "application/json, text/event-stream");
    let padded = |size: usize| format!("{{\"_pad\":\"{}\"}}", "x".repeat(size - 11)).into_bytes();
    let most = web.send("POST", "/tools/vault_ls", Some(&padded(4 << 20)));
    assert_eq!(most.status, 200, "{}", most.text());
    for path in ["/tools/vault_ls", "/tools", "/mcp"] {
        for size in [(4 << 20) + 1, 5 << 20] {
            let reply = web.send("POST", path, Some(&padded(size)));
            assert_eq!((reply.status, reply.code()), (413, (-32600).into()), "{path} {size}");
        }
    }
    // Without a length the end is noticed on the way.
    let mut line = web.open();
    line.write(&web.with("Transfer-Encoding", "chunked").bytes("POST", "/tools/vault_ls", None));
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    while line.try_write(&chunk).is_ok() {}
}

#[test]
fn a_wrong_credential_is_told_before_the_body_is_read() {
    let (_home, web) = Home::new().gateway(&[]);
    let stranger = web.without("X-API-Key").with("Content-Type", "text/plain");
    assert_eq!(stranger.send("POST", "/tools", Some(b"{")).status, 401);
    let mut line = stranger.open();
    line.write(&stranger.with("Content-Length", "1000000").bytes("POST", "/tools", None));
    assert_eq!(line.reply().status, 401);
}
