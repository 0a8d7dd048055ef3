//! `caulk lsp`, as an editor sees it.

mod client;
mod project;

use client::Client;
use project::{LEAK, Project, find};
use serde_json::{Value, json};

fn leaking() -> Project {
    Project::with_database(&[("a.c", LEAK)], &["a.c"])
}

fn uri(project: &Project) -> String {
    format!("file://{}", project.path("a.c").display())
}

#[test]
fn a_leak_is_shown_explained_and_fixed() {
    let project = leaking();
    let uri = uri(&project);
    let mut client = Client::start(&project);
    let document = json!({ "uri": uri, "languageId": "c", "version": 1, "text": LEAK });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let shown = client.diagnostics();
    assert_eq!(shown["uri"], uri.as_str());
    let [leak] = shown["diagnostics"].as_array().expect("a list").as_slice() else { panic!("one leak: {shown}") };
    assert_eq!((&leak["range"]["start"]["line"], &leak["code"]), (&json!(6), &json!("forgotten")), "{leak}");
    let steps = leak["relatedInformation"].as_array().expect("the path");
    assert!(steps.iter().any(|step| step["message"].as_str().is_some_and(|m| m.contains("allocated"))), "{leak}");
    assert!(client.seen.iter().any(|m| m["method"] == "$/progress"), "{:?}", client.seen);

    let place = |line: u32, character: u32| json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
    let hover = client.ask("textDocument/hover", place(2, 16));
    let text = hover["result"]["contents"]["value"].as_str().unwrap_or_default().to_owned();
    assert!(text.contains("`malloc()`") && text.contains("returns at 7"), "{hover}");

    let context = json!({ "diagnostics": [leak] });
    let range = &leak["range"];
    let asked = json!({ "textDocument": { "uri": uri }, "range": range, "context": context });
    let actions = client.ask("textDocument/codeAction", asked)["result"].take();
    let titles: Vec<&str> = actions.as_array().expect("a list").iter().filter_map(|a| a["title"].as_str()).collect();
    assert_eq!(
        titles,
        [
            "Fix, after a check: insert `free(p)` before line 7",
            "Suppress this `forgotten` finding with a reason",
            "Explain the rule `forgotten`",
            "Why: the paths of the memory of line 3"
        ]
    );
    let fixed = client.ask("codeAction/resolve", actions[0].clone());
    let edit = &fixed["result"]["edit"]["changes"][&uri][0];
    assert_eq!(edit["newText"], "    free(p);\n", "{fixed}");
    let comment = &actions[1]["edit"]["changes"][&uri][0]["newText"];
    assert_eq!(comment, "    // caulk: ignore forgotten \"REASON\"\n");
    let page =
        client.ask("workspace/executeCommand", json!({ "command": "caulk.explain", "arguments": ["forgotten"] }));
    assert!(page["result"].as_str().is_some_and(|text| text.starts_with("# ")), "{page}");
    let why = &actions[3]["command"];
    let paths =
        client.ask("workspace/executeCommand", json!({ "command": "caulk.why", "arguments": why["arguments"] }));
    assert!(paths["result"].as_str().is_some_and(|text| text.contains("returns at 7: forgotten")), "{paths}");
    let nothing = client.ask("workspace/executeCommand", json!({ "command": "caulk.why", "arguments": [uri, 1] }));
    assert_eq!(nothing["error"]["message"], "nothing is known of memory of line 1");
    let refused = client.ask("workspace/executeCommand", json!({ "command": "caulk.why", "arguments": [uri] }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    client.stop();
}

#[test]
fn what_is_saved_is_read_again_and_what_is_not_saved_is_what_is_shown() {
    let project = leaking();
    let uri = uri(&project);
    let mut client = Client::start(&project);
    client.diagnostics();
    let fixed = LEAK.replace("    return 0;", "    free(p);\n    return 0;");
    client.tell(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri, "languageId": "c", "version": 1, "text": LEAK } }),
    );
    // Another file is saved while the fix is in the buffer only.
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": fixed }] }),
    );
    let other = format!("file://{}", project.path("b.c").display());
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": other } }));
    assert_eq!(client.diagnostics()["diagnostics"], json!([]));
    // The buffer is thrown away: the file itself still leaks.
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": other } }));
    assert_eq!(client.diagnostics()["diagnostics"].as_array().map(Vec::len), Some(1));
    std::fs::write(project.path("a.c"), &fixed).expect("writable");
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(client.diagnostics()["diagnostics"], json!([]));
    client.stop();
}

