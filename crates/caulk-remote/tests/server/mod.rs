//! A small server of files over HTTP, with what WebDAV needs to write, that can be made to fail. Each test file uses a part of it.
#![allow(dead_code)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Connections are closed without an answer, after so many answers.
    GoneAfter(usize),
    /// Requests are read, and never answered.
    Silent,
    /// Half of a body is sent under the length of all of it.
    HalfBody,
    /// Bodies are of the right length, and nonsense.
    Garbage,
    /// Nothing can be stored.
    Full,
}

struct State {
    files: Mutex<HashMap<String, Vec<u8>>>,
    fault: Mutex<Fault>,
    answers: AtomicUsize,
    requests: AtomicUsize,
}

pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

/// Longer than any client in these tests waits.
const FOREVER: Duration = Duration::from_secs(30);

impl Server {
    /// It ends with the test.
    pub(crate) fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine is free");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(State {
            files: Mutex::default(),
            fault: Mutex::new(fault),
            answers: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/cache", self.address)
    }

    /// From now on this goes wrong.
    pub(crate) fn fail(&self, fault: Fault) {
        *self.state.fault.lock().expect("no holder panics") = fault;
        self.state.answers.store(0, Ordering::Relaxed);
    }

    pub(crate) fn requests(&self) -> usize {
        self.state.requests.load(Ordering::Relaxed)
    }
}

/// Answers the requests of a connection, until one side has enough.
fn serve(stream: TcpStream, state: &State) {
    let Ok(writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        state.requests.fetch_add(1, Ordering::Relaxed);
        let fault = *state.fault.lock().expect("no holder panics");
        match fault {
            Fault::Silent => std::thread::sleep(FOREVER),
            Fault::GoneAfter(most) if state.answers.fetch_add(1, Ordering::Relaxed) >= most => break,
            _ => {}
        }
        if answer(&writer, &request, fault, state).is_none() {
            break;
        }
    }
    let _ = writer.shutdown(Shutdown::Both);
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.trim_end_matches('/').to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok().filter(|read| *read > 0)?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, body })
}

/// None when the connection cannot be used any more.
fn answer(mut writer: &TcpStream, request: &Request, fault: Fault, state: &State) -> Option<()> {
    let mut files = state.files.lock().expect("no holder panics");
    let (status, body) = match request.method.as_str() {
        "GET" => match files.get(&request.path) {
            Some(body) if fault == Fault::Garbage => ("200 OK", vec![b'?'; body.len()]),
            Some(body) => ("200 OK", body.clone()),
            None => ("404 Not Found", Vec::new()),
        },
        "PUT" if fault == Fault::Full => ("507 Insufficient Storage", Vec::new()),
        "PUT" => {
            files.insert(request.path.clone(), request.body.clone());
            ("201 Created", Vec::new())
        }
        "MKCOL" => ("201 Created", Vec::new()),
        // No folder is there until it is made, and making one again is no error.
        _ => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
    writer.write_all(head.as_bytes()).ok()?;
    let is_half = fault == Fault::HalfBody && !body.is_empty();
    writer.write_all(if is_half { &body[..body.len() / 2] } else { &body }).ok()?;
    (!is_half).then_some(())
}
