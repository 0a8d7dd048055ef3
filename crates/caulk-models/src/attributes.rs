//! Attributes of a declaration, read as a model.
//!
//! Policy, where a declaration is all there is: a function may keep every pointer it is given, unless the parameter is
//! declared pointer to const or marked `nocapture`. Const is a convention and no promise, so what rests on it is *assumed*
//! and findings have lower confidence; `nocapture` and `ownership_*` are promises. A model from a file wins over attributes.

use crate::condition::{Comparison, Condition, Success};
use crate::family::FamilyId;
use crate::model::{EffectKind, Model, ModelEffect, ModelSource, Purity, Varargs};
use crate::model_path::{ModelPath, Pointer};
use crate::table::Models;

/// What a declaration says about a function. Filled in by the reader of declarations; all false: nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclAttributes {
    pub params: Vec<ParamAttributes>,
    pub varargs: bool,
    /// `__attribute__((malloc))`, LLVM's `noalias` on the return value.
    pub malloc: bool,
    /// `malloc(dealloc, N)`: the function that frees the result, and the index (from 0) it takes it at.
    pub dealloc: Option<(String, u8)>,
    /// `ownership_returns(group)`, or LLVM's `"alloc-family"`.
    pub ownership_returns: Option<String>,
    /// `ownership_takes(group, N)`: freed; indices from 0.
    pub ownership_takes: Vec<u8>,
    /// `ownership_holds(group, N)`: kept; indices from 0.
    pub ownership_holds: Vec<u8>,
    pub returns_nonnull: bool,
    pub noreturn: bool,
    /// `const` or `pure`, LLVM's `memory(none)` or `memory(read)`.
    pub purity: Purity,
}

/// What a declaration says about one parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParamAttributes {
    /// It is a pointer at all.
    pub pointer: bool,
    pub nocapture: bool,
    /// LLVM's `readonly` or `readnone`.
    pub readonly: bool,
    /// Declared `const T *`.
    pub pointer_to_const: bool,
    /// LLVM's `returned`: the function returns this argument.
    pub returned: bool,
}

impl Models {
    /// The model a declaration amounts to, or `None` if it says nothing beyond its type.
    #[must_use]
    pub fn from_attributes(&self, declared: &DeclAttributes) -> Option<Model> {
        if !declared.says_something() {
            return None;
        }
        let mut model = Model {
            origin: ModelSource::Attributes,
            params: u8::try_from(declared.params.len()).ok(),
            varargs: declared.varargs.then_some(Varargs::Keeps),
            noreturn: declared.noreturn.then_some(Condition::ALWAYS),
            purity: declared.purity,
            ..Model::default()
        };
        if declared.returns_nonnull {
            model.ensures.push(Comparison::RET_NOT_NULL);
        }
        if declared.purity != Purity::Impure {
            model.varargs = declared.varargs.then_some(Varargs::Reads);
        }
        self.result_effects(declared, &mut model);
        for (index, param) in (0..=u8::MAX).zip(&declared.params) {
            self.param_effects(declared, index, *param, &mut model);
        }
        Some(model)
    }

    fn result_effects(&self, declared: &DeclAttributes, model: &mut Model) {
        let owned = declared.ownership_returns.is_some() || declared.dealloc.is_some();
        if !owned && !declared.malloc {
            return;
        }
        let when = if declared.returns_nonnull {
            model.success = Success::Always;
            Condition::ALWAYS
        } else {
            model.success = Success::When(Comparison::RET_NOT_NULL);
            Condition::success()
        };
        let family = self.declared_family(declared);
        let kind = EffectKind::Alloc { into: ModelPath::RET, family, element: None, zeroed: false };
        // Plain `malloc` only says that the pointer is new: an arena's memory is too, and that is not freed.
        model.effects.push(ModelEffect { kind, when, assumed: !owned });
    }

    fn declared_family(&self, declared: &DeclAttributes) -> FamilyId {
        let by_dealloc = declared.dealloc.as_ref().and_then(|(function, index)| {
            self.get(function)?.effects.iter().find_map(|effect| match effect.kind {
                EffectKind::Free { what, family, .. } if what == ModelPath::param(*index) => Some(family),
                _ => None,
            })
        });
        by_dealloc
            .or_else(|| declared.ownership_returns.as_deref().and_then(|group| self.find_family(group)))
            .unwrap_or(FamilyId::FREE)
    }

