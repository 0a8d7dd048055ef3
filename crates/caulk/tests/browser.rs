//! The report in HTML, in a real browser: headless Chromium, from disk.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod project;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use headless_chrome::protocol::cdp::Emulation::SetDeviceMetricsOverride;
use headless_chrome::protocol::cdp::types::Event;
use headless_chrome::{Browser, LaunchOptions, Tab};
use project::{Project, find};

/// Columns of a telephone, in pixels.
const NARROW: u32 = 400;

/// A tab, and the errors of its pages.
struct Page {
    tab: Arc<Tab>,
    complaints: Arc<Mutex<Vec<String>>>,
    _browser: Browser,
}

impl Page {
    /// None where there is no Chromium.
    fn open(path: &Path) -> Option<Self> {
        let chromium = find("chromium")?;
        let options = LaunchOptions::default_builder()
            .path(Some(chromium))
            .sandbox(false)
            .window_size(Some((1280, 900)))
            .args(vec![OsStr::new("--disable-dev-shm-usage")])
            .idle_browser_timeout(Duration::from_secs(120))
            .build()
            .expect("the options are complete");
        let browser = Browser::new(options).expect("Chromium starts");
        let tab = browser.new_tab().expect("a tab opens");
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let heard = complaints.clone();
        let listen = move |event: &Event| {
            let text = match event {
                Event::LogEntryAdded(entry) => format!("{:?}", entry.params.entry),
                Event::RuntimeExceptionThrown(thrown) => format!("{:?}", thrown.params.exception_details),
                Event::RuntimeConsoleAPICalled(call) => format!("{:?}", call.params.args),
                Event::PageJavascriptDialogOpening(dialog) => format!("{:?}", dialog.params.message),
                _ => return,
            };
            heard.lock().expect("no listener panics").push(text);
        };
        tab.add_event_listener(Arc::new(listen)).expect("events can be heard");
        tab.enable_log().and_then(|t| t.enable_runtime()).expect("errors can be heard");
        let page = Self { tab, complaints, _browser: browser };
        page.go(path);
        Some(page)
    }

    fn go(&self, path: &Path) {
        let address = format!("file://{}", path.display());
        self.tab.navigate_to(&address).and_then(|t| t.wait_until_navigated()).expect("the page opens");
    }

    fn ask(&self, script: &str) -> serde_json::Value {
        let answer = self.tab.evaluate(script, true).unwrap_or_else(|e| panic!("{script}: {e}"));
        answer.value.unwrap_or_default()
    }

    /// The text of what a selector finds, line by line.
    fn texts(&self, selector: &str) -> Vec<String> {
        let script =
            format!("JSON.stringify([...document.querySelectorAll({selector:?})].map(e => e.textContent.trim()))");
        let text = self.ask(&script).as_str().unwrap_or_default().to_owned();
        serde_json::from_str(&text).expect("a list of texts")
    }

