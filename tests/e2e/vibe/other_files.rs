//! Files that are no documents: text with a known extension is written and read as given, whatever else is there is
//! listed; none of them is ever searched.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{Vibe, sha256};

const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\xff";

fn at(folder: &str, filename: &str) -> Value {
    json!({ "project": "demo", "folder": folder, "filename": filename })
}

fn with_content(folder: &str, filename: &str, content: &str) -> Value {
    json!({ "project": "demo", "folder": folder, "filename": filename, "content": content })
}

#[test]
fn a_known_extension_stays_and_the_text_is_as_given() {
    let mut vibe = Vibe::new();
    for (folder, filename, content) in [
        ("assets", "data.json", "{\"a\": 1}"),
        ("assets", "Config.YAML", "---\nstatus: done\ntags: [a]\n---\n"),
        ("references", "notas.txt", "Status: done\r\n\r\n"),
        ("tasks", "lista.csv", "\u{feff}a,b\n"),
        ("", "pyproject.toml", ""),
        ("scratch", "pagina.mdx", "---\nstatus: done\n---\n# Hola\n"),
    ] {
        let path = if folder.is_empty() { format!("demo/{filename}") } else { format!("demo/{folder}/{filename}") };
        let created = vibe.call("create_doc", with_content(folder, filename, content));
        let absolute = fs::canonicalize(vibe.path(&path)).expect("the file");
        let expected = json!({ "success": true, "path": path, "absolute_path": absolute, "indexed": false });
        assert_eq!(created.to_string(), expected.to_string());
        assert_eq!(vibe.text(&path), content);
        vibe.check_refused("create_doc", with_content(folder, filename, "other"), "FILE_EXISTS");
        let read = vibe.call("read_doc", at(folder, filename));
        assert_eq!((&read["filename"], &read["path"]), (&json!(filename), &json!(path)));
        assert_eq!((&read["content"], &read["hash"]), (&json!(content), &json!(sha256(content))));
        let metadata = &read["metadata"];
        assert_eq!(
            (&metadata["status"], &metadata["tags"], &metadata["owner"]),
            (&json!(null), &json!([]), &json!(null))
        );
        if !folder.is_empty() {
            assert_eq!(vibe.resource(&format!("vibe://projects/demo/{folder}/{filename}")), read);
        }
        let updated = vibe.call("update_doc", with_content(folder, filename, "[1]\n"));
        assert_eq!((&updated["path"], &updated["indexed"]), (&json!(path), &json!(false)));
        assert_eq!(
            (&updated["previous_hash"], &updated["new_hash"]),
            (&json!(sha256(content)), &json!(sha256("[1]\n")))
        );
        assert_eq!(vibe.text(&path), "[1]\n", "no block of the old text stays in front");
    }
    assert_eq!(vibe.tree().iter().filter(|path| path.ends_with(".md")).count(), 0);
}

#[test]
fn other_names_become_documents() {
    let mut vibe = Vibe::new();
    for (filename, expected) in [("notas", "notas.md"), ("v1.2", "v1.2.md"), ("json", "json.md"), ("a.png", "a.png.md")]
    {
        let created = vibe.call("create_doc", with_content("scratch", filename, "# Una palabra\n"));
        assert_eq!((&created["path"], &created["indexed"]), (&json!(format!("demo/scratch/{expected}")), &json!(true)));
        assert_eq!(vibe.call("read_doc", at("scratch", filename))["filename"], expected);
        let updated = vibe.call("update_doc", with_content("scratch", filename, "# Otra palabra\n"));
        assert_eq!(updated["path"], format!("demo/scratch/{expected}"));
    }
}

#[test]
fn they_are_not_found_by_their_words() {
    let mut vibe = Vibe::with("demo/references/a.md", "xilofono\n");
    vibe.call("create_doc", with_content("references", "b.txt", "xilofono\n"));
    vibe.write("demo/references/c.json", "\"xilofono\"");
    let found = vibe.call("search", json!({ "query": "xilofono" }));
    assert_eq!((&found["total_matches"], &found["results"][0]["filename"]), (&json!(1), &json!("a.md")));
    assert_eq!(vibe.call("reindex", json!({ "full": true }))["stats"]["scanned"], 1);
    vibe.call("update_doc", with_content("references", "b.txt", "xilofono y marimba\n"));
    assert_eq!(vibe.call("search", json!({ "query": "marimba" }))["total_matches"], 0);
}

#[test]
fn only_markdown_takes_front_matter() {
    let mut vibe = Vibe::with("demo/assets/old.json", "{}");
    vibe.write("demo/assets/Makefile", "all:\n");
    for (tool, filename) in [("create_doc", "new.json"), ("update_doc", "old.json"), ("update_doc", "Makefile")] {
        let mut arguments = with_content("assets", filename, "[]");
        arguments["frontmatter"] = json!({ "tags": ["a"] });
        let error = vibe.check_refused(tool, arguments.clone(), "INVALID_ARGUMENT");
        assert_eq!(error["details"]["field"], "frontmatter", "{error}");
        // An object without keys wants nothing.
        arguments["frontmatter"] = json!({});
        vibe.call(tool, arguments);
        assert_eq!(vibe.text(&format!("demo/assets/{filename}")), "[]");
    }
}

