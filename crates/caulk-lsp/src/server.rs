//! The thread that talks to the editor: messages in their order, what can be answered at once, and the rest as jobs.

use std::sync::mpsc::{Sender, channel};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument, Initialized,
    Notification as _,
};
use lsp_types::request::{CodeActionRequest, CodeActionResolveRequest, ExecuteCommand, HoverRequest, Request as _};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, ExecuteCommandOptions, HoverProviderCapability,
    InitializeParams, NumberOrString, SaveOptions, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Engine;
use crate::actions::{EXPLAIN, REPORT};
use crate::buffers::Buffers;
use crate::place;
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

/// Serves an editor until it says that this is enough. `make` is called in the thread that works.
pub fn serve<E: Engine>(make: impl FnOnce() -> E + Send + 'static, version: &str) -> Result<(), ServeError> {
    let (connection, threads) = Connection::stdio();
    let (id, params) = connection.initialize_start()?;
    let params: InitializeParams = serde_json::from_value(params)?;
    let answer = json!({ "capabilities": capabilities(), "serverInfo": { "name": "caulk", "version": version } });
    connection.initialize_finish(id, answer)?;
    let window = params.capabilities.window;
    let shows_progress = window.and_then(|w| w.work_done_progress).unwrap_or(false);
    let pending = Pending::default();
    let (jobs, queue) = channel::<Job>();
    let worker = {
        let (sender, pending) = (connection.sender.clone(), pending.clone());
        std::thread::spawn(move || {
            let send = Box::new(move |message: Message| drop(sender.send(message)));
            let (engine, shown) = (make(), Vec::new());
            Worker { engine, send, pending, shows_progress, shown, analyses: 0 }.run(&queue);
        })
    };
    let mut server = Server { connection, jobs, buffers: Buffers::default(), pending };
    server.analyse();
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
            commands: vec![EXPLAIN.to_owned(), REPORT.to_owned()],
            ..ExecuteCommandOptions::default()
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
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    self.request(request);
                }
                Message::Notification(notification) => self.notification(notification),
                Message::Response(_) => {}
            }
        }
        Ok(())
    }

    /// Asks for an analysis of the project as the editor shows it.
    fn analyse(&self) {
        self.job(Job::Analyse(self.buffers.unsaved()));
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
                    self.analyse();
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
        return Ok(Job::Report { id });
    }
    let is_ours = params.command == EXPLAIN;
    let arguments: Vec<Value> = params.arguments;
    let rule = rule(&arguments).filter(|_| is_ours);
    let rule = rule.ok_or((ErrorCode::InvalidParams, format!("{EXPLAIN} needs the name of a rule")))?;
    Ok(Job::Explain { id, rule })
}
