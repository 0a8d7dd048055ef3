//! What a finding about a field rests on, in words.

use caulk_useflow::{Candidate, Ground, Loss};

/// Why a finding that no single path shows is believed, or is not.
pub(crate) fn reason(candidate: &Candidate) -> &'static str {
    match (candidate.ground, candidate.loss) {
        (Some(ground), Loss::OverwrittenStatic(_)) => of_static(ground),
        (Some(ground), _) => of_ground(ground),
        (None, Loss::OverwrittenField(_)) => "nothing tells whether the field held anything before",
        (None, Loss::MissedField(_) | Loss::MissedByDestructor(_) | Loss::PassedOver(_)) => {
            "other code empties the field, perhaps before this"
        }
        (None, Loss::Unlinked(_)) => "a count of references may keep the node",
        (None, Loss::NeverFreed(_)) => "other structures that the function works on may hold it",
        (None, _) => "a callee may take it under a condition that its callers cannot see",
    }
}

fn of_static(ground: Ground) -> &'static str {
    match ground {
        Ground::FoundFull => "this function has used what the variable holds before it sets it",
        Ground::FailedRenewal => of_ground(ground),
        Ground::OthersFreeFirst => "other functions free what the variable holds before they set it",
        _ => "input chooses what is set, and may choose it twice",
    }
}

fn of_ground(ground: Ground) -> &'static str {
    match ground {
        Ground::FoundFull => "this function has found the field not null before it sets it",
        Ground::FailedRenewal => "the call that should make the block larger frees nothing if it fails",
        Ground::ClearedWhole => "this function frees other fields of the structure before it clears all of it",
        Ground::NulledForGood => "nothing in the program frees what this field holds",
        Ground::NulledWithOthers => "this function frees other fields of the structure and only sets this one to null",
        Ground::NulledInUse => "other code frees the field, and the structure was in use",
        Ground::OthersFreeFirst => "other functions free the field before they set it",
        Ground::NamedSetting => "input chooses the field by a name or a number, and may choose it twice",
        Ground::Constructed => "the constructors fill the field",
        Ground::SistersFreeFirst => "functions of the same kind free their field before they set it",
        Ground::CalledAgain => "a caller calls the method in a loop on the same object",
        Ground::AgreedSetters => "two other functions free the field before they set it",
        Ground::FilledFromBirth => "every function that makes such a structure fills the field",
        Ground::CarelessSetter => "most functions that fill the field free it first",
        Ground::FreesOthers => "this function frees other fields with the structure, and code elsewhere frees this one",
        Ground::FreesHolder => "code elsewhere frees the field, but not this function, which frees the structure",
        Ground::FreesOthersAlone => {
            "this function frees other fields with the structure, and nothing in the program frees this one"
        }
        Ground::FreesHolderAlone => "this function frees the structure, and nothing in the program frees the field",
        Ground::FreesMost => "this function frees most other fields of the structure",
        Ground::NothingFrees => "nothing in the program frees what this field holds for good",
        Ground::OthersFreeIt => "other functions that free the structure free the field as well",
        Ground::AgreedFields => "all other functions that free the structure free the field as well",
        Ground::LeftByDestructor => "the class alone owns what the field holds, and its destructor leaves it",
        Ground::NeverDeleted => "nothing in the program deletes such an object, and the destructor leaves the field",
        Ground::LeftElements => "the class alone owns the elements, and its destructor leaves them",
        Ground::DroppedElements => "the destructor frees the elements one by one, this method does not",
        Ground::EmptiedMember => "the class alone owns what the field holds, and this method has used it",
        Ground::Unlinked => "other code frees what it takes out of this list",
        Ground::OnlyListed => "only this list leads to such structures",
        Ground::NeverFreed => "nothing in the program frees such a structure",
        Ground::LeftStructure => "other functions that free these fields free the structure as well",
    }
}
