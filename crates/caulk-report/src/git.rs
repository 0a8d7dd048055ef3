//! Which version of which repository was looked at, as far as git's files tell.
//!
//! They are read here and git is not run: a repository that came with a project may set what git does.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

/// Bytes read of each file; packed references of the largest repositories have some megabytes.
const MAX_BYTES: u64 = 64 << 20;
/// References to references that are followed.
const MAX_LINKS: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub repository: String,
    pub revision: String,
    pub branch: Option<String>,
}

/// None outside of a repository, or when the repository has no remote or no commit, or keeps them in another form.
pub(crate) fn version(root: &Path) -> Option<Version> {
    let repository = Repository::find(root)?;
    let head = repository.text("HEAD")?;
    let branch = head.strip_prefix("ref: refs/heads/").map(|name| name.trim().to_owned());
    let revision = repository.resolve(&head)?;
    let url = remote(&repository.text("config")?)?;
    Some(Version { repository: as_uri(&url)?, revision, branch })
}

/// The commit that is checked out, shortened, with its branch; None outside of a repository.
pub fn commit(root: &Path) -> Option<String> {
    const SHORT: usize = 12;
    let repository = Repository::find(root)?;
    let head = repository.text("HEAD")?;
    let revision = repository.resolve(&head)?;
    let short = revision.get(..SHORT)?;
    let branch = head.strip_prefix("ref: refs/heads/").map(|name| format!(" ({})", name.trim()));
    Some(format!("{short}{}", branch.unwrap_or_default()))
}

struct Repository {
    folder: PathBuf,
    /// Where a further work tree keeps what it shares with the first.
    common: PathBuf,
}

impl Repository {
    /// The repository that `root` is in.
    fn find(root: &Path) -> Option<Self> {
        let root = canonicalize(root).ok()?;
        let folder = root.ancestors().find_map(|folder| {
            let git = folder.join(".git");
            let linked = || read(&git)?.strip_prefix("gitdir:").map(|path| folder.join(path.trim()));
            if git.is_dir() { Some(git) } else { linked() }
        })?;
        let common = read(&folder.join("commondir")).map_or_else(|| folder.clone(), |path| folder.join(path.trim()));
        Some(Self { folder, common })
    }

    fn text(&self, name: &str) -> Option<String> {
        read(&self.folder.join(name)).or_else(|| read(&self.common.join(name)))
    }

    /// The commit that the content of a reference leads to.
    fn resolve(&self, head: &str) -> Option<String> {
        let mut text = head.trim().to_owned();
        for _ in 0..MAX_LINKS {
            let Some(name) = text.strip_prefix("ref:").map(|name| name.trim().to_owned()) else { break };
            if !name.starts_with("refs/") || name.contains("..") {
                return None;
            }
            text = self.text(&name).or_else(|| self.packed(&name))?.trim().to_owned();
        }
        let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        is_hash.then_some(text)
    }

    fn packed(&self, name: &str) -> Option<String> {
        let packed = self.text("packed-refs")?;
        let lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(_, reference)| *reference == name).map(|(hash, _)| hash.to_owned()).next()
    }
}

fn read(path: &Path) -> Option<String> {
    caulk_files::read_text(path, MAX_BYTES).ok()
}

/// The URL of the remote `origin`: the last one, as git takes it.
fn remote(config: &str) -> Option<String> {
    let mut section = "";
    let mut url = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let (r#"[remote "origin"]"#, Some((key, value))) = (section, line.split_once('=')) {
            if key.trim().eq_ignore_ascii_case("url") {
                url = Some(value.trim().trim_matches('"').to_owned());
            }
        }
    }
    url
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
    use super::*;

    #[test]
    fn forms_of_a_repository() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let put = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("writable");
            std::fs::write(path, text).expect("writable");
        };
        let hash = "0123456789012345678901234567890123456789";
        let of = |folder: &str| version(&root.path().join(folder)).map(|v| (v.revision, v.branch));
        put("a/.git/config", "[core]\n\turl = x\n[remote \"origin\"]\n\turl = https://host/a.git\n");
        put("a/.git/HEAD", "ref: refs/heads/topic\n");
        put("a/src/x.c", "");
        assert_eq!(of("a"), None, "no commit yet");
        put("a/.git/packed-refs", &format!("# pack-refs with: peeled\n{hash} refs/heads/topic\n"));
        assert_eq!(of("a/src"), Some((hash.to_owned(), Some("topic".to_owned()))));
        put("a/.git/refs/heads/topic", &format!("{}\n", hash.replace('0', "a")));
        assert_eq!(of("a"), Some((hash.replace('0', "a"), Some("topic".to_owned()))));
        // Another work tree of it, at a commit without a branch.
        put("b/.git", "gitdir: ../a/.git/worktrees/b\n");
        put("a/.git/worktrees/b/commondir", "../..\n");
        put("a/.git/worktrees/b/HEAD", hash);
        assert_eq!(of("b"), Some((hash.to_owned(), None)));
        put("a/.git/HEAD", "ref: refs/../../../secret\n");
        assert_eq!(of("a"), None);
    }

    #[test]
    fn remotes() {
        assert_eq!(as_uri("https://me:secret@host/a/b.git").as_deref(), Some("https://host/a/b.git"));
        assert_eq!(as_uri("git@host:a/b.git").as_deref(), Some("ssh://host/a/b.git"));
        assert_eq!(as_uri("../elsewhere"), None);
        assert_eq!(as_uri("/srv/x:y"), None);
    }
}
