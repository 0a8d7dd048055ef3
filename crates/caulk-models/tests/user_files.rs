//! Users' own files: what they can do, and what they are told when they are wrong.

use std::io::Write;
use std::path::PathBuf;

use caulk_models::{ModelError, ModelSource, Models};
use proptest::prelude::*;

fn load(text: &str) -> Result<Models, ModelError> {
    let mut models = Models::bundled();
    models.add_text("my.toml", text)?;
    Ok(models)
}

/// The message for `text`, whole.
#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = load(text).expect_err("should be refused").to_string();
    assert_eq!(error, expected);
}

#[test]
fn a_user_overrides_a_bundled_model_and_adds_families() {
    let models = load(
        "[family.pool]\nheap = false\ndescription = \"memory of a pool\"\n\
         [function.malloc]\nparams = 1\nfamily = \"pool\"\nsuccess = \"always\"\nallocates = \"ret\"\n\
         [function.pool_end]\nparams = 1\nfamily = \"pool\"\nfrees = \"p0\"\n",
    )
    .unwrap();
    let malloc = models.get("malloc").unwrap();
    assert_eq!(malloc.origin, ModelSource::User("my.toml".to_owned()));
    assert!(malloc.returns_nonnull());
    assert_eq!(models.releasers(models.find_family("pool").unwrap()), ["pool_end"]);
    assert!(models.get("calloc").is_some());
}

#[test]
fn a_later_file_overrides_an_earlier_one() {
    let mut models = Models::bundled();
    models.add_text("a.toml", "[function.f]\nparams = 1\nkeeps = \"p0\"").unwrap();
    models.add_text("b.toml", "[function.f]\nparams = 1").unwrap();
    assert_eq!(models.get("f").unwrap().effects, []);
}

#[test]
fn a_refused_file_changes_nothing() {
    let mut models = Models::bundled();
    let families = models.families().len();
    let text =
        "[family.pool]\nheap = true\ndescription = \"\"\n[function.f]\nparams = 1\nfrees = \"p0\"\nfamily = \"pol\"";
    assert!(models.add_text("a.toml", text).is_err());
    assert!(models.get("f").is_none());
    assert_eq!(models.families().len(), families);
}

#[test]
fn unknown_keys() {
    refused(
        "[function.f]\nalocates = \"ret\"",
        "my.toml:2:1: unknown field `alocates`, expected one of `functions`, `aliases`, `params`, `varargs`, `family`, \
         `success`, `allocates`, `frees`, `acquires`, `releases`, `resizes`, `returns`, `points`, `keeps`, `stores`, \
         `copies`, `writes`, `calls`, `noreturn`, `pure`, `counts`, `refuses`, `ensures`\n  hint: did you mean `allocates`?",
    );
    refused(
        "[functions.f]\nparams = 1",
        "my.toml:1:2: unknown field `functions`, expected one of `covers-definitions`, `family`, `group`, `function`\n  hint: did you mean `function`?",
    );
    refused(
        "[function.f]\nparams = 1\nfamily = \"free\"\nfrees = { what = \"p0\", famly = \"free\" }",
        "my.toml:4:24: unknown field `famly`, expected one of `what`, `family`, `elements`, `when`\n  hint: did you mean `family`?",
    );
    refused(
        "[function.f]\npure = \"value\"",
        "my.toml:2:8: unknown variant `value`, expected `memory` or `values`\n  hint: did you mean `values`?",
    );
}

#[test]
fn parameters_that_are_not_there() {
    refused(
        "[function.f]\nparams = 2\nfamily = \"free\"\nfrees = \"p2\"",
        "my.toml:4:9: `p2`: there is no parameter 2, only 2\n  hint: parameters are counted from 0: the last is `p1`",
    );
    refused(
        "[function.f]\nparams = 1\nkeeps = [\"p0\", \"p1\"]",
        "my.toml:3:16: `p1`: there is no parameter 1, only 1\n  hint: the only parameter is `p0`",
    );
    refused(
        "[function.f]\nkeeps = \"p0\"",
        "my.toml:2:9: `p0` is named, but `params` is missing\n  hint: add `params = N`, the number of parameters",
    );
    refused(
        "[function.f]\nparams = 1\nkeeps = { what = \"p0\", when = \"p3 != null\" }",
        "my.toml:3:9: `p3`: there is no parameter 3, only 1\n  hint: the only parameter is `p0`",
    );
    assert!(load("[function.f]\nparams = 1\nvarargs = \"reads\"\nkeeps = \"p2\"").is_ok(), "a variadic argument");
}

