//! Damaged settings, by the runner of `caulk-fuzz-targets`: they are read or refused.

use std::path::Path;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::settings::{FILE_NAME, TEMPLATE, parse};

const ALL_KEYS: &str = r#"
inputs = ["src", "a.c"]
exclude = ["third_party/**", "*.{c,h}"]
flags = ["-DX=1", "-I", "inc"]
jobs = 4
cache = ".caulk"
models = ["m.toml"]
system-folders = ["/usr"]
format = "sarif"
output = "report/x.sarif"
report-level = 1
min-confidence = "low"
baseline = "base.txt"
strict = true
color = "never"
[[ignore]]
path = "src/[a-z]*/**/x?.c"
function = "main"
rule = "lost"
reason = "known"
"#;

fn drive(bytes: &[u8]) {
    let path = Path::new(FILE_NAME);
    let Ok(settings) = parse(&String::from_utf8_lossy(bytes), path) else { return };
    if settings.check(path).is_err() {
        return;
    }
    let Ok(mut arguments) = Arguments::try_parse_from(["caulk", "check"]) else {
        unreachable!("check needs no arguments")
    };
    if let Command::Check(options) = &mut arguments.command {
        settings.fill_input(&mut options.input);
        let _ = settings.fill_check(options);
    }
}

#[test]
fn settings() {
    let uncommented = TEMPLATE.replace("# ", "").replace('#', "");
    let seeds = [TEMPLATE, ALL_KEYS, &uncommented].map(|text| text.as_bytes().to_vec());
    caulk_fuzz_targets::run("settings", seeds.to_vec(), 5_000, drive);
}
