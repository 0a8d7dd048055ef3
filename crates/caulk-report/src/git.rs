//! Which version of which repository was looked at, as far as git tells.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use caulk_process::{Lifeline, Limits, Runner, find_program};

/// Each question is about one name; even a cold disk answers in less. (`include.path` can name a FIFO.)
const GIT_TIME: Duration = Duration::from_secs(5);
const GIT_MEMORY_BYTES: u64 = 1 << 30;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub repository: String,
    pub revision: String,
    pub branch: Option<String>,
}

/// None outside of a repository, without git, or when the repository has no remote or no commit.
pub fn version(root: &Path) -> Option<Version> {
    let revision = ask(root, &["rev-parse", "--verify", "HEAD"])?;
    let repository = as_uri(&ask(root, &["config", "--get", "remote.origin.url"])?)?;
    let branch = ask(root, &["symbolic-ref", "--quiet", "--short", "HEAD"]);
    Some(Version { repository, revision, branch })
}

/// What git answers within its time. The repository's own configuration is not trusted: it may name a program for nearly
/// everything git does, so git is asked only for what needs none of them, and may neither fetch nor take a folder of the
/// project for a repository without a work tree.
fn ask(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new(find_program(Path::new("git"))?);
    git.args(["--no-pager", "--no-optional-locks", "-c", "safe.bareRepository=explicit"]);
    git.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    git.arg("-C").arg(root).args(arguments);
    git.env("GIT_ALLOW_PROTOCOL", "").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
    let output = runner().run(git).ok().filter(|o| o.status.success() && !o.is_overdue)?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|t| !t.is_empty())
}

fn runner() -> Runner {
    let limits = Limits { time: GIT_TIME, memory_bytes: GIT_MEMORY_BYTES, ..Limits::DEFAULT };
    Runner { limits, lifeline: Lifeline::default() }
}

/// A remote as a URI, without the name and password that some keep in it.
fn as_uri(remote: &str) -> Option<String> {
    if let Some((scheme, rest)) = remote.split_once("://") {
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        return Some(format!("{scheme}://{host}/{path}"));
    }
    // git@host:path
    let (host, path) = remote.split_once(':')?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    (!host.contains('/')).then(|| format!("ssh://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::as_uri;

    #[test]
    fn remotes() {
        assert_eq!(as_uri("https://me:secret@host/a/b.git").as_deref(), Some("https://host/a/b.git"));
        assert_eq!(as_uri("git@host:a/b.git").as_deref(), Some("ssh://host/a/b.git"));
        assert_eq!(as_uri("../elsewhere"), None);
        assert_eq!(as_uri("/srv/x:y"), None);
    }
}
