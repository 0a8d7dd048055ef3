//! Whatever a database holds, reading it ends in jobs or in an error.

mod common;

use std::path::Path;

use caulk_capture::{Duplicates, jobs_from_database, parse_database};
use proptest::prelude::*;

fn drive(bytes: &[u8]) {
    if let Ok(entries) = parse_database(bytes, Path::new("/nowhere/db.json")) {
        let list =
            jobs_from_database(&entries, Path::new("/nowhere/db.json"), Path::new("/"), &[], Duplicates::default());
        assert_eq!(list.jobs.len() + list.skipped.units.len(), entries.len());
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drive(&bytes);
    }

    #[test]
    fn arbitrary_json_text(text in r#"[\[\]{}",:a-z0-9\\ \r\n]{0,200}"#) {
        drive(text.as_bytes());
    }

    #[test]
    fn arbitrary_commands(command in ".{0,60}", file in ".{0,20}", words in proptest::collection::vec(".{0,12}", 0..8)) {
        let entries = serde_json::json!([
            {"directory": "/", "file": file, "command": command},
            {"directory": "/tmp", "file": "a.c", "command": format!("cc {command}")},
            {"directory": file, "file": "a.c", "arguments": words},
        ]);
        drive(entries.to_string().as_bytes());
    }
}
