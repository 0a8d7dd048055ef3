//! What tells that a field was full, and its structure's own, where no path of one function shows it.
//!
//! Each way to tell is right more or less often, so a finding says which one it rests on, and measures are made for each.

use serde::{Deserialize, Serialize};

/// What a candidate for a field rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Ground {
    /// The function has found the field not null.
    FoundFull,
    /// What makes the block of the field larger has failed.
    FailedRenewal,
    /// The function clears the structure, and frees other fields of it.
    ClearedWhole,
    /// Nothing frees what the field holds, and the structure is used before and after.
    NulledForGood,
    /// The function frees other fields of the structure that it sets to null.
    NulledWithOthers,
    /// Other code frees the field, and the structure was found in memory.
    NulledInUse,
    /// Other functions free the field before they set it, and the structure was there before.
    OthersFreeFirst,
    /// Input names the setting, so it may name it twice.
    NamedSetting,
    /// Every constructor fills the field.
    Constructed,
    /// Functions of the same table free their field before they set it.
    SistersFreeFirst,
    /// A caller calls the method in a loop, on one object.
    CalledAgain,
    /// Several functions free the field before they set it.
    AgreedSetters,
    /// All that make such a structure fill the field.
    FilledFromBirth,
    /// Most functions that fill the field free it first.
    CarelessSetter,
    /// The function frees other fields with the structure.
    FreesOthers,
    /// The function frees the structure alone.
    FreesHolder,
    /// The function frees other fields with the structure, and nothing frees this one.
    FreesOthersAlone,
    /// The function frees the structure, and nothing frees this field.
    FreesHolderAlone,
    /// The function frees most other fields of the structure.
    FreesMost,
    /// Nothing in the program frees the field for good.
    NothingFrees,
    /// Other functions that free the structure free the field.
    OthersFreeIt,
    /// All other functions that free the structure free the field.
    AgreedFields,
    /// The destructor leaves the field, and the class alone owns it.
    LeftByDestructor,
    /// The destructor leaves the field, and nothing in the program deletes such an object.
    NeverDeleted,
    /// The destructor leaves the elements of a container.
    LeftElements,
    /// The destructor frees the elements that this method drops.
    DroppedElements,
    /// The method has used the field before it sets it to null.
    EmptiedMember,
    /// Other code frees what it takes out of this list.
    Unlinked,
    /// Only a list leads to such a structure.
    OnlyListed,
    /// Nothing in the program frees such a structure.
    NeverFreed,
    /// Other functions that free these fields free the structure as well.
    LeftStructure,
}

impl Ground {
    /// Right less than half of the time on projects that were read by lot: such a finding is only for those who want what is uncertain too.
    pub(crate) fn is_weak(self) -> bool {
        matches!(self, Ground::FreesMost | Ground::NulledInUse)
    }
}
