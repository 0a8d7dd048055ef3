//! Why memory is lost at a place: in a sentence, and in the few words of a headline.

use caulk_ir::InstId;
use caulk_summary::Event;
use caulk_useflow::{Candidate, Kind, Loss};

use crate::finding::Cause;
use crate::witness::Evidence;

pub(crate) enum Reason {
    Return,
    /// The program ends with the function.
    Exit,
    OutOfScope,
    Overwritten,
    NextIteration,
    ResultIgnored,
    HolderFreed,
    /// By which call.
    FieldMissed(String),
    FieldLeftByDestructor,
    FieldPassedOver,
    FieldOverwritten,
    Unlinked,
    NeverFreed,
    /// By which call, if it is not a throw itself.
    Thrown(Option<String>),
}

impl Reason {
    /// What kind of loss it is, without the words.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Reason::Return | Reason::Exit => Cause::Return,
            Reason::OutOfScope => Cause::OutOfScope,
            Reason::Overwritten => Cause::Overwritten,
            Reason::NextIteration => Cause::NextIteration,
            Reason::ResultIgnored => Cause::ResultIgnored,
            Reason::HolderFreed => Cause::HolderFreed,
            Reason::FieldMissed(_) => Cause::FieldMissed,
            Reason::FieldPassedOver => Cause::FieldPassedOver,
            Reason::FieldOverwritten => Cause::FieldOverwritten,
            Reason::FieldLeftByDestructor | Reason::Unlinked | Reason::NeverFreed | Reason::Thrown(_) => Cause::Other,
        }
    }

    /// `callee`: what is called where it is lost; `is_at_return`: a return statement is there.
    pub(crate) fn new(candidate: &Candidate, evidence: &Evidence, callee: Option<String>, is_at_return: bool) -> Self {
        let Candidate { function, place, allocation, exit, .. } = *candidate;
        match candidate.loss {
            Loss::Path | Loss::Question => {}
            Loss::Unlinked(_) => return Reason::Unlinked,
            Loss::OverwrittenField(_) => return Reason::FieldOverwritten,
            Loss::OverwrittenStatic(_) => return Reason::Overwritten,
            Loss::MissedField(_) => return Reason::FieldMissed(callee.unwrap_or_else(|| "this".to_owned())),
            Loss::MissedByDestructor(_) => return Reason::FieldLeftByDestructor,
            Loss::PassedOver(_) => return Reason::FieldPassedOver,
            Loss::NeverFreed(_) => return Reason::NeverFreed,
            Loss::Thrown => return Reason::Thrown(callee.filter(|name| !name.starts_with("__cxa_"))),
        }
        let ends = evidence.witness.iter().rev().filter(|s| s.function == function && s.inst == place);
        let end = ends.map(|s| s.event).find(|e| !e.is_way());
        match (candidate.kind, end) {
            (_, Some(Event::FreedWithHolder)) => Reason::HolderFreed,
            (Kind::Lost, _) if place == allocation && (exit == allocation || is_overwritten(candidate, place)) => {
                Reason::NextIteration
            }
            (_, _) if place == allocation => Reason::ResultIgnored,
            (Kind::Lost, _) => Reason::Overwritten,
            (Kind::AtExit, _) => Reason::Exit,
            (Kind::Forgotten, _) if !is_at_return => Reason::OutOfScope,
            (Kind::Forgotten, _) => Reason::Return,
        }
    }

    /// In words that follow "is leaked: ".
    pub(crate) fn text(&self) -> String {
        match self {
            Reason::Return => "the function returns, and nothing frees or keeps it",
            Reason::Exit => "the program ends, and nothing has freed it",
            Reason::OutOfScope => "it goes out of scope, neither freed nor kept",
            Reason::Overwritten => "the last reference to it is overwritten",
            Reason::NextIteration => "the next iteration of the loop overwrites the last reference to it",
            Reason::ResultIgnored => "nothing keeps the result of the call",
            Reason::HolderFreed => "what holds it is freed",
            Reason::FieldMissed(by) => return format!("{by} frees what holds it, and nothing frees the field first"),
            Reason::FieldLeftByDestructor => "the destructor ends, and nothing frees what the field holds",
            Reason::FieldPassedOver => "the other fields of the structure are freed here, and nothing frees this one",
            Reason::FieldOverwritten => "the field is overwritten, and nothing frees or moves what it held",
            Reason::Unlinked => "it is taken out of the list, and neither freed, kept nor returned",
            Reason::NeverFreed => {
                "its fields are freed here, and neither this function nor its callers free the structure itself"
            }
            Reason::Thrown(Some(by)) => return format!("{by} throws an exception, and nothing frees or keeps it"),
            Reason::Thrown(None) => "an exception is thrown, and nothing frees or keeps it",
        }
        .to_owned()
    }

    /// In words that follow "`p` allocated by malloc() ".
    pub(crate) fn headline(&self) -> String {
        match self {
            Reason::Return => "is not freed on return",
            Reason::Exit => "is still held at exit",
            Reason::OutOfScope => "is not freed at the end of its scope",
            Reason::Overwritten => "is lost when its last reference is overwritten",
            Reason::NextIteration => "is lost in the next iteration of the loop",
            Reason::ResultIgnored => "is lost, as nothing keeps the result",
            Reason::HolderFreed => "is lost when what holds it is freed",
            Reason::FieldMissed(by) => return format!("is not freed before {by} frees what holds it"),
            Reason::FieldLeftByDestructor => "is not freed by the destructor",
            Reason::FieldPassedOver => "is not freed with the other fields",
            Reason::FieldOverwritten => "is lost when the field is overwritten",
            Reason::Unlinked => "is lost when it is taken out of the list",
            Reason::NeverFreed => "is never freed, though its fields are",
            Reason::Thrown(Some(by)) => return format!("is not freed when {by} throws an exception"),
            Reason::Thrown(None) => "is not freed when an exception is thrown",
        }
        .to_owned()
    }
}

/// Whether a call puts something else where the object was.
fn is_overwritten(candidate: &Candidate, call: InstId) -> bool {
    candidate.trail.iter().any(|(inst, event)| *inst == call && matches!(event, Event::Overwritten))
}