#[test]
fn a_file_that_is_no_text_cannot_be_read_or_overwritten() {
    let mut vibe = Vibe::with("demo/assets/pic.png", PICTURE);
    vibe.write("demo/assets/latin.csv", b"a\xf1o\n");
    vibe.write("demo/assets/deep/pic.png", PICTURE);
    for filename in ["pic.png", "latin.csv", "deep/pic.png"] {
        let error = vibe.check_refused("read_doc", at("assets", filename), "FILE_READ_ERROR");
        let details = json!({ "project": "demo", "path": format!("assets/{filename}"), "reason": "not_utf8" });
        assert_eq!(error["details"], details);
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("not UTF-8") && message.contains("open it with"), "{message}");
        let uri = format!("vibe://projects/demo/assets/{}", filename.replace('/', "%2F"));
        let error = vibe.client.ask("resources/read", json!({ "uri": uri }))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32602), &json!("FILE_READ_ERROR")), "{error}");
        assert_eq!(error["data"]["details"], details);
    }
    vibe.check_refused("update_doc", with_content("assets", "pic.png", "x"), "FILE_READ_ERROR");
    assert_eq!(fs::read(vibe.path("demo/assets/pic.png")).expect("the picture"), PICTURE);
    // A document is shown as well as it goes.
    vibe.write("demo/assets/latin.md", b"a\xf1o\n");
    assert_eq!(vibe.call("read_doc", at("assets", "latin.md"))["content"], "a\u{fffd}o\n");
}

#[test]
fn a_file_of_any_kind_is_read_by_the_name_that_it_is_listed_under() {
    let mut vibe = Vibe::with("demo/assets/Makefile", "all:\n");
    vibe.write("demo/assets/Makefile.md", "# About it\n");
    vibe.write("demo/assets/flow.puml", "@startuml\n");
    vibe.write("demo/assets/deep/x.md", "# Deep\n");
    vibe.write("demo/assets/deep.md", "# Beside\n");
    for (filename, found, content) in [
        ("Makefile", "Makefile", "all:\n"),
        ("Makefile.md", "Makefile.md", "# About it\n"),
        ("flow.puml", "flow.puml", "@startuml\n"),
        ("deep", "deep.md", "# Beside\n"),
        ("deep/x", "deep/x.md", "# Deep\n"),
    ] {
        let read = vibe.call("read_doc", at("assets", filename));
        assert_eq!((&read["filename"], &read["content"]), (&json!(found), &json!(content)), "{filename}");
    }
    // Who changes what they have read changes the same file.
    assert_eq!(vibe.call("update_doc", with_content("assets", "Makefile", "none:\n"))["path"], "demo/assets/Makefile");
    assert_eq!(
        (vibe.text("demo/assets/Makefile"), vibe.text("demo/assets/Makefile.md")),
        ("none:\n".into(), "# About it\n".into())
    );
    let error = vibe.check_refused("read_doc", at("assets", "none.png"), "FILE_NOT_FOUND");
    assert_eq!(error["details"]["path"], "assets/none.png.md");
}

#[test]
fn the_resources_list_and_count_whatever_is_there() {
    let mut vibe = Vibe::new();
    for (path, days) in [
        ("demo/Makefile", 1),
        ("demo/assets/deep/clip.mov", 2),
        ("demo/assets/notes.md", 3),
        ("demo/assets/pic.png", 4),
        ("demo/sessions/2030-01-01.log", 5),
        ("demo/tasks/001-a.md", 3),
        ("demo/tasks/data.json", 6),
        ("demo/assets/.hidden.png", 7),
        ("demo/assets/.git/config", 7),
        ("demo/other/x.bin", 7),
        ("loose.txt", 7),
    ] {
        let file = vibe.write(path, PICTURE);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + days * 86_400);
        fs::File::options().write(true).open(file).expect("a file").set_modified(time).expect("a time");
    }
    vibe.link("demo/assets/link.png", "pic.png");
    let project = vibe.resource("vibe://projects")["projects"][0].clone();
    let folders = json!({
        "tasks": 2, "plans": 0, "sessions": 1, "reports": 0, "changelog": 0, "references": 0, "scratch": 0, "assets": 3,
    });
    assert_eq!(project["folders"], folders);
    assert_eq!(project["stats"]["total_docs"], 2, "documents alone");
    assert_eq!(project["stats"]["last_session_date"], json!(null), "a log is no note");
    assert_eq!(project["last_updated"], "2026-01-04T00:00:00Z");
    let listed = vibe.resource("vibe://projects/demo");
    let assets = json!([
        { "filename": "deep/clip.mov", "updated": "2026-01-03" },
        { "filename": "notes.md", "updated": "2026-01-04" },
        { "filename": "pic.png", "updated": "2026-01-05" },
    ]);
    assert_eq!(listed["folders"]["assets"], assets);
    let tasks = json!([
        { "filename": "001-a.md", "status": null, "updated": "2026-01-04" },
        { "filename": "data.json", "status": null, "updated": "2026-01-07" },
    ]);
    assert_eq!(listed["folders"]["tasks"], tasks);
    assert_eq!(listed["root_files"], json!([{ "filename": "Makefile", "updated": "2026-01-02" }]));
    assert_eq!(vibe.call("list_tasks", json!({}))["total"], 1);
    let document = json!({ "type": "ref/resource", "uri": "vibe://projects/{name}/{folder}/{file}" });
    let others = json!({ "arguments": { "name": "demo", "folder": "assets" } });
    let typed = json!({ "ref": document, "argument": { "name": "file", "value": "pic" }, "context": others });
    let completed = vibe.client.request("completion/complete", typed);
    assert_eq!(completed["completion"]["values"], json!(["pic.png"]));
}

#[test]
fn a_status_goes_only_into_documents() {
    let mut vibe = Vibe::with("demo/tasks/data.json", "{}");
    vibe.write("demo/tasks/004-config.json.md", "Status: pending\n");
    let status = json!({ "project": "demo", "task": "data.json", "status": "done" });
    vibe.check_refused("update_task_status", status, "FILE_NOT_FOUND");
    assert_eq!(vibe.text("demo/tasks/data.json"), "{}");
    assert_eq!(vibe.set("004-config.json", "done")["filename"], "004-config.json.md");
}
