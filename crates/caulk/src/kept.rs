//! What is kept of the analyses of one project: units in memory, where one process makes several, and what both stages found out about
//! functions, in memory and in the cache. An analysis with it has the same result as one without.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caulk_frontend::KeptUnits;
use caulk_program::{Marks, Shapes};
use caulk_useflow::TableMarks;

/// Shared by all options that are cloned from one another. Nothing is kept by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Option<Arc<Project>>);

#[derive(Debug)]
pub(crate) struct Project {
    /// None where the process makes one analysis: then units are kept in the cache only.
    units: Option<KeptUnits>,
    results: Mutex<Results>,
}

/// What both stages keep. It holds for one set of options and models.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// A hash of the user's models.
    pub models: Option<u64>,
    pub shapes: Shapes,
    pub useflow: caulk_useflow::Kept,
    pub explore: caulk_explore::Kept,
    /// The marks of the program that was analysed last.
    pub marks: Marks,
    pub tables: TableMarks,
    /// They began with what an earlier run had left in the cache.
    pub is_loaded: bool,
    /// They were looked for in the cache.
    pub is_begun: bool,
}

impl Kept {
    /// For a process that analyses a project again and again: from one analysis to the next, beginning with what the cache has.
    pub(crate) fn in_memory() -> Self {
        Self(Some(Arc::new(Project { units: Some(KeptUnits::default()), results: Mutex::default() })))
    }

    /// For one analysis: from one run to the next.
    pub(crate) fn in_cache() -> Self {
        Self(Some(Arc::new(Project { units: None, results: Mutex::default() })))
    }

    pub(crate) fn project(&self) -> Option<&Project> {
        self.0.as_deref()
    }

    pub(crate) fn units(&self) -> Option<&KeptUnits> {
        self.project()?.units.as_ref()
    }
}

impl Project {
    pub(crate) fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this analysis leaves its results in the cache.
    pub(crate) fn is_stored(&self) -> bool {
        self.units.is_none()
    }
}

impl Results {
    /// How much of the last analysis was done again.
    pub(crate) fn in_words(&self) -> String {
        let (one, two) = (&self.useflow, &self.explore);
        let looked = one.made + one.reused;
        let explored = two.made + two.reused;
        format!(", {} of {looked} looks at functions and {} of {explored} explorations made now", one.made, two.made)
    }

    /// Forgets everything if the models are others.
    pub(crate) fn for_models(&mut self, models: u64) {
        if self.models.replace(models).is_some_and(|before| before != models) {
            *self = Self { models: Some(models), ..Self::default() };
        }
    }
}
