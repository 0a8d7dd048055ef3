//! The thread that has the engine: analyses the project and answers what rests on that, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard};

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{LogMessage, Progress, PublishDiagnostics, ShowMessage};
use lsp_types::request::{Request as _, WorkDoneProgressCreate};
use lsp_types::{
    CodeAction, CodeActionParams, Diagnostic, Hover, HoverContents, LogMessageParams, MarkupContent, MarkupKind,
    MessageType, ProgressParams, ProgressParamsValue, ProgressToken, PublishDiagnosticsParams, ShowMessageParams, Uri,
    WorkDoneProgress, WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd,
};
use serde::Serialize;
use serde_json::Value;

use crate::actions;
use crate::diagnostics::diagnostics;
use crate::place;
use crate::projects::Projects;
use crate::{Engine, Texts};

/// What the other thread asks for.
pub(crate) enum Job {
    /// With these texts in place of files; only the project of a file that was saved, or all.
    Analyse {
        texts: Texts,
        saved: Option<PathBuf>,
    },
    /// Folders that the editor opened and closed.
    Folders {
        opened: Vec<PathBuf>,
        closed: Vec<PathBuf>,
    },
    /// The name under the cursor, and the place: file and line from 1.
    Hover {
        id: RequestId,
        name: Option<String>,
        uri: Uri,
        line: u32,
    },
    Actions {
        id: RequestId,
        asked: Box<CodeActionParams>,
    },
    Resolve {
        id: RequestId,
        action: Box<CodeAction>,
    },
    Explain {
        id: RequestId,
        rule: String,
    },
    /// What happens to the memory that is allocated in a line, from 1.
    Why {
        id: RequestId,
        uri: Uri,
        line: u32,
    },
    /// Of the project of a document, or the first.
    Report {
        id: RequestId,
        uri: Option<Uri>,
    },
}

/// Requests that have no answer yet. Who takes one out answers it: the worker, or the other thread when it is cancelled.
#[derive(Clone, Default)]
pub(crate) struct Pending(Arc<Mutex<BTreeSet<String>>>);

impl Pending {
    pub(crate) fn add(&self, id: &RequestId) {
        self.ids().insert(id.to_string());
    }

    /// Whether it had no answer yet.
    pub(crate) fn take(&self, id: &RequestId) -> bool {
        self.ids().remove(&id.to_string())
    }

    fn has(&self, id: &RequestId) -> bool {
        self.ids().contains(&id.to_string())
    }

    fn ids(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().expect("no holder of this lock panics")
    }
}

pub(crate) struct Worker<E> {
    pub projects: Projects<E>,
    pub send: Box<dyn Fn(Message) + Send>,
    pub pending: Pending,
    /// The editor shows progress.
    pub shows_progress: bool,
    /// Files that have diagnostics.
    pub shown: Vec<Uri>,
    pub analyses: u32,
}

impl<E: Engine> Worker<E> {
    /// Works until the other thread has gone.
    pub(crate) fn run(&mut self, jobs: &Receiver<Job>) {
        let mut waiting: Vec<Job> = Vec::new();
        loop {
            if waiting.is_empty() {
                match jobs.recv() {
                    Ok(job) => waiting.push(job),
                    Err(_) => return,
                }
            }
            waiting.extend(jobs.try_iter());
            // Only the last of several analyses counts, and what is asked before it is asked of the state before.
            let mut job = waiting.remove(0);
            let later = waiting.iter_mut().find_map(|later| match later {
                Job::Analyse { saved, .. } => Some(saved),
                _ => None,
            });
            if let (Job::Analyse { saved, .. }, Some(later)) = (&mut job, later) {
                // Another file was saved then: all are looked at.
                if *saved != *later {
                    *later = None;
                }
                continue;
            }
            self.work(job);
        }
    }

    fn work(&mut self, job: Job) {
        match job {
            Job::Analyse { texts, saved } => self.analyse(&texts, saved.as_deref()),
            Job::Folders { opened, closed } => {
                opened.iter().for_each(|folder| self.projects.open(folder));
                closed.iter().for_each(|folder| self.projects.close(folder));
            }
            Job::Hover { id, name, uri, line } => {
                let hover = self.hover(name.as_deref(), &uri, line);
                self.answer(id, Ok(hover));
            }
            Job::Actions { id, asked } => {
                let actions = actions::actions(self.projects.of(Some(&asked.text_document.uri)), &asked);
                self.answer(id, Ok(actions));
            }
            Job::Resolve { id, action } => {
                if self.pending.has(&id) {
                    let resolved = self.resolve(*action);
                    self.answer(id, resolved);
                }
            }
            Job::Why { id, uri, line } => {
                let file = place::path(&uri);
                let engine = self.projects.of(Some(&uri));
                let said = file.as_deref().and_then(Path::to_str).and_then(|file| engine.allocation(file, line));
                self.answer(id, said.ok_or_else(|| format!("nothing is known of memory of line {line}")));
            }
            Job::Report { id, uri } => {
                let report = self.projects.of(uri.as_ref()).report();
                self.answer(id, Ok(report));
            }
            Job::Explain { id, rule } => {
                let page = self.projects.of(None).explain(&rule).ok_or_else(|| format!("there is no rule {rule:?}"));
                self.answer(id, page);
            }
        }
    }

