//! Stores behind a network: a small server of files, and Redis where it is installed.
#![cfg(feature = "services")]

mod server;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use caulk_remote::{Mode, Remote, Settings};
use server::{Fault, Server};

const LIMIT: u64 = 1 << 20;

fn open(url: &str, mode: Mode) -> Remote {
    Remote::open(url, Settings { mode, timeout: Duration::from_secs(1) }).expect("an address")
}

#[test]
fn a_server_of_files_keeps_what_is_put() {
    let server = Server::start(Fault::None);
    let (writer, reader) = (open(&server.url(), Mode::ReadWrite), open(&server.url(), Mode::Read));
    assert_eq!(reader.get("abcd.unit", LIMIT), None);
    let bytes: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    assert!(writer.put("abcd.unit", bytes.clone()), "{:?}", writer.troubles());
    for remote in [&reader, &writer] {
        assert_eq!(remote.get("abcd.unit", LIMIT).as_deref(), Some(&bytes[..]), "{:?}", remote.troubles());
        assert_eq!(remote.get("abce.unit", LIMIT), None);
        assert_eq!(remote.troubles(), None);
    }
    assert!(!reader.put("abcd.unit", Vec::new()));
    assert_eq!(reader.get("abcd.unit", 99_999), None, "it is larger than was asked for");
    assert!(reader.troubles().is_some_and(|told| told.contains("too large")));
}

/// Nothing is read, one line says why, and it takes no longer than a few timeouts.
fn check_fault(fault: Fault, expected: &str) {
    let server = Server::start(Fault::None);
    assert!(open(&server.url(), Mode::ReadWrite).put("abcd.unit", vec![7; 5000]));
    server.fail(fault);
    let remote = open(&server.url(), Mode::ReadWrite);
    let started = Instant::now();
    (0..20).for_each(|_| assert_eq!(remote.get("abcd.unit", LIMIT), None, "{fault:?}"));
    assert!(started.elapsed() < Duration::from_secs(20), "{fault:?}");
    let told = remote.troubles().expect("it failed");
    assert!(told.contains("reading failed 3 times") && told.contains(expected), "{told}");
    assert!(!remote.put("abcd.unit", vec![1]), "it is left alone");
}

#[test]
fn a_server_that_never_answers_is_left_alone() {
    check_fault(Fault::Silent, "no answer within 1 second");
}

#[test]
fn a_server_that_is_gone_is_left_alone() {
    check_fault(Fault::GoneAfter(0), "left alone from then on");
}

#[test]
fn a_server_that_sends_half_is_left_alone() {
    check_fault(Fault::HalfBody, "left alone from then on");
}

#[test]
fn a_server_that_is_full_can_still_be_read() {
    let server = Server::start(Fault::None);
    let remote = open(&server.url(), Mode::ReadWrite);
    assert!(remote.put("abcd.unit", vec![7; 50]));
    server.fail(Fault::Full);
    (0..5).for_each(|_| assert!(!remote.put("ffff.unit", vec![7; 50])));
    assert_eq!(remote.get("abcd.unit", LIMIT), Some(vec![7; 50]));
    assert!(remote.troubles().is_some_and(|told| told.contains("writing failed 3 times")));
}

#[test]
fn a_server_that_was_never_there_is_left_alone() {
    for url in ["http://127.0.0.1:9/x", "redis://127.0.0.1:9/0", "s3://bucket/x?endpoint=http://127.0.0.1:9&region=x"] {
        let remote = open(url, Mode::ReadWrite);
        (0..5).for_each(|_| assert_eq!(remote.get("abcd.unit", LIMIT), None));
        let told = remote.troubles().expect("it is not there");
        assert!(told.contains("reading failed 3 times") && !told.contains("context:"), "{url}: {told}");
    }
}

/// Ends the server that a test started.
struct Redis(Child);

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn redis_keeps_what_is_put() {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port();
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--save", "", "--bind", "127.0.0.1"]).stdout(Stdio::null());
    // Not installed: the rest of the tests has no need of it.
    let Ok(child) = command.spawn() else { return };
    let _redis = Redis(child);
    let url = format!("redis://127.0.0.1:{port}/2/prefix");
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    let (writer, reader) = (open(&url, Mode::ReadWrite), open(&url, Mode::Read));
    assert_eq!(writer.get("abcd.unit", LIMIT), None);
    assert!(writer.put("abcd.unit", vec![7; 5000]), "{:?}", writer.troubles());
    assert_eq!(reader.get("abcd.unit", LIMIT), Some(vec![7; 5000]), "{:?}", reader.troubles());
    assert_eq!((writer.troubles(), reader.troubles()), (None, None));
}