#[test]
fn nonsense_is_refused_and_requests_can_be_cancelled() {
    let project = leaking();
    let mut client = Client::start(&project);
    assert_eq!(client.ask("textDocument/rename", json!({}))["error"]["code"], -32601);
    assert_eq!(client.ask("textDocument/hover", json!({ "x": 1 }))["error"]["code"], -32602);
    let shown = client.diagnostics();
    let leak = &shown["diagnostics"][0];
    let action = json!({ "title": "fix", "data": leak["data"] });
    let (first, second) =
        (client.post("codeAction/resolve", action.clone()), client.post("codeAction/resolve", action));
    client.tell("$/cancelRequest", json!({ "id": second }));
    let answer = |id: i64| move |message: &Value| message["id"] == id && message.get("method").is_none();
    let cancelled = client.wait(answer(second));
    assert_eq!(cancelled["error"]["code"], -32800, "{cancelled}");
    assert!(client.wait(answer(first))["result"]["edit"].is_object());
    let gone = json!({ "title": "fix", "data": { "fingerprint": "0000" } });
    assert_eq!(client.ask("codeAction/resolve", gone)["error"]["message"], "the finding is no longer there");
    client.stop();
}

#[test]
fn each_open_folder_is_a_project() {
    let database = |root: &std::path::Path| {
        format!("[{{\"directory\":\"{}\",\"file\":\"a.c\",\"command\":\"cc -c a.c\"}}]", root.display())
    };
    let project = Project::new(&[("one/a.c", LEAK), ("two/a.c", LEAK), ("three/a.c", LEAK)]);
    for folder in ["one", "two", "three"] {
        let root = project.path(folder);
        std::fs::write(root.join("compile_commands.json"), database(&root)).expect("writable");
    }
    let uri = |folder: &str| format!("file://{}", project.path(&format!("{folder}/a.c")).display());
    let mut client = Client::start_in(&project, &["lsp", "--no-cache"], &["one", "two"]);
    let first = client.diagnostics();
    let second = client.diagnostics();
    assert_eq!((&first["uri"], &second["uri"]), (&json!(uri("one")), &json!(uri("two"))));
    // A fix is made in the project of the file, though both have a finding of that name.
    let leak = &second["diagnostics"][0];
    let asked =
        json!({ "textDocument": { "uri": uri("two") }, "range": leak["range"], "context": { "diagnostics": [leak] } });
    let actions = client.ask("textDocument/codeAction", asked)["result"].take();
    let fixed = client.ask("codeAction/resolve", actions[0].clone());
    assert_eq!(fixed["result"]["edit"]["changes"][&uri("two")][0]["newText"], "    free(p);\n", "{fixed}");
    let folder = |name: &str| json!({ "uri": format!("file://{}", project.path(name).display()), "name": name });
    let event = json!({ "added": [folder("three")], "removed": [folder("one")] });
    client.tell("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    let gone = client.wait(|m| m["params"]["uri"] == uri("one").as_str());
    assert_eq!(gone["params"]["diagnostics"], json!([]), "a closed folder has no diagnostics");
    let third = client.wait(|m| m["params"]["uri"] == uri("three").as_str());
    assert_eq!(third["params"]["diagnostics"].as_array().map(Vec::len), Some(1));
    client.stop();
}

#[test]
fn replies_after_shutdown_are_ignored() {
    let project = leaking();
    let mut client = Client::start(&project);
    let answer = client.ask("shutdown", Value::Null);
    assert!(answer.get("error").is_none(), "{answer}");
    client.send(&json!({ "jsonrpc": "2.0", "id": "caulk/1", "result": null }));
    assert_eq!(client.ask("textDocument/hover", json!({}))["error"]["code"], -32600);
    client.leave();
}

/// What Neovim does with the server: open, see, fix, save, and see that it is gone.
#[test]
fn neovim_shows_and_fixes_a_leak() {
    let Some(nvim) = find("nvim") else { return };
    let project = leaking();
    let script = include_str!("lsp/session.lua").replace("@CAULK@", env!("CARGO_BIN_EXE_caulk"));
    std::fs::write(project.path("session.lua"), script).expect("writable");
    let output = std::process::Command::new(nvim)
        .args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile session.lua", "-c", "cquit"])
        .current_dir(project.root())
        .output()
        .expect("nvim can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = std::fs::read_to_string(project.path("a.c")).expect("readable");
    assert!(text.contains("    free(p);\n    return 0;"), "{text}\n{said}");
}
