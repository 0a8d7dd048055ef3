//! The table of all models: bundled ones, overridden by users' own, found by function name.

use rustc_hash::FxHashMap;

use crate::error::ModelError;
use crate::family::{Families, Family, FamilyId};
use crate::lower::{Lowered, Source};
use crate::model::{EffectKind, Model, ModelSource};

/// Every known model. Loaded once, then only read.
#[derive(Debug, Clone, Default)]
pub struct Models {
    pub(crate) families: Families,
    /// Functions of one group share one.
    models: Vec<Model>,
    by_name: FxHashMap<String, u32>,
}

impl Models {
    /// Adds the text of a user's file, which overrides what is there; `file` is its name in messages. On error the table is
    /// as it was.
    pub fn add_text(&mut self, file: &str, text: &str) -> Result<(), ModelError> {
        let source = Source { file, text };
        let mut parsed = source.parse()?;
        let mut families = self.families.clone();
        source.define_families(&mut parsed, &mut families)?;
        let lowered = source.lower(parsed, &families, &ModelSource::User(file.to_owned()))?;
        self.families = families;
        self.enter(lowered);
        Ok(())
    }

    /// What the function does, if a model says it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Model> {
        // A leading 1 byte is LLVM's sign for "do not decorate this symbol".
        let name = name.strip_prefix('\u{1}').unwrap_or(name);
        self.by_name.get(name).map(|&index| &self.models[index as usize])
    }

    /// All names and their models, by name.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Model)> {
        let mut names: Vec<(&str, u32)> = self.by_name.iter().map(|(name, &index)| (name.as_str(), index)).collect();
        names.sort_unstable();
        names.into_iter().map(|(name, index)| (name, &self.models[index as usize]))
    }

    /// Number of function names with a model.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// All families, indexed by [`FamilyId`].
    #[must_use]
    pub fn families(&self) -> &[Family] {
        self.families.list()
    }

    #[must_use]
    pub fn family(&self, id: FamilyId) -> &Family {
        &self.families.list()[usize::from(id.0)]
    }

    #[must_use]
    pub fn find_family(&self, name: &str) -> Option<FamilyId> {
        self.families.find(name)
    }

    /// The functions that free or release memory of a family, by name, for messages.
    #[must_use]
    pub fn releasers(&self, family: FamilyId) -> Vec<&str> {
        let frees = |model: &Model| {
            model.effects.iter().any(|effect| match effect.kind {
                EffectKind::Free { family: freed, .. } | EffectKind::Release { family: freed, .. } => freed == family,
                _ => false,
            })
        };
        self.iter().filter(|(_, model)| frees(model)).map(|(name, _)| name).collect()
    }

    /// A table of what was made before; `names` index `models`.
    pub(crate) fn assemble(families: Families, models: Vec<Model>, names: Vec<(String, u32)>) -> Models {
        Models { families, models, by_name: names.into_iter().collect() }
    }

    pub(crate) fn enter(&mut self, lowered: Vec<Lowered>) {
        for lowered in lowered {
            let index = self.models.len() as u32;
            self.models.push(lowered.model);
            self.by_name.extend(lowered.names.into_iter().map(|name| (name, index)));
        }
    }
}
