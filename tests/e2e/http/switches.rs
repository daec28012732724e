//! When the gateway listens, where, and what is said when it does not.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::Stdio;

use trellis_tests::harness::http::{KEY, free_port};
use trellis_tests::harness::{Client, Home, HttpClient, wait_until};

fn said(home: &Home) -> String {
    let output = home.trellisd(&["status"]);
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn it_is_off_until_the_exact_word_is_said() {
    for word in [None, Some("TRUE"), Some("1"), Some("yes")] {
        let port = free_port();
        let mut home = Home::new().with("PORT", port.to_string()).with("API_KEYS", KEY);
        if let Some(word) = word {
            home = home.with("ENABLE_HTTP", word);
        }
        home.host(&[]);
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "{word:?}");
        assert!(said(&home).contains("gateway   off"), "{word:?}");
    }
}

#[test]
fn status_and_up_say_where_it_listens() {
    let (home, web) = Home::new().gateway(&[]);
    let line = format!("gateway   http://{}", web.address);
    assert!(said(&home).contains(&line), "{}", said(&home));
    let up = home.trellisd(&["up"]);
    assert!(String::from_utf8_lossy(&up.stdout).contains(&line));
    assert_eq!(home.status().expect("a status")["gateway"], format!("http://{}", web.address));
    assert_eq!(home.status().expect("a status")["idle_seconds"], serde_json::Value::Null, "no idle exit");
}

#[test]
fn it_listens_on_this_machine_only() {
    let (_home, web) = Home::new().gateway(&[]);
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let port = format!(":{:04X}", web.address.port());
    let listening = |line: &&str| line.split_whitespace().nth(3) == Some("0A");
    let places: Vec<String> = tables
        .iter()
        .flat_map(|table| table.lines().skip(1).filter(listening))
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter(|place| place.ends_with(&port))
        .map(str::to_owned)
        .collect();
    assert_eq!(places, [format!("0100007F{port}")]);
}

/// The daemon runs without its gateway, and everybody who asks hears why.
#[track_caller]
fn check_not_running(home: &Home, why: &str) {
    let mut command = home.proxy(&[]);
    command.stderr(Stdio::piped());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a proxy");
    let status = wait_until("a daemon", || home.status());
    assert!(status["gateway"].as_str().expect("text").contains(why), "{status}");
    assert!(status["warnings"].to_string().contains(why), "{status}");
    wait_until("the log says why", || home.log().contains(why).then_some(()));
    // A proxy that is told to end before it has met its daemon has nothing to say.
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr"));
    let mut told = String::new();
    stderr.read_line(&mut told).expect("text");
    drop(child.stdin.take());
    stderr.read_to_string(&mut told).expect("text");
    child.wait().expect("it ends");
    let lines: Vec<&str> = told.lines().filter(|line| line.contains(why)).collect();
    assert_eq!(lines.len(), 1, "one line on the proxy's stderr: {told:?}");
    home.host(&[]).tool_names();
}

#[test]
fn a_port_that_cannot_be_used_is_not_replaced() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let home = || Home::new().with("ENABLE_HTTP", "true").with("API_KEYS", KEY);
    check_not_running(&home().with("PORT", &port), &format!("port {port} is in use"));
    for nonsense in ["0", "65536", "http"] {
        check_not_running(&home().with("PORT", nonsense), &format!("`{nonsense}` is not a number from 1 to 65535"));
    }
}

#[test]
fn other_machines_need_credentials() {
    let port = free_port().to_string();
    let open = Home::new().with("ENABLE_HTTP", "true").with("PORT", &port).with("HOST", "0.0.0.0");
    check_not_running(&open, "no credentials are set");
    let allowed = open.with("ALLOW_UNAUTHENTICATED", "true");
    allowed.trellisd(&["stop"]);
    check_not_running(&allowed, "no credentials are set");
    let (_home, web) = Home::new().gateway(&[("HOST", "0.0.0.0")]);
    assert_eq!(web.get("/tools").status, 200);
    assert_eq!(web.without("X-API-Key").get("/tools").status, 401);
}