    /// The page that a key leads to is there once its heading is; until then the browser may have no document at all.
    fn waits_for_heading(&self, start: &str) {
        const TRIES: usize = 200;
        let script = "document.querySelector('h1')?.textContent.trim() ?? ''";
        let mut heading = String::new();
        for _ in 0..TRIES {
            let answer = self.tab.evaluate(script, false).ok().and_then(|a| a.value);
            heading = answer.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
            if heading.starts_with(start) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("the heading is {heading:?}, not {start:?}");
    }

    fn count(&self, selector: &str) -> usize {
        self.texts(selector).len()
    }

    fn choose(&self, select: &str, value: &str) {
        let script = "const s = document.getElementById(ID); s.value = VALUE; s.dispatchEvent(new Event('change'))";
        self.ask(&format!(
            "{{{}}}",
            script.replace("ID", &format!("{select:?}")).replace("VALUE", &format!("{value:?}"))
        ));
    }

    fn click(&self, selector: &str) {
        self.tab
            .wait_for_element(selector)
            .and_then(|e| e.click().map(drop))
            .unwrap_or_else(|e| panic!("{selector}: {e}"));
    }

    fn press(&self, key: &str) {
        self.tab.press_key(key).expect("a key can be pressed");
    }

    /// A window as wide as a telephone.
    fn narrow(&self) {
        let size = SetDeviceMetricsOverride {
            width: NARROW,
            height: 800,
            device_scale_factor: 1.0,
            mobile: false,
            scale: None,
            screen_width: None,
            screen_height: None,
            position_x: None,
            position_y: None,
            dont_set_visible_size: None,
            screen_orientation: None,
            viewport: None,
            display_feature: None,
            device_posture: None,
        };
        self.tab.call_method(size).expect("the size can be set");
    }

    /// What axe-core has against the page.
    fn violations(&self) -> Vec<String> {
        // The pages' own policy lets no script in; the browser's debugger may.
        self.tab.evaluate(include_str!("axe/axe.min.js"), false).expect("axe-core runs");
        let script = "axe.run().then(r => JSON.stringify(r.violations.map(v => \
            v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3).join(' | '))))";
        serde_json::from_str(self.ask(script).as_str().expect("text")).expect("a list")
    }

    /// No page said anything to the console, and none has opened a dialog.
    fn is_quiet(&self) {
        let complaints = self.complaints.lock().expect("no listener panics");
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}

/// A report on some sources.
fn report(project: &Project, sources: &[&str]) {
    let arguments = ["check", "--format", "html", "-o", "report", "--min-confidence", "low", "--quiet"];
    let run = project.run(&[&arguments[..], sources].concat());
    assert_eq!((run.status, run.stderr.as_str()), (1, ""), "{}", run.stdout);
}

const CHAIN: &str = "#include <stdlib.h>\n#include \"make.h\"\nint first(int n) {\n    char *kept = make(n);\n    if (!kept)\n        return -1;\n    \
    if (n > 3)\n        return 1;\n    free(kept);\n    return 0;\n}\nint second(char **last) {\n    char *text = malloc(3);\n    \
    text = malloc(4);\n    *last = text;\n    return 0;\n}\n";
const MAKE: &str = "#include <stdlib.h>\n#include \"make.h\"\nchar *make(int n) {\n    return malloc(n);\n}\n";

#[test]
fn finding_ones_way() {
    let project = Project::new(&[("main.c", CHAIN), ("make.c", MAKE), ("make.h", "char *make(int n);\n")]);
    report(&project, &["main.c", "make.c"]);
    let Some(page) = Page::open(&project.path("report/index.html")) else { return };
    assert!(page.texts("h1")[0].starts_with("2 leaks in "));
    assert_eq!(page.count("#rows tr"), 2);

    // Search and filters.
    page.click("#search");
    page.tab.type_str("kept").expect("keys can be typed");
    assert_eq!(page.texts("#rows tr a"), ["kept is leaked: the function returns, and nothing frees or keeps it"]);
    page.click("#reset");
    page.choose("kind", "lost");
    assert_eq!(page.texts("#rows tr a"), ["text is leaked: the last reference to it is overwritten"]);
    assert!(page.texts("#counts")[0].starts_with("1 of 2 leaks: 1 lost"));
    page.click("#reset");

    // Order.
    page.click("th[data-key='function']");
    page.click("th[data-key='function']");
    assert_eq!(page.texts("#rows tr td:nth-child(4)"), ["second", "first"]);
    page.click("#reset");

    // By keys: the second, and back.
    page.ask("document.activeElement.blur()");
    page.press("j");
    page.press("j");
    assert_eq!(page.ask("document.activeElement.textContent.startsWith('text is leaked')"), true);
    page.press("k");
    assert_eq!(page.ask("document.activeElement.textContent.startsWith('kept is leaked')"), true);

    // A finding, its path by keyboard, its chain by links.
    page.click("#rows tr:first-child a");
    page.tab.wait_for_element("#step-1").expect("the page of the finding");
    let is_in_view = "(() => { const box = [...document.querySelectorAll('.note.end')].pop().getBoundingClientRect(); \
        return box.top >= 0 && box.bottom <= innerHeight; })()";
    assert_eq!(page.ask(is_in_view), true, "the page opens at the leak");
    page.press("n");
    assert_eq!(page.texts(".note.now .number"), ["1"]);
    assert_eq!(page.ask("location.hash"), "#step-1");
    page.press("n");
    page.press("n");
    page.press("p");
    assert_eq!(page.texts(".note.now .number"), ["2"]);
    assert_eq!(page.texts("ol.steps a.now"), ["if (!kept) is not taken"]);
    page.click("ol.chain li:last-child a");
    assert_eq!(page.ask("location.hash"), "#call-1");
    assert!(page.texts(".note:target")[0].contains("make calls malloc()"));
    assert_eq!(page.texts("h2.file"), ["main.c", "make.c"]);

    // The next one, and back to the list with its choices.
    page.press("]");
    page.waits_for_heading("text allocated by malloc() is lost when its last reference is overwritten in second");
    page.press("u");
    page.tab.wait_for_element("#rows tr").expect("the list");
    page.is_quiet();
}

#[test]
fn dark_and_light_wide_and_narrow() {
    let project = Project::new(&[("main.c", CHAIN), ("make.c", MAKE), ("make.h", "char *make(int n);\n")]);
    report(&project, &["main.c", "make.c"]);
    let Some(page) = Page::open(&project.path("report/index.html")) else { return };
    let paper = || page.ask("getComputedStyle(document.body).backgroundColor");
    let before = paper();
    page.click("#theme");
    assert_ne!(paper(), before);
    page.is_quiet();
}

/// What a screen reader and a keyboard need, by the rules of axe-core, in light and in dark.
#[test]
fn pages_are_accessible() {
    let project = Project::new(&[("main.c", CHAIN), ("make.c", MAKE), ("make.h", "char *make(int n);\n")]);
    report(&project, &["main.c", "make.c"]);
    let first =
        std::fs::read_dir(project.path("report/finding")).expect("pages").next().expect("one").expect("readable");
    for path in [project.path("report/index.html"), first.path()] {
        let Some(page) = Page::open(&path) else { return };
        for theme in ["light", "dark"] {
            page.ask(&format!("document.documentElement.dataset.theme = '{theme}'"));
            let found = page.violations();
            assert!(found.is_empty(), "{} ({theme}):\n{}", path.display(), found.join("\n"));
        }
        page.narrow();
        page.go(&path);
        let found = page.violations();
        assert!(found.is_empty(), "{} (narrow):\n{}", path.display(), found.join("\n"));
        let width = page.ask("document.documentElement.scrollWidth");
        assert!(width.as_u64().is_some_and(|width| width <= u64::from(NARROW)), "{}: {width}", path.display());
    }
}

/// Folder, rule and "only new" choose what is listed; one click copies the comment that silences a finding.
#[test]
fn choosing_and_silencing() {
    let leak = |name: &str| {
        format!("#include <stdlib.h>\nint {name}(int n) {{\n    char *p = malloc(n);\n    return n + (p != 0);\n}}\n")
    };
    let project = Project::new(&[("src/a.c", &leak("a")), ("lib/b.c", &leak("b")), ("caulk.toml", "root = \".\"\n")]);
    assert_eq!(project.run(&["check", "-q", "--write-baseline", "known.txt", "src/a.c"]).status, 0);
    report(&project, &["--baseline", "known.txt", "src/a.c", "lib/b.c"]);
    let Some(page) = Page::open(&project.path("report/index.html")) else { return };
    assert_eq!(page.count("#rows tr"), 2);
    page.choose("folder", "lib");
    assert_eq!(page.texts("#rows tr td:nth-child(4)"), ["b"]);
    page.click("#reset");
    page.click("#new");
    assert_eq!(page.texts("#rows tr td:nth-child(4)"), ["b"]);
    page.click("#rows tr:first-child a");
    page.waits_for_heading("p allocated by malloc() is not freed on return in b");
    assert_eq!(page.texts("#suppression"), ["// caulk: ignore forgotten \"reason\""]);
    page.click("#copy");
    const TRIES: usize = 100;
    let said = (0..TRIES).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        page.texts("#copied").pop().filter(|text| !text.is_empty())
    });
    assert!(matches!(said.as_deref(), Some("copied" | "selected")), "{said:?}");
}