    fn analyse(&mut self, texts: &Texts, saved: Option<&Path>) {
        self.analyses += 1;
        let token = ProgressToken::String(format!("caulk/{}", self.analyses));
        self.progress_begin(&token);
        let results: Vec<Result<String, String>> =
            self.projects.touched_by(saved).map(|engine| engine.analyse(texts)).collect();
        self.progress_end(&token);
        if results.iter().any(Result::is_ok) {
            self.publish();
        }
        for result in results {
            match result {
                Ok(message) => self.notify::<LogMessage>(LogMessageParams { typ: MessageType::INFO, message }),
                Err(message) => self.tell(MessageType::ERROR, message),
            }
        }
    }

    fn publish(&mut self) {
        let mut now: BTreeMap<String, (Uri, Vec<Diagnostic>)> = BTreeMap::new();
        for (name, (uri, found)) in self.projects.engines().flat_map(|engine| diagnostics(engine)) {
            now.entry(name).or_insert_with(|| (uri, Vec::new())).1.extend(found);
        }
        for uri in std::mem::take(&mut self.shown) {
            if !now.contains_key(uri.as_str()) {
                self.notify::<PublishDiagnostics>(PublishDiagnosticsParams::new(uri, Vec::new(), None));
            }
        }
        for (uri, diagnostics) in now.into_values() {
            self.shown.push(uri.clone());
            self.notify::<PublishDiagnostics>(PublishDiagnosticsParams::new(uri, diagnostics, None));
        }
    }

    fn hover(&self, name: Option<&str>, uri: &Uri, line: u32) -> Option<Hover> {
        let engine = self.projects.of(Some(uri));
        let function = name.and_then(|name| engine.function(name));
        let file = place::path(uri)?;
        let allocation = engine.allocation(file.to_str()?, line);
        let parts: Vec<String> = [function, allocation].into_iter().flatten().collect();
        let content = MarkupContent { kind: MarkupKind::Markdown, value: parts.join("\n\n---\n\n") };
        (!parts.is_empty()).then_some(Hover { contents: HoverContents::Markup(content), range: None })
    }

    /// Fills in the edit of a fix, which is checked only now.
    fn resolve(&mut self, action: CodeAction) -> Result<CodeAction, String> {
        let fingerprint = action.data.as_ref().and_then(|data| data["fingerprint"].as_str()).map(str::to_owned);
        let Some(fingerprint) = fingerprint else { return Ok(action) };
        let uri = action.data.as_ref().and_then(|data| data["uri"].as_str()).and_then(|text| text.parse::<Uri>().ok());
        let token = ProgressToken::String(format!("caulk/fix/{fingerprint}"));
        self.progress_begin(&token);
        let fixed = self.projects.of_mut(uri.as_ref()).fix(&fingerprint);
        self.progress_end(&token);
        let edit =
            actions::edit(self.projects.of(uri.as_ref()), &fixed?).ok_or("the file of the fix cannot be named")?;
        Ok(CodeAction { edit: Some(edit), ..action })
    }

    fn answer(&self, id: RequestId, result: Result<impl Serialize, String>) {
        if !self.pending.take(&id) {
            return;
        }
        let response = match result {
            Ok(value) => Response::new_ok(id, value),
            Err(message) => Response::new_err(id, ErrorCode::RequestFailed as i32, message),
        };
        (self.send)(Message::Response(response));
    }

    fn notify<N: lsp_types::notification::Notification>(&self, params: N::Params)
    where
        N::Params: Serialize,
    {
        (self.send)(Message::Notification(Notification::new(N::METHOD.to_owned(), params)));
    }

    fn tell(&self, typ: MessageType, message: String) {
        self.notify::<ShowMessage>(ShowMessageParams { typ, message });
    }

    fn progress_begin(&self, token: &ProgressToken) {
        if !self.shows_progress {
            return;
        }
        let params = WorkDoneProgressCreateParams { token: token.clone() };
        let id = RequestId::from(format!("{token:?}"));
        (self.send)(Message::Request(Request::new(id, WorkDoneProgressCreate::METHOD.to_owned(), params)));
        let begin = WorkDoneProgressBegin { title: "Caulk".to_owned(), ..WorkDoneProgressBegin::default() };
        self.progress(token, WorkDoneProgress::Begin(begin));
    }

    fn progress_end(&self, token: &ProgressToken) {
        if self.shows_progress {
            self.progress(token, WorkDoneProgress::End(WorkDoneProgressEnd::default()));
        }
    }

    fn progress(&self, token: &ProgressToken, value: WorkDoneProgress) {
        self.notify::<Progress>(ProgressParams { token: token.clone(), value: ProgressParamsValue::WorkDone(value) });
    }
}

/// The answer to a request that was cancelled before it was worked on.
pub(crate) fn cancelled(id: RequestId) -> Message {
    Message::Response(Response::new_err(id, ErrorCode::RequestCanceled as i32, "cancelled".to_owned()))
}

/// The rule that `caulk.explain` is asked about.
pub(crate) fn rule(arguments: &[Value]) -> Option<String> {
    arguments.first().and_then(Value::as_str).map(str::to_owned)
}