#[test]
fn families_and_outcomes_that_are_not_said() {
    refused(
        "[function.f]\nparams = 1\nfamily = \"fre\"\nfrees = \"p0\"",
        "my.toml:3:10: no family is called `fre`\n  hint: did you mean `free`?",
    );
    refused(
        "[function.f]\nparams = 1\nfrees = \"p0\"",
        "my.toml:3:9: the family of this memory is not said\n  hint: add `family = \"free\"`, or the family it is freed by",
    );
    refused(
        "[function.f]\nparams = 1\nkeeps = { what = \"p0\", when = \"success\" }",
        "my.toml:3:9: this depends on success, but `success` is not said\n  hint: add for instance `success = \"ret == 0\"`",
    );
}

#[test]
fn wrong_words_and_types() {
    refused(
        "[function.f]\nparams = 1\nkeeps = \"q0\"",
        "my.toml:3:9: `q0` is no place; write `p0` for the first parameter, `*p0` or `ret`",
    );
    refused(
        "[function.f]\nparams = 1\nkeeps = { what = \"p0\", when = \"maybe\" }",
        "my.toml:3:31: `maybe` is no condition; write for instance `p1 == null`, `ret >= 0` or `success`",
    );
    refused("[function.f]\nparams = \"one\"", "my.toml:2:10: invalid type: string \"one\", expected u8");
    refused(
        "[function.f]\nparams = 1\nkeeps = 0",
        "my.toml:3:9: invalid type: integer `0`, expected a string, a table or a list of them",
    );
    refused(
        "[function.f]\nparams = 1\nfamily = \"free\"\nallocates = \"p0\"",
        "my.toml:4:13: a call cannot change the caller's argument itself\n  hint: write `*p0` for the pointer stored where the \
         argument points to, or `ret`",
    );
}

#[test]
fn names_twice_or_in_the_wrong_place() {
    refused(
        "[[group]]\nfunctions = [\"f\"]\n[function.f]",
        "my.toml:3:11: `f` has two models in this file\n  hint: one function has one model in a file; a later file overrides an earlier one",
    );
    refused(
        "[[group]]\nparams = 1",
        "my.toml:1:1: this group names no `functions`\n  hint: add `functions = [\"name\", ...]`",
    );
    refused(
        "[[group]]\nfunctions = [\"f\"]\naliases = [\"g\"]",
        "my.toml:3:11: a group has no `aliases`\n  hint: list every name in `functions`",
    );
}

#[test]
fn no_toml_at_all() {
    let error = load("[function.f]\nparams = 1\nkeeps = [\"p0\"").unwrap_err().to_string();
    assert!(error.starts_with("my.toml:3:"), "{error}");
    let error = load("[function.f]\n[function.f]\n").unwrap_err().to_string();
    assert!(error.starts_with("my.toml:2:"), "{error}");
}

#[test]
fn files_that_cannot_be_read() {
    let error = Models::with_files(&[PathBuf::from("/nowhere/at/all.toml")]).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at/all.toml: cannot read the model file: "), "{error}");
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"# fine\n# \xff\n").unwrap();
    let error = Models::with_files(&[file.path().to_owned()]).unwrap_err().to_string();
    assert!(error.ends_with(":2:3: this is not UTF-8 text"), "{error}");
    std::fs::write(file.path(), "[function.f]\nparams = 1\nkeeps = \"p0\"").unwrap();
    assert!(Models::with_files(&[file.path().to_owned()]).unwrap().get("f").is_some());
}

#[test]
fn the_examples_of_the_manual_load() {
    let manual = include_str!("../../../docs/models.md");
    let examples: Vec<&str> = manual.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 2);
    for example in examples {
        load(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

/// Text that looks like a model file here and there.
fn nearly_a_file() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~\n]{0,8}",
        prop::sample::select(vec![
            "[function.f]\n",
            "[[group]]\n",
            "[family.x]\n",
            "functions = ",
            "[\"f\", \"g\"]\n",
            "params = 1\n",
            "family = ",
            "\"free\"\n",
            "allocates = ",
            "\"*p0\"\n",
            "{ into = \"ret\", when = \"success\" }\n",
            "success = \"ret == 0\"\n",
            "calls = { function = \"p0\", with = [\"inside p0\"] }\n",
            "\"p0\"",
            "[",
            "]",
            "{",
            "}",
            "é",
            "when = \"p0 == 9999999999999999999\"\n",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![any::<String>(), nearly_a_file()]) {
        let mut models = Models::default();
        let _ = models.add_text("x.toml", &text).map_err(|error| error.to_string());
    }
}
