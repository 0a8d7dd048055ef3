//! A client of `caulk lsp` that speaks the protocol over standard input and output.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::project::Project;

pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: i64,
    /// Notifications that came while an answer was waited for.
    pub(crate) seen: Vec<Value>,
}

impl Client {
    pub(crate) fn start(project: &Project) -> Self {
        Self::start_with(project, &["lsp", "--no-cache"])
    }

    pub(crate) fn start_with(project: &Project, arguments: &[&str]) -> Self {
        Self::start_in(project, arguments, &[])
    }

    /// With these folders of the project open in the editor.
    pub(crate) fn start_in(project: &Project, arguments: &[&str], folders: &[&str]) -> Self {
        let mut command = project.command(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("caulk can be run");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut client = Self { child, input, output, next: 0, seen: Vec::new() };
        let capabilities = json!({ "window": { "workDoneProgress": true } });
        let folder = |name: &&str| json!({ "uri": format!("file://{}", project.path(name).display()), "name": name });
        let folders: Vec<Value> = folders.iter().map(folder).collect();
        let answer = client.ask(
            "initialize",
            json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": folders }),
        );
        assert_eq!(answer["result"]["serverInfo"]["name"], "caulk", "{answer}");
        client.tell("initialized", json!({}));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        self.input.flush().expect("the server reads");
    }

    pub(crate) fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub(crate) fn post(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    pub(crate) fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("text") > 0, "the server has gone");
            match line.trim() {
                "" => break,
                header => {
                    if let Some(number) = header.strip_prefix("Content-Length: ") {
                        length = number.parse().expect("a number");
                    }
                }
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("as long as it says");
        serde_json::from_slice(&body).expect("JSON")
    }

    /// The next message that is wanted; requests of the server are granted, notifications kept.
    pub(crate) fn wait(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&is_wanted) {
            return self.seen.remove(at);
        }
        loop {
            let message = self.read();
            if is_wanted(&message) {
                return message;
            }
            if message.get("id").is_some() && message.get("method").is_some() {
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": null }));
            } else {
                self.seen.push(message);
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The diagnostics that are published next.
    pub(crate) fn diagnostics(&mut self) -> Value {
        self.wait(|message| message["method"] == "textDocument/publishDiagnostics")["params"].take()
    }

    pub(crate) fn stop(mut self) {
        let answer = self.ask("shutdown", Value::Null);
        assert!(answer.get("error").is_none(), "{answer}");
        self.leave();
    }

    /// Ends a server that was told to shut down.
    pub(crate) fn leave(mut self) {
        self.tell("exit", Value::Null);
        assert!(self.child.wait().expect("it ends").success());
    }
}
