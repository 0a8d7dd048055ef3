//! The schemas in `docs/schema` are those of the code. `CAULK_BLESS=1` writes them again.

use std::path::Path;

fn is_current(name: &str, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(name);
    if std::env::var_os("CAULK_BLESS").is_some() {
        std::fs::write(&path, schema).expect("the repository is writable");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == schema,
        "{name} is not that of the code: run the test with CAULK_BLESS=1 and look at the difference"
    );
}

#[test]
fn report() {
    is_current("report.json", &caulk_report::json::schema());
}
