//! Families distinguish what must be freed differently: `free`, `fclose`, `delete[]`.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;

/// Index into [`crate::Models::families`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FamilyId(pub u16);

impl FamilyId {
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// What `malloc` returns and `free` takes. Always there, whatever files are loaded.
    pub const FREE: FamilyId = FamilyId(0);
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    pub name: String,
    /// Memory from the heap that is gone for good if it is not freed: reported by default.
    pub heap: bool,
    /// Something of the system's that is held besides memory, or instead of it.
    pub resource: Option<Resource>,
    /// Memory inside of an object of the caller's: the offset of the pointer that leads to it. For `acquires` and `releases`.
    pub inside: u32,
    /// For messages: "a directory stream, closed by closedir()".
    pub description: String,
}

/// What of the system's is held until it is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// A stream of stdio, or of a directory.
    Stream,
    /// A mapping, a shared library, a semaphore.
    Handle,
    /// The number of an open file, socket or the like.
    Descriptor,
}

impl Resource {
    /// The word for it in messages.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Resource::Stream => "stream",
            Resource::Handle => "handle",
            Resource::Descriptor => "descriptor",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Families {
    list: Vec<Family>,
    by_name: FxHashMap<String, FamilyId>,
}

impl Default for Families {
    fn default() -> Self {
        let mut families = Families { list: Vec::new(), by_name: FxHashMap::default() };
        let free = Family {
            name: "free".to_owned(),
            heap: true,
            resource: None,
            inside: 0,
            description: "memory of malloc() and its kin, freed by free()".to_owned(),
        };
        families.list.push(free);
        families.by_name.insert("free".to_owned(), FamilyId::FREE);
        families
    }
}

impl Families {
    /// A list whose first is [`FamilyId::FREE`].
    pub(crate) fn from_list(list: Vec<Family>) -> Families {
        let by_name = (0..=u16::MAX).zip(&list).map(|(id, family)| (family.name.clone(), FamilyId(id))).collect();
        Families { list, by_name }
    }

    /// A name already known is redefined: users may decide otherwise about a bundled family.
    pub(crate) fn define(&mut self, family: Family) -> Result<(), TooManyFamilies> {
        if let Some(id) = self.by_name.get(&family.name) {
            self.list[usize::from(id.0)] = family;
            return Ok(());
        }
        let id = FamilyId(u16::try_from(self.list.len()).map_err(|_| TooManyFamilies)?);
        self.by_name.insert(family.name.clone(), id);
        self.list.push(family);
        Ok(())
    }

    pub(crate) fn find(&self, name: &str) -> Option<FamilyId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn list(&self) -> &[Family] {
        &self.list
    }
}

/// More than 65,536 families.
#[derive(Debug)]
pub(crate) struct TooManyFamilies;

impl TooManyFamilies {
    pub(crate) fn at(self, file: &str, text: &str, offset: usize) -> ModelError {
        ModelError::invalid(file, text, offset, "too many families".to_owned(), None)
    }
}
