//! Stores behind a network, through OpenDAL. Each operation has a deadline of its own, from the first byte to the last.

use std::time::Duration;

use futures_util::TryStreamExt;
use opendal::{Builder, ErrorKind, Operator, services};
use tokio::runtime::{self, Runtime};

use crate::address::Address;
use crate::remote::Mode;

/// Threads of ours wait for answers; these only move bytes.
const IO_THREADS: usize = 2;

#[derive(Debug)]
pub(crate) struct Service {
    operator: Operator,
    /// Always there, until it is dropped.
    runtime: Option<Runtime>,
    timeout: Duration,
}

impl Service {
    /// Nothing is asked of the server yet.
    pub(crate) fn new(address: &Address, mode: Mode, timeout: Duration) -> Result<Self, String> {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .thread_name("caulk-remote")
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let operator = {
            let _inside = runtime.enter();
            operator(address, mode).map_err(|error| error.to_string())?
        };
        Ok(Self { operator, runtime: Some(runtime), timeout })
    }

    /// None when there is no such name.
    pub(crate) fn get(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, String> {
        let read = async {
            let mut stream = self.operator.reader(name).await?.into_stream(..).await?;
            let mut bytes = Vec::new();
            while let Some(piece) = stream.try_next().await? {
                if bytes.len() as u64 + piece.len() as u64 > limit {
                    return Err(opendal::Error::new(ErrorKind::Unexpected, "the entry is too large"));
                }
                piece.for_each(|chunk| bytes.extend_from_slice(&chunk));
            }
            Ok(bytes)
        };
        match self.within_deadline(read) {
            Ok(Ok(bytes)) => Ok(Some(bytes)),
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
            Ok(Err(error)) => Err(reason(&error)),
            Err(late) => Err(late),
        }
    }

    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        match self.within_deadline(self.operator.write(name, bytes)) {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(reason(&error)),
            Err(late) => Err(late),
        }
    }

    fn within_deadline<T>(&self, work: impl Future<Output = T>) -> Result<T, String> {
        let runtime = self.runtime.as_ref().expect("only `drop` takes it");
        let late = |_| match self.timeout.as_secs() {
            1 => "no answer within 1 second".to_owned(),
            seconds => format!("no answer within {seconds} seconds"),
        };
        runtime.block_on(async { tokio::time::timeout(self.timeout, work).await.map_err(late) })
    }
}

impl Drop for Service {
    /// Without waiting: a search for a name of a host may take minutes, and cannot be stopped.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What happened. Before it OpenDAL names the operation and all its parameters, which no user needs.
fn reason(error: &opendal::Error) -> String {
    let text = error.to_string();
    text.split_once(" } => ").map_or(text.as_str(), |(_, happened)| happened).to_owned()
}

fn operator(address: &Address, mode: Mode) -> opendal::Result<Operator> {
    match address {
        Address::Folder(_) => Err(opendal::Error::new(ErrorKind::ConfigInvalid, "a folder is no service")),
        Address::S3 { bucket, prefix, endpoint, region } => {
            let mut builder = services::S3::default().bucket(bucket).root(prefix);
            if let Some(endpoint) = endpoint {
                builder = builder.endpoint(endpoint);
            }
            // Servers that are not Amazon's do not care which.
            let is_named = ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().any(|name| std::env::var_os(name).is_some());
            if let Some(region) = region.as_deref().or((!is_named).then_some("us-east-1")) {
                builder = builder.region(region);
            }
            finish(builder)
        }
        Address::Redis { endpoint, login, database, prefix } => finish(
            services::Redis::default()
                .endpoint(endpoint)
                .username(&login.user)
                .password(&login.password)
                .db(*database)
                .root(prefix),
        ),
        // To write there must be folders, and so WebDAV; any server of files will do to read.
        Address::Http { endpoint, login, path } if mode == Mode::ReadWrite => finish(
            services::Webdav::default().endpoint(endpoint).username(&login.user).password(&login.password).root(path),
        ),
        Address::Http { endpoint, login, path } => finish(
            services::Http::default().endpoint(endpoint).username(&login.user).password(&login.password).root(path),
        ),
    }
}

fn finish(builder: impl Builder) -> opendal::Result<Operator> {
    Ok(Operator::new(builder)?.finish())
}