#[test]
fn the_second_name_of_the_port_counts_when_the_first_is_absent() {
    let port = free_port();
    let home = Home::new().with("ENABLE_HTTP", "true").with("API_KEYS", KEY).with("HTTP_PORT", port.to_string());
    assert!(home.trellisd(&["up"]).status.success());
    assert_eq!(HttpClient::at(port).get("/health").status, 200);
}

#[test]
fn the_configuration_file_turns_it_on() {
    let port = free_port();
    let home = Home::new();
    let config = home.path().join(".config/trellis/config.toml");
    fs::create_dir_all(config.parent().expect("a directory")).expect("made");
    fs::write(&config, format!("[http]\nenabled = true\nport = {port}\napi_keys = [\"{KEY}\"]\n")).expect("written");
    assert!(home.trellisd(&["up"]).status.success());
    assert_eq!(HttpClient::at(port).with("X-API-Key", KEY).get("/tools").status, 200);
    let settings = home.trellisd(&["status", "--settings"]);
    let settings = String::from_utf8_lossy(&settings.stdout).into_owned();
    let row = |name: &str| settings.lines().find(|line| line.contains(name)).expect("a row").to_owned();
    assert!(row("http.enabled").contains("true") && row("http.enabled").contains("config file"), "{settings}");
    assert!(row("http.api_keys").contains("1 set") && !settings.contains(KEY), "{settings}");
    assert!(row("http.host").contains("default"));
}

#[test]
fn switches_that_come_too_late_are_told_in_one_line() {
    let home = Home::new();
    let _first = home.host(&[]);
    let port = free_port();
    let mut late = home.proxy(&[]);
    late.env("ENABLE_HTTP", "true").env("PORT", port.to_string()).stderr(Stdio::piped());
    late.env("API_KEYS", "hush").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = late.spawn().expect("a proxy");
    wait_until("the session", || (home.status()?["sessions"].as_array()?.len() == 2).then_some(()));
    drop(child.stdin.take());
    let mut told = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut told).expect("text");
    child.wait().expect("it ends");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("already runs without the HTTP gateway") && told.contains("trellisd stop"), "{told}");
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_proxy_without_stdio_ends_with_a_message() {
    let home = Home::new();
    let mut command = home.proxy(&[]);
    let output = command.env("ENABLE_STDIO", "false").stdin(Stdio::null()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("ENABLE_STDIO=false"), "{output:?}");
    for word in ["FALSE", "0", "true"] {
        let mut command = home.proxy(&[]);
        command.env("ENABLE_STDIO", word);
        Client::start(command).initialize("2025-11-25");
    }
}

#[test]
fn a_gateway_without_credentials_refuses_everybody() {
    let port = free_port();
    let home = Home::new().with("ENABLE_HTTP", "true").with("PORT", port.to_string()).with("API_KEYS", " , ");
    assert!(home.trellisd(&["up"]).status.success());
    let web = HttpClient::at(port);
    assert_eq!(web.get("/health").status, 200);
    for (method, path) in
        [("GET", "/tools"), ("POST", "/sync"), ("GET", "/openapi.json"), ("POST", "/mcp"), ("GET", "/x")]
    {
        for web in [web.clone(), web.with("X-API-Key", ""), web.with("Authorization", "Bearer ")] {
            assert_eq!(web.send(method, path, None).status, 401, "{method} {path}");
        }
    }
    assert!(home.log().contains("refuses everybody"), "{}", home.log());
}

#[test]
fn only_an_explicit_word_opens_it_to_everybody_here() {
    for (word, status) in [("true", 200), ("yes", 401)] {
        let port = free_port();
        let home = Home::new().with("ENABLE_HTTP", "true").with("PORT", port.to_string());
        let home = home.with("ALLOW_UNAUTHENTICATED", word);
        assert!(home.trellisd(&["up"]).status.success());
        assert_eq!(HttpClient::at(port).get("/tools").status, status);
    }
}
