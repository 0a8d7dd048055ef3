//! What stays in memory between the analyses of one project, where one process makes several: units, and what both stages found out about
//! functions. An analysis with it has the same result as one without.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caulk_frontend::KeptUnits;
use caulk_program::{Marks, Shapes};
use caulk_useflow::TableMarks;

/// Shared by all options that are cloned from one another. Nothing is kept by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Option<Arc<Project>>);

#[derive(Debug, Default)]
pub(crate) struct Project {
    pub units: KeptUnits,
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
}

impl Kept {
    /// Keeps from now on.
    pub(crate) fn new() -> Self {
        Self(Some(Arc::default()))
    }

    pub(crate) fn project(&self) -> Option<&Project> {
        self.0.as_deref()
    }
}

impl Project {
    pub(crate) fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
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
