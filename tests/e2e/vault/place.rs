//! Where the vault is: `VAULT_ROOT`, `WORKSPACE_ROOT`, the working directory, the project, an argument.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use trellis_tests::harness::{Client, Home};

/// Everything that can be read of a vault is its own name.
fn put_vaults(home: &Home, places: &[&str]) {
    for place in places {
        fs::create_dir_all(home.path().join(place)).expect("a directory");
        fs::write(home.path().join(place).join("name.md"), place).expect("a file");
    }
}

/// Which vault a host started in this directory reads.
#[track_caller]
fn check(home: &Home, directory: &str, expected: Result<&str, &str>) {
    let directory = home.path().join(directory);
    let mut client = home.host(&["--only", "vault", "--cwd", directory.to_str().expect("text")]);
    check_read(&mut client, &json!(null), expected);
}

#[track_caller]
fn check_read(client: &mut Client, project_root: &Value, expected: Result<&str, &str>) {
    for (tool, answer) in [("vault_read", "text"), ("vault_scan", "text"), ("vault_ls", "items")] {
        let path = if tool == "vault_ls" { json!(null) } else { json!("name.md") };
        let mut arguments = json!({ "path": path, "project_root": project_root });
        if tool == "vault_read" {
            arguments["full"] = json!(true);
        }
        match (expected, tool) {
            (Err(code), _) => assert_eq!(client.call_err(tool, arguments)["code"], code, "{tool}"),
            (Ok(_), "vault_ls") => {
                assert_eq!(client.call_ok(tool, arguments)[answer][0]["path"], "name.md", "{tool}");
            }
            (Ok(name), _) => assert_eq!(client.call_ok(tool, arguments)[answer], name, "{tool}"),
        }
    }
}

#[test]
fn an_absolute_vault_root_is_the_vault_of_every_project() {
    let home = Home::new();
    put_vaults(&home, &["one/vault", "two/vault", "mine"]);
    let mine = home.path().join("mine");
    let home = home.with("VAULT_ROOT", &mine);
    check(&home, "one", Ok("mine"));
    check(&home, "two", Ok("mine"));
    let mut client = home.host(&["--only", "vault"]);
    check_read(&mut client, &json!(home.path().join("one")), Ok("mine"));
}

#[test]
fn a_tilde_is_the_home() {
    let home = Home::new().with("VAULT_ROOT", "~/mine");
    put_vaults(&home, &["mine", "project/vault"]);
    check(&home, "project", Ok("mine"));
}

#[test]
fn an_empty_vault_root_is_as_good_as_none() {
    let home = Home::new().with("VAULT_ROOT", "").with("WORKSPACE_ROOT", "");
    put_vaults(&home, &["project/vault"]);
    check(&home, "project", Ok("project/vault"));
}

#[test]
fn a_relative_vault_root_lies_below_the_working_directory() {
    let home = Home::new().with("VAULT_ROOT", "docs/notes");
    put_vaults(&home, &["project/docs/notes", "project/vault"]);
    check(&home, "project", Ok("project/docs/notes"));
}

#[test]
fn a_relative_vault_root_lies_below_the_workspace_if_there_is_one() {
    let home = Home::new();
    put_vaults(&home, &["space/docs/notes", "project/docs/notes"]);
    let space = home.path().join("space");
    let home = home.with("VAULT_ROOT", "docs/notes").with("WORKSPACE_ROOT", space);
    check(&home, "project", Ok("space/docs/notes"));
}

#[test]
fn a_workspace_root_holds_the_vault() {
    let home = Home::new();
    put_vaults(&home, &["space/vault", "project/vault"]);
    let space = home.path().join("space");
    check(&home.with("WORKSPACE_ROOT", space), "project", Ok("space/vault"));
    let home = Home::new().with("WORKSPACE_ROOT", "inner");
    put_vaults(&home, &["project/inner/vault", "project/vault"]);
    check(&home, "project", Ok("project/inner/vault"));
}

#[test]
fn a_workspace_without_a_vault_gets_one_with_the_first_file() {
    let home = Home::new();
    put_vaults(&home, &["project/vault"]);
    let space = home.path().join("space");
    fs::create_dir(&space).expect("a directory");
    let home = home.with("WORKSPACE_ROOT", &space);
    check(&home, "project", Err("not_found"));
    let mut client = home.host(&["--only", "vault"]);
    client.call_ok("vault_create", json!({ "path": "name.md", "content": "space/vault" }));
    assert_eq!(fs::read_to_string(space.join("vault/name.md")).expect("the file"), "space/vault");
    let before = fs::read_dir(home.project().join("vault")).expect("a listing").count();
    assert_eq!(before, 1, "another project's vault is left alone");
    check(&home, "project", Ok("space/vault"));
}

#[test]
fn the_project_is_found_upward_as_far_as_its_checkout() {
    let home = Home::new();
    put_vaults(&home, &["vault", "outer/vault", "outer/marked/vault", "outer/near/vault"]);
    for directory in ["outer/.git", "outer/deep/down", "outer/marked/.todo", "outer/marked/down", "plain/down"] {
        fs::create_dir_all(home.path().join(directory)).expect("a directory");
    }
    check(&home, "outer", Ok("outer/vault"));
    check(&home, "outer/deep/down", Ok("outer/vault"));
    check(&home, "outer/marked/down", Ok("outer/marked/vault"));
    check(&home, "outer/near", Ok("outer/near/vault"));
    // Without a checkout nobody looks upward.
    fs::create_dir_all(home.path().join("plain/vault")).expect("a vault that is not reached");
    check(&home, "plain/down", Err("not_found"));
}

