//! The options of `caulk lower`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use caulk_files::Destination;
use clap::Args;

use super::{InputOptions, TableFormat, destination};

/// Compile units into the cache and stop there, all of them or a share, so that other commands find them.
#[derive(Debug, Args)]
pub(crate) struct LowerOptions {
    #[command(flatten)]
    pub input: InputOptions,

    /// Only share K of N, from 1/N to N/N. The shares are about equally expensive, and the same on every machine that has the
    /// same sources, options and costs.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,

    /// What units cost in an earlier run, to balance shares by (may be given several times) [default: estimated by size].
    #[arg(long, value_name = "FILE")]
    pub costs: Vec<PathBuf>,

    /// Write what the units that are compiled now cost.
    #[arg(long, value_name = "FILE", value_parser = destination())]
    pub record_costs: Option<Destination>,

    /// Compile nothing: print the units of the share, each with the milliseconds it is taken to cost.
    #[arg(long)]
    pub list: bool,

    #[arg(long, value_enum, default_value = "text")]
    pub format: TableFormat,
}

/// One of several shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Less than `of`.
    pub index: u32,
    pub of: NonZeroU32,
}

impl Shard {
    pub(crate) const ALL: Self = Self { index: 0, of: NonZeroU32::MIN };
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        let Some((number, of)) = numbers else { return Err("write K/N, such as 2/8".to_owned()) };
        let number: NonZeroU32 = number;
        let of: NonZeroU32 = of;
        if number > of {
            return Err(format!("shares of {of} are 1/{of} to {of}/{of}"));
        }
        Ok(Self { index: number.get() - 1, of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_counted_from_one() {
        let shard: Shard = "2/8".parse().expect("a share");
        assert_eq!((shard.index, shard.of.get(), shard.to_string()), (1, 8, "2/8".to_owned()));
        assert_eq!("1/1".parse(), Ok(Shard::ALL));
        for wrong in ["0/4", "5/4", "1", "1/0", "-1/4", "a/b", "1/4/2", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