/// Names and sources that try to be markup stay text.
#[test]
fn nothing_from_the_source_is_markup() {
    let name = "<img src=x onerror=alert(1)>.c";
    let source = "#include <stdlib.h>\nint f(int n) {\n    char *p = malloc(n); /* </code><script>alert(2)</script> */\n    \
        if (n == '<') // <svg onload=alert(3)>\n        return \"</script><script>alert(4)</script>\"[0];\n    free(p);\n    return 0;\n}\n";
    let project = Project::new(&[(name, source)]);
    report(&project, &[name]);
    let Some(page) = Page::open(&project.path("report/index.html")) else { return };
    assert_eq!(page.texts("#rows tr td:nth-child(3)"), [format!("{name}:5")]);
    page.click("#rows tr:first-child a");
    page.tab.wait_for_element("#step-1").expect("the page of the finding");
    assert_eq!(page.texts("h2.file"), [name]);
    assert_eq!((page.count("img"), page.count(".source svg"), page.count("body script")), (0, 0, 0));
    page.is_quiet();
}

/// Thousands of findings open and filter without a wait.
#[test]
fn many_findings() {
    const FUNCTIONS: usize = 5_000;
    let function = |i: usize| format!("int f{i}(int n) {{ char *p{i} = malloc(n); return p{i} != 0; }}\n");
    let source: String =
        std::iter::once("#include <stdlib.h>\n".to_owned()).chain((0..FUNCTIONS).map(function)).collect();
    let project = Project::new(&[("many.c", &source)]);
    report(&project, &["many.c"]);
    let size = |file: &str| std::fs::metadata(project.path("report").join(file)).expect("written").len();
    assert!(size("index.html") + size("findings.js") < 20 << 20);
    let Some(page) = Page::open(Path::new("/dev/null")) else { return };
    let start = Instant::now();
    page.go(&project.path("report/index.html"));
    assert!(page.texts("#counts")[0].starts_with("5000 of 5000 leaks"));
    println!("opened in {:?}", start.elapsed());
    page.click("#search");
    page.tab.type_str("p4999").expect("keys can be typed");
    assert_eq!(page.count("#rows tr"), 1);
    page.is_quiet();
}
