//! The bundled files say what the manual pages say.

use caulk_models::{
    Condition, EffectKind, FamilyId, Model, ModelEffect, ModelPath, Models, OldBlock, Pointer, Purity, Success, Varargs,
};

fn models() -> Models {
    Models::bundled()
}

fn get<'a>(models: &'a Models, name: &str) -> &'a Model {
    models.get(name).unwrap_or_else(|| panic!("no model of {name}"))
}

/// One line per effect, in the words of the files.
fn lines(models: &Models, name: &str) -> Vec<String> {
    get(models, name).effects.iter().map(|effect| line(models, effect)).collect()
}

fn line(models: &Models, effect: &ModelEffect) -> String {
    let family = |id: &FamilyId| models.family(*id).name.clone();
    let element = |id: &Option<FamilyId>| id.as_ref().map(|id| format!(" of {}", family(id))).unwrap_or_default();
    let what = match &effect.kind {
        EffectKind::Alloc { into, family: id, element: of, zeroed } => {
            format!("{into} = new {}{}{}", family(id), element(of), if *zeroed { " zeroed" } else { "" })
        }
        EffectKind::Free { what, family: id, element: of } => format!("free {what} as {}{}", family(id), element(of)),
        EffectKind::Acquire { holder, family: id, .. } => format!("{holder} holds {}", family(id)),
        EffectKind::Release { holder, family: id, .. } => format!("{holder} gives up {}", family(id)),
        EffectKind::Resize { from, into, family: id, on_failure, zero } => {
            let zero: Vec<String> = zero.iter().map(ModelPath::to_string).collect();
            let kept = if *on_failure == OldBlock::Freed { " or freed" } else { "" };
            format!("{into} = resized {from} as {}{kept} zero {zero:?}", family(id))
        }
        EffectKind::Alias { into, of } => format!("{into} = {of}"),
        EffectKind::Keep { what, holder: None } => format!("keep {what}"),
        EffectKind::Keep { what, holder: Some(holder) } => format!("keep {what} in {holder}"),
        EffectKind::Store { what, into } => format!("store {what} in {into}"),
        EffectKind::Copy { from, to } => format!("copy {from} to {to}"),
        EffectKind::Write { what } => format!("write {what}"),
        EffectKind::Call { function, with, later } => {
            let with: Vec<String> = with.iter().map(Pointer::to_string).collect();
            format!("call {function}({}){}", with.join(", "), if *later { " later" } else { "" })
        }
    };
    if effect.when.is_always() { what } else { format!("{what} when {}", effect.when) }
}

#[track_caller]
fn check(name: &str, expected: &[&str]) {
    assert_eq!(lines(&models(), name), expected, "{name}");
}

#[test]
fn every_bundled_file_loads() {
    let models = models();
    assert!(models.len() > 4000, "{}", models.len());
    assert_eq!(models.iter().len(), models.len());
    assert_eq!(models.family(FamilyId::FREE).name, "free");
}

#[test]
fn every_family_can_be_freed_and_is_described() {
    let models = models();
    for (index, family) in models.families().iter().enumerate() {
        assert!(!family.description.is_empty(), "{}", family.name);
        let id = FamilyId(u16::try_from(index).unwrap());
        assert!(!models.releasers(id).is_empty(), "nothing frees {}", family.name);
    }
}

#[test]
fn no_name_is_empty_or_has_spaces() {
    for (name, _) in models().iter() {
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name:?}");
    }
}

#[test]
fn allocation() {
    check("malloc", &["ret = new free when success"]);
    check("calloc", &["ret = new free zeroed when success"]);
    check("free", &["free p0 as free"]);
    check("realloc", &["ret = resized p0 as free zero [\"p1\"]"]);
    check("reallocf", &["ret = resized p0 as free or freed zero [\"p1\"]"]);
    check("reallocarray", &["ret = resized p0 as free zero [\"p1\", \"p2\"]"]);
    check("posix_memalign", &["*p0 = new free when success"]);
    check("strdup", &["ret = new free when success"]);
    let models = models();
    let ret_not_null = get(&models, "malloc").success;
    assert_eq!(ret_not_null, "ret != null".parse().map(Success::When).unwrap());
    assert_eq!(get(&models, "posix_memalign").success, "ret == 0".parse().map(Success::When).unwrap());
    assert_eq!(get(&models, "realloc").success, ret_not_null);
}

#[test]
fn operator_new_never_fails_and_nothrow_may() {
    let models = models();
    for name in ["_Znwm", "_Znam", "_ZnwmSt11align_val_t", "_Znwj"] {
        let model = get(&models, name);
        assert_eq!(model.success, Success::Always, "{name}");
        assert!(model.returns_nonnull() && model.effects[0].when.is_always(), "{name}");
    }
    check("_ZnwmRKSt9nothrow_t", &["ret = new delete when success"]);
    check("_ZnamSt11align_val_tRKSt9nothrow_t", &["ret = new delete[] when success"]);
    for name in ["_ZdlPv", "_ZdlPvm", "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdlPvRKSt9nothrow_t"] {
        check(name, &["free p0 as delete"]);
    }
    for name in ["_ZdaPv", "_ZdaPvm", "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t", "_ZdaPvRKSt9nothrow_t"] {
        check(name, &["free p0 as delete[]"]);
    }
}