#[test]
fn without_a_vault_nothing_is_found() {
    let home = Home::new();
    check(&home, "project", Err("not_found"));
    // A file is no vault either.
    fs::write(home.project().join("vault"), "text").expect("a file");
    check(&home, "project", Err("not_found"));
    fs::remove_file(home.project().join("vault")).expect("a removal");
    put_vaults(&home, &["project/vault"]);
    check(&home, "project", Ok("project/vault"));
}

#[test]
fn the_vault_itself_may_be_a_link() {
    let home = Home::new();
    put_vaults(&home, &["project/elsewhere"]);
    std::os::unix::fs::symlink("elsewhere", home.project().join("vault")).expect("a link");
    check(&home, "project", Ok("project/elsewhere"));
}

#[test]
fn the_roots_of_a_host_say_where_when_its_directory_does_not() {
    let home = Home::new();
    put_vaults(&home, &["project/vault"]);
    let mut client = home.connect(&["--only", "vault", "--cwd", home.path().to_str().expect("text")]);
    client.initialize_with("2025-11-25", json!({ "roots": {} }));
    // A first call that comes before the roots waits for them.
    let first = json!({ "name": "vault_read", "arguments": { "path": "name.md", "full": true } });
    let first = client.send("tools/call", first);
    let question = client.next_message();
    assert_eq!(question["method"], "roots/list", "{question}");
    let uri = format!("file://{}", home.project().display());
    let roots = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [{ "uri": uri }] } });
    client.send_line(&roots.to_string());
    let answer = client.answer(first);
    assert_eq!(answer["result"]["structuredContent"]["text"], "project/vault", "{answer}");
    check_read(&mut client, &json!(null), Ok("project/vault"));
}

#[test]
fn a_home_is_no_project() {
    let home = Home::new();
    fs::create_dir_all(home.path().join(".git")).expect("a home under version control");
    put_vaults(&home, &["project/vault"]);
    check(&home, "", Err("invalid_parameter"));
    // A host may be started anywhere if it says in the call which project it means.
    let mut client = home.host(&["--only", "vault"]);
    check_read(&mut client, &json!(null), Ok("project/vault"));
    let mut homeless = home.host(&["--only", "vault", "--cwd", home.path().to_str().expect("text")]);
    check_read(&mut homeless, &json!(home.project()), Ok("project/vault"));
}

#[test]
fn an_argument_names_another_project() {
    let home = Home::new();
    put_vaults(&home, &["project/vault", "project/sub/vault", "other/vault", "other/sub/vault"]);
    fs::create_dir(home.path().join("stranger")).expect("a directory");
    let mut client = home.host(&["--only", "vault"]);
    let at = |path: &str| json!(home.path().join(path));
    check_read(&mut client, &json!(null), Ok("project/vault"));
    check_read(&mut client, &at("project"), Ok("project/vault"));
    check_read(&mut client, &at("project/sub"), Ok("project/sub/vault"));
    check_read(&mut client, &at("other"), Ok("other/vault"));
    check_read(&mut client, &at("other/sub"), Ok("other/sub/vault"));
    for foreign in [at("stranger"), at("project-and-more"), at("nowhere"), json!("/"), json!(home.path())] {
        check_read(&mut client, &foreign, Err("invalid_parameter"));
    }
    for wrong in [json!("relative"), json!(""), json!(7), json!(true), json!(["/"])] {
        check_read(&mut client, &wrong, Err("invalid_parameter"));
    }
}

#[test]
fn a_named_project_is_named_in_the_next_actions() {
    let home = Home::new();
    put_vaults(&home, &["project/vault"]);
    fs::write(home.project().join("vault/long.md"), "a\nb\n").expect("a file");
    let mut client = home.host(&["--only", "vault"]);
    let project = home.project();
    let arguments = json!({ "path": "long.md", "chunk_lines": 1, "project_root": project });
    let params = client.call_ok("vault_scan", arguments)["next_actions"][0]["params"].clone();
    assert_eq!(Path::new(params["project_root"].as_str().expect("a path")), project);
    assert_eq!(client.call_ok("vault_scan", params)["text"], "b", "the next action can be called as it is");
}

#[test]
fn two_sessions_of_one_daemon_have_their_own_vaults() {
    let home = Home::new();
    put_vaults(&home, &["project/vault", "mine"]);
    let mut plain = home.host(&["--only", "vault"]);
    let mut command = home.proxy(&["--only", "vault"]);
    command.env("VAULT_ROOT", home.path().join("mine")).env("HARD_MAX_CHARS", "2");
    let mut other = Client::start(command);
    other.initialize("2025-11-25");
    check_read(&mut plain, &json!(null), Ok("project/vault"));
    check_read(&mut other, &json!(null), Ok("mi"));
    assert_eq!(home.daemons().len(), 1);
}
