//! What is installed for service managers: the keys that must be there, those that must not, and that systemd itself
//! finds nothing to complain about.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::tree;

/// `Section.Key=value` for every line of a unit that is no comment.
fn settings(unit: &str) -> Vec<String> {
    let mut section = "";
    let mut settings = Vec::new();
    for line in unit.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => section = name,
            None => settings.push(format!("{section}.{line}")),
        }
    }
    settings
}

#[track_caller]
fn check(path: &str, expected: &[&str], forbidden: &[&str]) {
    let settings = settings(&tree::read(path));
    for line in expected {
        assert!(settings.iter().any(|setting| setting == line), "{path}: `{line}` is missing");
    }
    for key in forbidden {
        let found = settings.iter().find(|setting| setting.split('=').next().is_some_and(|name| name.ends_with(key)));
        assert_eq!(found, None, "{path}: `{key}` must not be there");
    }
}

#[test]
fn the_socket_is_private_and_where_proxies_look() {
    let expected = [
        "Socket.ListenStream=%t/trellis/daemon.sock",
        "Socket.SocketMode=0600",
        "Socket.DirectoryMode=0700",
        "Socket.RemoveOnStop=no",
        "Install.WantedBy=sockets.target",
    ];
    check("systemd/trellisd.socket", &expected, &[".Accept"]);
}

#[test]
fn the_service_has_no_more_rights_than_it_needs() {
    let expected = [
        "Unit.StartLimitIntervalSec=60",
        "Unit.StartLimitBurst=5",
        "Service.Type=notify",
        "Service.ExecStart=%h/.local/bin/trellisd run",
        "Service.Restart=on-failure",
        "Service.RestartSec=1",
        "Service.NoNewPrivileges=yes",
        "Service.RestrictSUIDSGID=yes",
        "Service.LockPersonality=yes",
        "Service.RestrictRealtime=yes",
        "Service.MemoryDenyWriteExecute=yes",
        "Service.RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        "Service.SystemCallFilter=@system-service",
        "Service.SystemCallFilter=landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        "Service.SystemCallArchitectures=native",
        "Service.LimitNOFILE=8192",
        "Service.MemoryMax=1G",
        "Install.WantedBy=default.target",
    ];
    let forbidden = [".ProtectHome", ".ProtectSystem", ".PrivateTmp", ".UMask", ".WatchdogSec"];
    check("systemd/trellisd.service", &expected, &forbidden);
}

#[test]
fn systemd_has_nothing_to_complain_about() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let program = home.path().join("trellisd");
    fs::write(&program, "#!/bin/sh\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let service =
        tree::read("systemd/trellisd.service").replace("%h/.local/bin/trellisd", program.to_str().expect("text"));
    fs::write(home.path().join("trellisd.service"), service).expect("a unit");
    fs::write(home.path().join("trellisd.socket"), tree::read("systemd/trellisd.socket")).expect("a unit");
    let verified = Command::new("systemd-analyze")
        .args(["--user", "--man=no", "verify", "./trellisd.service", "./trellisd.socket"])
        .env("XDG_RUNTIME_DIR", home.path())
        .env("HOME", home.path())
        .current_dir(home.path())
        .output();
    let Ok(output) = verified else {
        eprintln!("skipped: no systemd-analyze here");
        return;
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaints.contains("trellisd"), "{complaints}");
}

#[test]
fn launchd_starts_it_and_does_not_start_it_for_ever() {
    let label = "io.trellis.trellisd";
    let text = tree::read(&format!("launchd/{label}.plist"));
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist "));
    let mut plist = plist(&text).expect("well-formed XML, and a property list");
    assert_eq!(plist["Label"], label);
    let program = plist["ProgramArguments"].take();
    assert_eq!((program[0].as_str().map(|path| path.starts_with('/')), &program[1]), (Some(true), &json!("run")));
    assert_eq!(plist["RunAtLoad"], true);
    assert_eq!(plist["KeepAlive"], json!({ "SuccessfulExit": false }));
    assert_eq!(plist["ThrottleInterval"], 10);
    assert_eq!(plist["ProcessType"], "Background");
    let log = plist["StandardErrorPath"].as_str().expect("a path");
    assert!(log.starts_with('/') && log.contains("/Library/Logs/trellis/"), "launchd expands nothing: {log}");
}