#[test]
fn through_a_parameter() {
    check("getline", &["*p0 = resized *p0 as free zero []", "write p1"]);
    assert_eq!(get(&models(), "getline").success, Success::Unstated, "the buffer is there even at the end of the file");
    check("asprintf", &["*p0 = new free when success"]);
    check("getaddrinfo", &["*p3 = new freeaddrinfo when success"]);
    check("scandir", &["*p1 = new free of free when success", "call p2(borrowed)", "call p3(borrowed, borrowed)"]);
    check("open_memstream", &["ret = new fclose when success", "*p0 = new free when success", "write p1"]);
    check("regcomp", &["p0 holds regfree when success", "write p0"]);
    check("regfree", &["p0 gives up regfree"]);
    check(
        "sqlite3_exec",
        &["*p4 = new sqlite3_free when failure and p4 != 0", "call p2(p3, borrowed, borrowed, borrowed)"],
    );
    check("g_clear_error", &["free *p0 as g_error_free", "write p0"]);
}

#[test]
fn on_condition() {
    check("realpath", &["ret = new free when p1 == 0 and success", "ret = p1 when p1 != 0 and success", "write p1"]);
    check("getcwd", &["ret = new free when p0 == 0 and success", "ret = p0 when p0 != 0 and success", "write p0"]);
    check("curl_slist_append", &["ret = new curl_slist_free_all when p0 == 0 and success", "ret = p0 when p0 != 0"]);
    check(
        "d2i_X509",
        &[
            "ret = new X509_free when success and p0 == 0",
            "*p0 = new X509_free when success and p0 != 0 and *p0 == 0",
            "free *p0 as X509_free when failure",
            "ret = *p0 when p0 != 0 and success",
            "*p1 = inside *p1",
        ],
    );
    check("g_string_free", &["ret = new glib_free when p1 == 0", "free p0 as g_string_free"]);
    assert!(!get(&models(), "g_string_free").returns_nonnull());
}

#[test]
fn ownership_moves() {
    check("pthread_create", &["keep p3 when success", "write p0", "call p2(p3) later when success"]);
    check("putenv", &["keep p0 when success"]);
    check("setenv", &[]);
    check("SSL_set_bio", &["keep p1 in p0", "keep p2 in p0"]);
    check("EVP_PKEY_assign", &["keep p2 in p0 when success"]);
    check("xmlDocGetRootElement", &["ret = reachable p0 when success"]);
    check("OPENSSL_sk_pop_free", &["free p0 as sk_free", "call p1(reachable p0)"]);
}

#[test]
fn calls_back() {
    check("qsort", &["call p3(inside p0, inside p0)"]);
    check("bsearch", &["ret = inside p1 when success", "call p4(p0, inside p1)"]);
    check("atexit", &["call p0() later"]);
    check("pthread_once", &["write p0", "call p1()"]);
    check("g_list_free_full", &["free p0 as g_list_free", "call p1(reachable p0)"]);
}

#[test]
fn gives_back_what_it_was_given() {
    check("strchr", &["ret = inside p0 when success"]);
    check("memcpy", &["ret = p0", "copy p1 to p0"]);
    check("fgets", &["ret = p0 when success", "write p0"]);
    check("strtol", &["*p1 = inside p0 when p1 != 0"]);
    check("getenv", &["ret = static when success"]);
}

#[test]
fn does_not_return() {
    let models = models();
    for name in ["exit", "abort", "_exit", "err", "verrx", "longjmp", "__assert_fail", "pthread_exit", "__cxa_throw"] {
        assert!(get(&models, name).never_returns(), "{name}");
    }
    let error = get(&models, "error").noreturn.clone();
    assert_eq!(error, "p0 != 0".parse::<Condition>().ok());
}

#[test]
fn readers() {
    let models = models();
    assert_eq!(get(&models, "strlen").purity, Purity::Memory);
    assert_eq!(get(&models, "isalpha").purity, Purity::Values);
    assert_eq!(get(&models, "printf").varargs, Some(Varargs::Reads));
    assert_eq!(get(&models, "__isoc99_sscanf").varargs, Some(Varargs::Writes));
    assert_eq!(get(&models, "puts").effects, []);
    assert_eq!(models.get("\u{1}fopen64").map(|model| &model.effects), models.get("fopen").map(|model| &model.effects));
}

#[test]
fn streams_and_mappings_are_no_heap() {
    let models = models();
    for (family, heap) in [
        ("free", true),
        ("delete[]", true),
        ("closedir", true),
        ("fclose", false),
        ("munmap", false),
        ("pclose", false),
    ] {
        assert_eq!(models.family(models.find_family(family).unwrap()).heap, heap, "{family}");
    }
}

#[test]
fn models_serialize() {
    let models = models();
    let json = serde_json::to_string(get(&models, "getline")).unwrap();
    assert!(json.contains("Resize"), "{json}");
}
