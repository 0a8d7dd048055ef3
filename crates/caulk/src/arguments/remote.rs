//! The options of the remote cache.

use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RemoteModeArgument {
    /// Take units from there, and store what is compiled.
    ReadWrite,
    /// Take units from there.
    ReadOnly,
}

/// A cache that several machines share.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RemoteOptions {
    /// A cache that several machines share: file:///FOLDER, s3://BUCKET/PREFIX, redis://HOST:PORT/DATABASE or http://HOST/PATH
    /// (see docs/cluster.md) [default: CAULK_REMOTE_CACHE of the environment].
    #[arg(long, value_name = "URL")]
    pub remote_cache: Option<String>,

    /// Whether to store there what is compiled [default: CAULK_REMOTE_CACHE_MODE of the environment, else read-write].
    #[arg(long, value_enum, value_name = "MODE")]
    pub remote_cache_mode: Option<RemoteModeArgument>,

    /// Seconds to wait for an answer of the remote cache [default: 10].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub remote_timeout: Option<u64>,
}
