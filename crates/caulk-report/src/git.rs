//! Which version of which repository was looked at, as far as git tells.

use std::path::Path;
use std::process::{Command, Stdio};

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

fn ask(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let output = git.output().ok().filter(|o| o.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|t| !t.is_empty())
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
