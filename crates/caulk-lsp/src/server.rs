//! The thread that talks to the editor: messages in their order, what can be answered at once, and the rest as jobs.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeTextDocument, DidChangeWorkspaceFolders, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, Exit, Initialized, Notification as _,
};
use lsp_types::request::{
    CodeActionRequest, CodeActionResolveRequest, ExecuteCommand, HoverRequest, Request as _, Shutdown,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, ExecuteCommandOptions, HoverProviderCapability,
    InitializeParams, NumberOrString, OneOf, SaveOptions, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Engine;
use crate::actions::{EXPLAIN, REPORT, WHY};
use crate::buffers::Buffers;
use crate::place;
use crate::projects::{self, Projects, folders};
use crate::worker::{Job, Pending, Worker, cancelled, rule};

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the editor broke the rules of the protocol: {0}")]
    Protocol(#[from] lsp_server::ProtocolError),
    #[error("the connection to the editor failed: {0}")]
    Connection(#[from] std::io::Error),
    #[error("the editor sent what is no language server protocol: {0}")]
    Initialize(#[from] serde_json::Error),
}

/// Serves an editor until it says that this is enough. `make` is called in the thread that works, for each folder that the editor has open, or once
/// without one for the project of the current directory.
pub fn serve<E: Engine>(make: impl Fn(Option<&Path>) -> E + Send + 'static, version: &str) -> Result<(), ServeError> {
    let (connection, threads) = Connection::stdio();
    let (id, params) = connection.initialize_start()?;
    let params: InitializeParams = serde_json::from_value(params)?;
    let answer = json!({ "capabilities": capabilities(), "serverInfo": { "name": "caulk", "version": version } });
    connection.initialize_finish(id, answer)?;
    let folders = folders(&params);
    let window = params.capabilities.window;
    let shows_progress = window.and_then(|w| w.work_done_progress).unwrap_or(false);
    let pending = Pending::default();
    let (jobs, queue) = channel::<Job>();
    let worker = {
        let (sender, pending) = (connection.sender.clone(), pending.clone());
        std::thread::spawn(move || {
            let send = Box::new(move |message: Message| drop(sender.send(message)));
            let projects = Projects::new(Box::new(make), &folders);
            Worker { projects, send, pending, shows_progress, shown: Vec::new(), analyses: 0 }.run(&queue);
        })
    };
    let mut server = Server { connection, jobs, buffers: Buffers::default(), pending };
    server.analyse(None);
    let result = server.run();
    // When no more jobs can come, the other thread ends when its work is done.
    drop(server);
    let _ = worker.join();
    threads.join()?;
    result
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            resolve_provider: Some(true),
            ..CodeActionOptions::default()
        })),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![EXPLAIN.to_owned(), WHY.to_owned(), REPORT.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

struct Server {
    connection: Connection,
    jobs: Sender<Job>,
    buffers: Buffers,
    pending: Pending,
}

impl Server {
    fn run(&mut self) -> Result<(), ServeError> {
        while let Ok(message) = self.connection.receiver.recv() {
            match message {
                Message::Request(request) if request.method == Shutdown::METHOD => {
                    let _ = self.connection.sender.send(Message::Response(Response::new_ok(request.id, ())));
                    self.wait_for_exit();
                    return Ok(());
                }
                Message::Request(request) => self.request(request),
                Message::Notification(notification) if notification.method == Exit::METHOD => return Ok(()),
                Message::Notification(notification) => self.notification(notification),
                Message::Response(_) => {}
            }
        }
        Ok(())
    }

    /// After `shutdown`: replies to requests of ours may still come, that a progress is shown for instance.
    fn wait_for_exit(&self) {
        while let Ok(message) = self.connection.receiver.recv() {
            match message {
                Message::Notification(notification) if notification.method == Exit::METHOD => return,
                Message::Request(request) => {
                    let text = "the server is shutting down".to_owned();
                    let refused = Response::new_err(request.id, ErrorCode::InvalidRequest as i32, text);
                    let _ = self.connection.sender.send(Message::Response(refused));
                }
                _ => {}
            }
        }
    }

    /// Asks for an analysis of projects as the editor shows them: of that which a saved file belongs to, or of all.
    fn analyse(&self, saved: Option<PathBuf>) {
        self.job(Job::Analyse { texts: self.buffers.unsaved(), saved });
    }

    fn job(&self, job: Job) {
        // The other thread is there as long as this one: it ends when nothing can be sent any more.
        let _ = self.jobs.send(job);
    }

    fn request(&self, request: Request) {
        let id = request.id.clone();
        let job = match request.method.as_str() {
            HoverRequest::METHOD => self.hover(request),
            CodeActionRequest::METHOD => parse(request).map(|(id, asked)| Job::Actions { id, asked: Box::new(asked) }),
            CodeActionResolveRequest::METHOD => {
                parse(request).map(|(id, action)| Job::Resolve { id, action: Box::new(action) })
            }
            ExecuteCommand::METHOD => command(request),
            other => Err((ErrorCode::MethodNotFound, format!("{other} is not supported"))),
        };
        match job {
            Ok(job) => {
                self.pending.add(&id);
                self.job(job);
            }
            Err((code, message)) => {
                let refused = Response::new_err(id, code as i32, message);
                let _ = self.connection.sender.send(Message::Response(refused));
            }
        }
    }

    fn hover(&self, request: Request) -> Parsed<Job> {
        let (id, params): (RequestId, lsp_types::HoverParams) = parse(request)?;
        let place = params.text_document_position_params;
        let uri = place.text_document.uri;
        let text = self.buffers.text(&uri);
        let name = text.and_then(|text| place::word(text, place.position)).map(str::to_owned);
        Ok(Job::Hover { id, name, uri, line: place.position.line + 1 })
    }

    fn notification(&mut self, notification: Notification) {
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => _ = params(notification).map(|opened| self.buffers.open(opened)),
            DidChangeTextDocument::METHOD => _ = params(notification).map(|changed| self.buffers.change(changed)),
            DidCloseTextDocument::METHOD => {
                let closed: Option<lsp_types::DidCloseTextDocumentParams> = params(notification);
                _ = closed.map(|closed| self.buffers.close(&closed.text_document.uri));
            }
            DidSaveTextDocument::METHOD => {
                let saved: Option<lsp_types::DidSaveTextDocumentParams> = params(notification);
                if let Some(saved) = saved {
                    self.buffers.save(&saved.text_document.uri);
                    self.analyse(place::path(&saved.text_document.uri));
                }
            }
            DidChangeWorkspaceFolders::METHOD => {
                let changed: Option<lsp_types::DidChangeWorkspaceFoldersParams> = params(notification);
                if let Some(lsp_types::DidChangeWorkspaceFoldersParams { event }) = changed {
                    let opened = event.added.iter().filter_map(projects::path).collect();
                    let closed = event.removed.iter().filter_map(projects::path).collect();
                    self.job(Job::Folders { opened, closed });
                    self.analyse(None);
                }
            }
            Cancel::METHOD => _ = params(notification).map(|cancel| self.cancel(cancel)),
            Initialized::METHOD => {}
            _ => {}
        }
    }

    /// Answers at once; what the other thread makes of it then goes nowhere.
    fn cancel(&self, cancel: lsp_types::CancelParams) {
        let id = match cancel.id {
            NumberOrString::Number(number) => RequestId::from(number),
            NumberOrString::String(text) => RequestId::from(text),
        };
        if self.pending.take(&id) {
            let _ = self.connection.sender.send(cancelled(id));
        }
    }
}

type Parsed<T> = Result<T, (ErrorCode, String)>;

fn parse<T: DeserializeOwned>(request: Request) -> Parsed<(RequestId, T)> {
    let params = serde_json::from_value(request.params);
    params.map(|params| (request.id, params)).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))
}

fn params<T: DeserializeOwned>(notification: Notification) -> Option<T> {
    serde_json::from_value(notification.params).ok()
}

fn command(request: Request) -> Parsed<Job> {
    let (id, params): (RequestId, lsp_types::ExecuteCommandParams) = parse(request)?;
    if params.command == REPORT {
        let uri = params.arguments.first().and_then(Value::as_str).and_then(|text| text.parse().ok());
        return Ok(Job::Report { id, uri });
    }
    if params.command == WHY {
        let uri = params.arguments.first().and_then(Value::as_str).and_then(|text| text.parse().ok());
        let line = params.arguments.get(1).and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
        let (uri, line) =
            uri.zip(line).ok_or((ErrorCode::InvalidParams, format!("{WHY} needs a document and a line")))?;
        return Ok(Job::Why { id, uri, line });
    }
    let is_ours = params.command == EXPLAIN;
    let arguments: Vec<Value> = params.arguments;
    let rule = rule(&arguments).filter(|_| is_ours);
    let rule = rule.ok_or((ErrorCode::InvalidParams, format!("{EXPLAIN} needs the name of a rule")))?;
    Ok(Job::Explain { id, rule })
}
