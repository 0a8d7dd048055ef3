//! Programs of growing size: the units of all projects in a row, cut at given numbers of lines.

use std::path::Path;

use anyhow::{Context, Result};

use crate::bench::database::{self, Command};
use crate::bench::project::Project;

/// Programs from about `from` lines to everything, each a given factor larger than the one before. Small projects come
/// first, and whole, so that a program of any size is mostly made of code that belongs together.
pub(crate) fn programs(mut projects: Vec<Project>, from: usize, sizes: usize, work: &Path) -> Result<Vec<Project>> {
    projects.sort_by_key(Project::total_lines);
    let units: Vec<(Command, usize)> = projects
        .iter()
        .flat_map(|project| project.jobs.iter().map(Command::from).zip(project.lines.iter().copied()))
        .collect();
    let lines: Vec<usize> = units.iter().map(|(_, lines)| *lines).collect();
    let commands: Vec<Command> = units.into_iter().map(|(command, _)| command).collect();
    let mut programs = Vec::new();
    for count in cuts(&lines, from, sizes) {
        let name = format!("growth-{count}");
        let folder = work.join(&name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(caulk_capture::DATABASE_NAME);
        database::write(&path, &commands[..count])?;
        programs.push(Project::from_database(&name, &path, work)?);
    }
    Ok(programs)
}

/// How many units make up each size. Sizes that would be the same, for a unit is never cut, are one.
fn cuts(lines: &[usize], from: usize, sizes: usize) -> Vec<usize> {
    let total: usize = lines.iter().sum();
    let step = (total as f64 / from as f64).powf(1.0 / (sizes.max(2) - 1) as f64);
    let mut cuts: Vec<usize> =
        (0..sizes).map(|at| units_for(lines, (from as f64 * step.powi(at as i32)).round() as usize)).collect();
    cuts.dedup();
    cuts
}

/// The number of units whose lines come closest to `wanted`, and at least one.
fn units_for(lines: &[usize], wanted: usize) -> usize {
    let mut sum = 0;
    for (at, &count) in lines.iter().enumerate() {
        if sum + count >= wanted {
            let nearer_without = wanted - sum < sum + count - wanted;
            return if nearer_without && at > 0 { at } else { at + 1 };
        }
        sum += count;
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_by_a_factor_up_to_everything() {
        assert_eq!(cuts(&[10; 100], 10, 3), [1, 10, 100]);
        assert_eq!(cuts(&[10; 64], 20, 6), [2, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn a_large_unit_is_never_cut() {
        assert_eq!(cuts(&[10, 10, 980], 10, 4), [1, 2, 3]);
    }
}