/// A property list as a value. Takes the few elements that we use; none if it is not well-formed.
fn plist(text: &str) -> Option<Value> {
    let mut tokens = tokens(text)?.into_iter();
    let opened = tokens.next()? == Token::Open("plist".to_owned());
    let value = element(&mut tokens)?;
    let closed = tokens.next()? == Token::Close("plist".to_owned());
    (opened && closed && tokens.next().is_none()).then_some(value)
}

#[derive(Debug, PartialEq)]
enum Token {
    Open(String),
    Close(String),
    Empty(String),
    Text(String),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        if !before.trim().is_empty() {
            tokens.push(Token::Text(before.trim().to_owned()));
        }
        if let Some(comment) = after.strip_prefix("!--") {
            let (inside, after) = comment.split_once("-->")?;
            // XML forbids it, and parsers refuse the whole file.
            if inside.contains("--") {
                return None;
            }
            rest = after;
            continue;
        }
        let (tag, after) = after.split_once('>')?;
        rest = after;
        let name = |tag: &str| tag.split_whitespace().next().map(str::to_owned);
        match tag.chars().next()? {
            '?' | '!' => {}
            '/' => tokens.push(Token::Close(name(&tag[1..])?)),
            _ if tag.ends_with('/') => tokens.push(Token::Empty(name(tag.trim_end_matches('/'))?)),
            _ => tokens.push(Token::Open(name(tag)?)),
        }
    }
    rest.trim().is_empty().then_some(tokens)
}

fn element(tokens: &mut impl Iterator<Item = Token>) -> Option<Value> {
    value_of(tokens.next()?, tokens)
}

fn value_of(token: Token, tokens: &mut impl Iterator<Item = Token>) -> Option<Value> {
    match token {
        Token::Empty(name) if name == "true" || name == "false" => Some(json!(name == "true")),
        Token::Open(name) if name == "dict" => {
            let mut dictionary = Map::new();
            loop {
                match tokens.next()? {
                    Token::Close(name) if name == "dict" => return Some(Value::Object(dictionary)),
                    Token::Open(name) if name == "key" => {
                        let key = text_of("key", tokens)?;
                        dictionary.insert(key, element(tokens)?);
                    }
                    _ => return None,
                }
            }
        }
        Token::Open(name) if name == "array" => {
            let mut items = Vec::new();
            loop {
                match tokens.next()? {
                    Token::Close(name) if name == "array" => return Some(Value::Array(items)),
                    token => items.push(value_of(token, tokens)?),
                }
            }
        }
        Token::Open(name) if name == "string" => text_of("string", tokens).map(Value::String),
        Token::Open(name) if name == "integer" => text_of("integer", tokens)?.parse::<i64>().ok().map(Value::from),
        _ => None,
    }
}

fn text_of(element: &str, tokens: &mut impl Iterator<Item = Token>) -> Option<String> {
    let Token::Text(text) = tokens.next()? else { return None };
    (tokens.next()? == Token::Close(element.to_owned())).then_some(text)
}

#[test]
fn broken_property_lists_are_told() {
    let good =
        "<plist version=\"1.0\"><!-- a --><dict><key>a</key><array><string>b</string><true/></array></dict></plist>";
    assert_eq!(plist(good), Some(json!({ "a": ["b", true] })));
    for (part, broken) in
        [("</array>", ""), ("</dict>", "</array>"), ("<!-- a -->", "<!-- a -- b -->"), ("<true/>", "<true>")]
    {
        assert_eq!(plist(&good.replace(part, broken)), None, "{part}");
    }
}
