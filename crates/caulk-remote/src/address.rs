//! Addresses of stores: what a user writes, and what it means.

use std::path::PathBuf;

use url::Url;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "{0} is no address of a cache: write file:///FOLDER, s3://BUCKET/PREFIX, redis://HOST:PORT/DATABASE or http://HOST/PATH"
    )]
    Unknown(String),
    #[error("{0} is no address of a cache: {1}")]
    Wrong(String, String),
    #[error("{0}: this build of Caulk has no clients for servers, only for folders (file:///FOLDER)")]
    NotBuilt(String),
}

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Folder(PathBuf),
    S3 { bucket: String, prefix: String, endpoint: Option<String>, region: Option<String> },
    Redis { endpoint: String, login: Login, database: i64, prefix: String },
    Http { endpoint: String, login: Login, path: String },
}

/// Who asks. Kept out of the address, so that no message shows it.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login")
    }
}

impl Address {
    /// The address, and how messages name it: without user, password and options.
    pub(crate) fn parse(text: &str) -> Result<(Self, String), AddressError> {
        let Ok(url) = Url::parse(text) else { return Err(AddressError::Unknown(without_login(text))) };
        let shown = shown(&url);
        let wrong = |what: &str| AddressError::Wrong(shown.clone(), what.to_owned());
        let address = match url.scheme() {
            "file" => Self::Folder(url.to_file_path().map_err(|()| wrong("a folder is written file:///FOLDER"))?),
            "s3" => s3(&url).map_err(|what| wrong(&what))?,
            "redis" | "rediss" => redis(&url).map_err(|what| wrong(&what))?,
            "http" | "https" => Self::Http {
                endpoint: endpoint(&url).ok_or_else(|| wrong("it names no host"))?,
                login: login(&url),
                path: decoded(url.path()),
            },
            // `user:password@host` is an address with the scheme `user` to a parser.
            _ if !url.has_host() => return Err(AddressError::Unknown(without_login(text))),
            _ => return Err(AddressError::Unknown(shown)),
        };
        Ok((address, shown))
    }
}

fn s3(url: &Url) -> Result<Address, String> {
    let bucket = url.host_str().filter(|bucket| !bucket.is_empty()).ok_or("it names no bucket")?.to_owned();
    if url.password().is_some() {
        return Err("keys are read from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)".to_owned());
    }
    let (mut endpoint, mut region) = (None, None);
    for (key, value) in url.query_pairs() {
        match &*key {
            "endpoint" => endpoint = Some(value.into_owned()),
            "region" => region = Some(value.into_owned()),
            _ => return Err(format!("there is no option {key:?}; there are endpoint and region")),
        }
    }
    Ok(Address::S3 { bucket, prefix: decoded(url.path()), endpoint, region })
}

fn redis(url: &Url) -> Result<Address, String> {
    let endpoint = endpoint(url).ok_or("it names no host")?;
    let path = decoded(url.path());
    let mut parts = path.trim_start_matches('/').splitn(2, '/');
    let database = parts.next().filter(|number| !number.is_empty()).unwrap_or("0");
    let database = database.parse().map_err(|_| format!("{database:?} is no number of a database"))?;
    Ok(Address::Redis {
        endpoint,
        login: login(url),
        database,
        prefix: format!("/{}", parts.next().unwrap_or("caulk")),
    })
}

/// The server alone.
fn endpoint(url: &Url) -> Option<String> {
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{host}{port}", url.scheme()))
}

fn login(url: &Url) -> Login {
    Login { user: decoded(url.username()), password: decoded(url.password().unwrap_or_default()) }
}

fn decoded(text: &str) -> String {
    // A pair of a form: the decoding is the same but for `+`, which stands for itself here.
    let pair = format!("x={}", text.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// What is no address may hold a password all the same.
fn without_login(text: &str) -> String {
    text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, rest)| format!("...@{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Address {
        Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).0
    }

    #[test]
    fn addresses_are_read() {
        assert_eq!(parsed("file:///srv/my%20cache"), Address::Folder("/srv/my cache".into()));
        assert_eq!(
            parsed("s3://bucket/a/b?endpoint=http://127.0.0.1:9000&region=eu"),
            Address::S3 {
                bucket: "bucket".to_owned(),
                prefix: "/a/b".to_owned(),
                endpoint: Some("http://127.0.0.1:9000".to_owned()),
                region: Some("eu".to_owned()),
            }
        );
        let login = Login { user: "me".to_owned(), password: "p+&@".to_owned() };
        assert_eq!(
            parsed("redis://me:p+&%40@host:6380/3/ci"),
            Address::Redis {
                endpoint: "redis://host:6380".to_owned(),
                login: login.clone(),
                database: 3,
                prefix: "/ci".to_owned()
            }
        );
        assert_eq!(
            parsed("https://me:p+&%40@host/cache"),
            Address::Http { endpoint: "https://host".to_owned(), login, path: "/cache".to_owned() }
        );
    }

    #[test]
    fn what_is_no_address_is_explained_without_the_password() {
        for (text, expected) in [
            ("ftp://me:secret@host/x", "ftp://host/x is no address of a cache: write file"),
            ("me:secret@host", "host is no address of a cache: write"),
            ("relative/folder", "relative/folder is no address"),
            ("file://host/folder", "written file:///FOLDER"),
            ("s3:///x", "no bucket"),
            ("s3://me:secret@bucket/x", "AWS_SECRET_ACCESS_KEY"),
            ("s3://bucket/x?endpoit=y", "no option \"endpoit\""),
            ("redis://me:secret@host/x", "\"x\" is no number"),
        ] {
            let error = Address::parse(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("secret@") && !error.contains(":secret"), "{text}: {error}");
        }
    }

    #[test]
    fn messages_show_no_login() {
        let (_, shown) = Address::parse("redis://me:secret@host:6380/3").expect("an address");
        assert_eq!(shown, "redis://host:6380/3");
        assert!(!format!("{:?}", parsed("https://me:secret@host/x")).contains("secret"));
    }
}
