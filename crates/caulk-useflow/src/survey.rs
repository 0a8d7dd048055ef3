//! One look at every body before anything is followed: what whole-program tables need of it.

use caulk_ir::EntityVec;
use caulk_memory::Class;
use caulk_models::{FamilyId, Models};
use caulk_program::reads::{Read, note};
use caulk_program::{FuncId, GlobalVarId, Program, TypeId};
use caulk_rules::{Rule, Rules};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callbacks::given_by_name;
use crate::counters::{counted_fields, counted_params};
use crate::learned::{Look, learned};
use crate::modified::{Modified, of_body, of_declaration};
use crate::nonnull::{Gift, NonnullParams, gifts};
use crate::own_arenas::{self, OwnArenas};
use crate::reached::ReachedCalls;
use crate::refcount::released_types;
use crate::set_hooks::set_hooks;

/// A function that releases a reference.
#[derive(Debug)]
pub struct Releasing {
    pub(crate) function: FuncId,
    /// Globals that its own code names: it may walk through one to take the object out.
    pub(crate) names: Vec<GlobalVarId>,
}

/// What is known of the program as a whole.
#[derive(Debug, Default)]
pub struct Survey {
    /// Types whose objects count their references, and the functions that release one.
    pub counted: FxHashMap<TypeId, Vec<Releasing>>,
    /// Fields that count something.
    pub(crate) counters: FxHashSet<(TypeId, u64)>,
    /// Functions that each function gives away by name: those it gives them to may call them.
    pub given: EntityVec<FuncId, Vec<FuncId>>,
    pub modified: Modified,
    /// Parameters that no call gives null.
    pub nonnull: NonnullParams,
    /// Library functions without a model whose result is the caller's, and how it is freed.
    pub(crate) learned: FxHashMap<FuncId, FamilyId>,
    pub(crate) own_arenas: OwnArenas,
    /// Numbers behind parameters that a function makes larger.
    pub(crate) counted_params: FxHashSet<(FuncId, u32)>,
    /// Pointers to functions that every table sets.
    pub(crate) set_hooks: FxHashSet<(TypeId, u64)>,
    /// Which calls constants leave, as far as was asked.
    pub reached_calls: ReachedCalls,
}

impl Survey {
    /// Whether a field counts something.
    pub fn is_counter(&self, field: (TypeId, u64)) -> bool {
        note(Read::Counters);
        self.counters.contains(&field)
    }

    /// Whether a function counts behind a parameter.
    pub fn is_counted_param(&self, function: FuncId, param: u32) -> bool {
        note(Read::Counters);
        self.counted_params.contains(&(function, param))
    }

    /// Whether a field points to a function in all tables that there are. Asked together with counters, as few programs change in either.
    pub fn is_set_hook(&self, field: (TypeId, u64)) -> bool {
        note(Read::Counters);
        self.set_hooks.contains(&field)
    }

    /// Whether a global is a list of all objects of a type, from which one that counts its references is taken when its last goes.
    /// A tree or table that releases what it has is an owner like any other.
    pub(crate) fn is_registry(&self, ty: TypeId, global: GlobalVarId) -> bool {
        note(Read::Counted(ty));
        let releasing = self.counted.get(&ty).into_iter().flatten();
        releasing
            .into_iter()
            .any(|r| r.names.contains(&global) || self.modified.may_write(r.function, Class::Global(global)))
    }
}

pub(crate) fn survey(program: &Program, models: &Models, rules: &Rules) -> Survey {
    let functions: Vec<FuncId> = program.functions().collect();
    let looks: Vec<_> = functions
        .par_iter()
        .map(|&f| match program.body(f) {
            Some(body) => {
                let written = of_body(program, f, &body);
                let given = given_by_name(program, f, &body);
                let counters = rules.all(Rule::Counters, || counted_fields(program, f, &body));
                let params = if rules.is_on(Rule::Counters) { counted_params(&body) } else { Vec::new() };
                let counted = rules.all(Rule::CountedReferences, || released_types(program, f, &body));
                let gifts = if rules.is_on(Rule::NonnullParams) { gifts(program, f, &body) } else { Vec::new() };
                let look = if rules.is_on(Rule::LearnedAllocators) {
                    Look::new(program, models, f, &body)
                } else {
                    Look::default()
                };
                let arenas = if rules.is_on(Rule::OwnArenas) {
                    own_arenas::Look::new(program, f, &body)
                } else {
                    own_arenas::Look::default()
                };
                (counted, given, written, (counters, params), gifts, look, arenas)
            }
            None => (
                Vec::new(),
                Vec::new(),
                of_declaration(program, f),
                (Vec::new(), Vec::new()),
                Vec::new(),
                Look::default(),
                own_arenas::Look::default(),
            ),
        })
        .collect();
    let mut survey = Survey::default();
    let mut written = Vec::with_capacity(looks.len());
    let mut gifts = EntityVec::with_capacity(looks.len());
    let of_libraries = functions.iter().copied().zip(looks.iter().map(|look| &look.5));
    survey.learned = learned(program, models, of_libraries);
    rules.note(Rule::LearnedAllocators, survey.learned.len());
    survey.own_arenas = OwnArenas::new(models, functions.iter().copied().zip(looks.iter().map(|look| &look.6)));
    rules.note(Rule::OwnArenas, survey.own_arenas.len());
    for (&function, (released, given, writes, counters, to_others, _, _)) in functions.iter().zip(looks) {
        survey.counters.extend(counters.0);
        survey.counted_params.extend(counters.1.into_iter().map(|param| (function, param)));
        for (ty, names) in released {
            survey.counted.entry(ty).or_default().push(Releasing { function, names });
        }
        survey.given.push(given);
        written.push(writes);
        gifts.push(to_others);
    }
    survey.modified = Modified::new(program, &written);
    if rules.is_on(Rule::SetHooks) {
        survey.set_hooks = set_hooks(program, &survey.modified);
    }
    if rules.is_on(Rule::NonnullParams) {
        survey.nonnull = NonnullParams::new(program, &gifts);
        let is_known = |(callee, param, _): &&(FuncId, u32, Gift)| survey.nonnull.has(*callee, *param);
        rules.note(Rule::NonnullParams, gifts.values().flatten().filter(is_known).count());
    }
    survey
}