    fn param_effects(&self, declared: &DeclAttributes, index: u8, param: ParamAttributes, model: &mut Model) {
        let what = ModelPath::param(index);
        let mut push = |kind, assumed| model.effects.push(ModelEffect { kind, when: Condition::ALWAYS, assumed });
        if declared.ownership_takes.contains(&index) {
            push(EffectKind::Free { what, family: self.declared_family(declared), element: None }, false);
            return;
        }
        if declared.ownership_holds.contains(&index) {
            push(EffectKind::Keep { what, holder: None }, false);
            return;
        }
        if !param.pointer {
            return;
        }
        if param.returned {
            push(EffectKind::Alias { into: ModelPath::RET, of: Pointer::Value(what) }, false);
        }
        let pure = declared.purity != Purity::Impure;
        if !pure && !param.readonly && !param.pointer_to_const {
            push(EffectKind::Write { what }, true);
        }
        if pure || param.nocapture {
            return;
        }
        if param.pointer_to_const {
            model.assumed_reads.push(index);
        } else {
            push(EffectKind::Keep { what, holder: None }, true);
        }
    }
}

impl DeclAttributes {
    fn says_something(&self) -> bool {
        let DeclAttributes {
            params,
            varargs: _,
            malloc,
            dealloc,
            ownership_returns,
            ownership_takes,
            ownership_holds,
            returns_nonnull,
            noreturn,
            purity,
        } = self;
        *malloc
            || dealloc.is_some()
            || ownership_returns.is_some()
            || !ownership_takes.is_empty()
            || !ownership_holds.is_empty()
            || *returns_nonnull
            || *noreturn
            || *purity != Purity::Impure
            || params.iter().any(|p| p.nocapture || p.readonly || p.pointer_to_const || p.returned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTER: ParamAttributes =
        ParamAttributes { pointer: true, nocapture: false, readonly: false, pointer_to_const: false, returned: false };

    fn model(declared: &DeclAttributes) -> Option<Model> {
        Models::bundled().from_attributes(declared)
    }

    #[test]
    fn a_bare_declaration_says_nothing() {
        assert_eq!(model(&DeclAttributes { params: vec![POINTER], varargs: true, ..Default::default() }), None);
    }

    #[test]
    fn pointer_to_const_is_assumed_to_be_only_read_and_others_to_be_kept() {
        let constant = ParamAttributes { pointer_to_const: true, ..POINTER };
        let model = model(&DeclAttributes { params: vec![constant, POINTER], ..Default::default() }).unwrap();
        assert_eq!(model.assumed_reads, [0]);
        let kept = ModelEffect {
            kind: EffectKind::Keep { what: ModelPath::param(1), holder: None },
            when: Condition::ALWAYS,
            assumed: true,
        };
        assert!(model.effects.contains(&kept), "{model:?}");
        assert!(model.effects.iter().all(|effect| !effect.kind.places().contains(&ModelPath::param(0))));
    }

    #[test]
    fn nocapture_is_a_promise() {
        let safe = ParamAttributes { nocapture: true, readonly: true, ..POINTER };
        let model = model(&DeclAttributes { params: vec![safe], ..Default::default() }).unwrap();
        assert_eq!((model.effects, model.assumed_reads), (vec![], vec![]));
    }

    #[test]
    fn malloc_alone_is_assumed_and_with_dealloc_is_certain() {
        let alone = model(&DeclAttributes { malloc: true, ..Default::default() }).unwrap();
        assert!(alone.allocates() && alone.effects[0].assumed);
        let declared = DeclAttributes { malloc: true, dealloc: Some(("fclose".to_owned(), 0)), ..Default::default() };
        let with = model(&declared).unwrap();
        let EffectKind::Alloc { family, .. } = with.effects[0].kind else { panic!("{with:?}") };
        assert_eq!(Models::bundled().family(family).name, "fclose");
        assert!(!with.effects[0].assumed);
    }

    #[test]
    fn ownership_attributes() {
        let declared = DeclAttributes {
            params: vec![POINTER, POINTER],
            ownership_takes: vec![0],
            ownership_holds: vec![1],
            ..Default::default()
        };
        let model = model(&declared).unwrap();
        assert!(matches!(model.effects[0].kind, EffectKind::Free { family: FamilyId::FREE, .. }));
        assert!(matches!(model.effects[1].kind, EffectKind::Keep { holder: None, .. }));
        assert!(!model.effects[0].assumed && !model.effects[1].assumed);
    }
}
