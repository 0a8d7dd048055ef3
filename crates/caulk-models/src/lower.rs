//! From the TOML form to models: defaults are filled in, names resolved, and what cannot be meant is refused with its place.

use rustc_hash::FxHashSet;
use toml::Spanned;

use crate::condition::{Atom, Comparison, Condition, Success};
use crate::error::ModelError;
use crate::family::{Families, Family, FamilyId};
use crate::model::{EffectKind, Model, ModelEffect, ModelSource, OldBlock, Purity, Varargs};
use crate::model_path::{ModelPath, ModelRoot, Pointer};
use crate::schema::{Entry, File, List, NoReturn, Span};
use crate::suggest::nearest;

/// Variadic arguments beyond this many are not spoken of.
const MAX_VARIADIC_INDEX: u8 = 31;

/// A model file under way: its name and text for messages.
pub(crate) struct Source<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

/// A model and the names it goes by.
pub(crate) struct Lowered {
    pub(crate) names: Vec<String>,
    pub(crate) model: Model,
}

impl Source<'_> {
    fn error(&self, span: &Span, message: impl Into<String>, hint: Option<String>) -> ModelError {
        ModelError::invalid(self.file, self.text, span.start, message.into(), hint)
    }

    pub(crate) fn parse(&self) -> Result<File, ModelError> {
        toml::from_str(self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = error.message().trim_end().replace('\n', "; ");
            self.error(&span, message, slip_hint(error.message()))
        })
    }

    pub(crate) fn define_families(&self, file: &mut File, families: &mut Families) -> Result<(), ModelError> {
        for (name, entry) in file.family.0.drain(..) {
            let span = name.span();
            let entry = entry.into_inner();
            families
                .define(Family {
                    name: name.into_inner(),
                    heap: entry.heap,
                    resource: entry.resource,
                    inside: entry.inside,
                    description: entry.description,
                })
                .map_err(|error| error.at(self.file, self.text, span.start))?;
        }
        Ok(())
    }

    pub(crate) fn lower(
        &self,
        file: File,
        families: &Families,
        origin: &ModelSource,
    ) -> Result<Vec<Lowered>, ModelError> {
        let mut lowered = Vec::with_capacity(file.group.len() + file.function.0.len());
        let mut seen = FxHashSet::default();
        let context = EntryContext { source: self, families, covers_definitions: file.covers_definitions };
        for group in file.group {
            let span = group.span();
            let mut entry = group.into_inner();
            if let Some(aliases) = &entry.aliases {
                let hint = "list every name in `functions`".to_owned();
                return Err(self.error(&aliases.span(), "a group has no `aliases`", Some(hint)));
            }
            let Some(functions) = entry.functions.take() else {
                let hint = "add `functions = [\"name\", ...]`".to_owned();
                return Err(self.error(&span, "this group names no `functions`", Some(hint)));
            };
            let names = self.names(functions.into_inner(), &mut seen)?;
            lowered.push(Lowered { names, model: context.model(entry, origin.clone())? });
        }
        for (name, entry) in file.function.0 {
            let mut entry = entry.into_inner();
            if let Some(functions) = &entry.functions {
                let hint = "other names of the same function go into `aliases`; use [[group]] for a list".to_owned();
                return Err(self.error(&functions.span(), "a function has no `functions`", Some(hint)));
            }
            let mut names = vec![name];
            names.extend(entry.aliases.take().into_iter().flat_map(Spanned::into_inner));
            let names = self.names(names, &mut seen)?;
            lowered.push(Lowered { names, model: context.model(entry, origin.clone())? });
        }
        Ok(lowered)
    }

    /// The names without their places; refuses one that stands twice in the file.
    fn names(&self, names: Vec<Spanned<String>>, seen: &mut FxHashSet<String>) -> Result<Vec<String>, ModelError> {
        let check = |name: Spanned<String>| {
            if seen.insert(name.get_ref().clone()) {
                return Ok(name.into_inner());
            }
            let hint = "one function has one model in a file; a later file overrides an earlier one".to_owned();
            Err(self.error(&name.span(), format!("`{}` has two models in this file", name.get_ref()), Some(hint)))
        };
        names.into_iter().map(check).collect()
    }
}

/// For "unknown field `x`, expected one of `a`, `b`" (and variants alike): the nearest of the expected words.
fn slip_hint(message: &str) -> Option<String> {
    let (head, tail) = message.split_once(", expected")?;
    if !head.starts_with("unknown") {
        return None;
    }
    let word = head.split('`').nth(1)?;
    let known: Vec<&str> = tail.split('`').skip(1).step_by(2).collect();
    nearest(word, known).map(|known| format!("did you mean `{known}`?"))
}

/// One entry under way.
struct EntryContext<'a> {
    source: &'a Source<'a>,
    families: &'a Families,
    covers_definitions: bool,
}

/// An effect and where it stands.
type Placed = (Span, ModelEffect);

impl EntryContext<'_> {
    fn model(&self, entry: Entry, origin: ModelSource) -> Result<Model, ModelError> {
        let mut model = Model {
            origin,
            params: entry.params,
            covers_definitions: self.covers_definitions,
            counts: entry.counts,
            refuses: entry.refuses,
            varargs: entry.varargs.map(Varargs::from),
            purity: entry.pure.map_or(Purity::Impure, Purity::from),
            ..Model::default()
        };
        let success_span = entry.success.as_ref().map(Spanned::span);
        model.success = match &entry.success {
            Some(success) => success.get_ref().0,
            None if null_shows_failure(&entry) => Success::When(Comparison::RET_NOT_NULL),
            None => Success::Unstated,
        };
        if let (Some(span), Success::When(comparison)) = (success_span, model.success) {
            self.check_place(comparison.place, &model, &span)?;
        }
        self.noreturn(&entry, &mut model)?;
        for (span, comparison) in items(&entry.ensures).map(|(span, ensures)| (span, ensures.0)) {
            self.check_place(comparison.place, &model, &span)?;
            model.ensures.push(comparison);
        }
        let effects = self.effects(&entry, model.success)?;
        for (span, effect) in &effects {
            for place in effect.kind.places() {
                self.check_place(place, &model, span)?;
            }
            self.check_condition(&effect.when, &model, span)?;
            self.check_sense(&effect.kind, span)?;
        }
        model.effects = effects.into_iter().map(|(_, effect)| effect).collect();
        if model.success == Success::Always && returns_block(&model) && !model.returns_nonnull() {
            model.ensures.push(Comparison::RET_NOT_NULL);
        }
        Ok(model)
    }

    fn noreturn(&self, entry: &Entry, model: &mut Model) -> Result<(), ModelError> {
        model.noreturn = match entry.noreturn.as_ref().map(Spanned::get_ref) {
            None | Some(NoReturn::Always(false)) => None,
            Some(NoReturn::Always(true)) => Some(Condition::ALWAYS),
            Some(NoReturn::When(condition)) => Some(condition.clone()),
        };
        match (&model.noreturn, &entry.noreturn) {
            (Some(condition), Some(entry)) => self.check_condition(condition, model, &entry.span()),
            _ => Ok(()),
        }
    }

    fn effects(&self, entry: &Entry, success: Success) -> Result<Vec<Placed>, ModelError> {
        let mut effects = Vec::new();
        self.memory_effects(entry, success, &mut effects)?;
        pointer_effects(entry, &mut effects);
        Ok(effects)
    }

    /// Blocks that come and go.
    fn memory_effects(&self, entry: &Entry, success: Success, effects: &mut Vec<Placed>) -> Result<(), ModelError> {
        // What comes into being does so on success, unless the model says otherwise.
        let on_success = match success {
            Success::When(_) => Condition::success(),
            Success::Always | Success::Unstated => Condition::ALWAYS,
        };
        for (span, item) in items(&entry.allocates) {
            let family = self.family(item.family.as_deref(), entry, &span)?;
            let element = item.elements.as_deref().map(|name| self.find_family(name, &span)).transpose()?;
            let kind = EffectKind::Alloc { into: item.into.0, family, element, zeroed: item.zeroed };
            let when = item.when.as_ref().map_or_else(|| on_success.clone(), |when| when.0.clone());
            effects.push((span, certain(kind, when)));
        }
        for (span, item) in items(&entry.acquires) {
            let family = self.family(item.family.as_deref(), entry, &span)?;
            let kind = EffectKind::Acquire {
                holder: item.of.0,
                at: self.families.list()[usize::from(family.0)].inside,
                family,
            };
            let when = item.when.as_ref().map_or_else(|| on_success.clone(), |when| when.0.clone());
            effects.push((span, certain(kind, when)));
        }
        for (span, item) in items(&entry.resizes) {
            let kind = EffectKind::Resize {
                from: item.from.0,
                into: item.into.as_ref().map_or(ModelPath::RET, |into| into.0),
                family: self.family(item.family.as_deref(), entry, &span)?,
                on_failure: if item.frees_on_failure { OldBlock::Freed } else { OldBlock::Kept },
                zero: item.zero.iter().map(|place| place.0).collect(),
            };
            effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
        }
        for (span, item) in items(&entry.frees) {
            let family = self.family(item.family.as_deref(), entry, &span)?;
            let element = item.elements.as_deref().map(|name| self.find_family(name, &span)).transpose()?;
            let kind = EffectKind::Free { what: item.what.0, family, element };
            effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
        }
        for (span, item) in items(&entry.releases) {
            let family = self.family(item.family.as_deref(), entry, &span)?;
            let kind = EffectKind::Release {
                holder: item.of.0,
                at: self.families.list()[usize::from(family.0)].inside,
                family,
            };
            effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
        }
        Ok(())
    }

    fn family(&self, own: Option<&str>, entry: &Entry, span: &Span) -> Result<FamilyId, ModelError> {
        match (own, &entry.family) {
            (Some(name), _) => self.find_family(name, span),
            (None, Some(name)) => self.find_family(name.get_ref(), &name.span()),
            (None, None) => {
                let hint = "add `family = \"free\"`, or the family it is freed by".to_owned();
                Err(self.source.error(span, "the family of this memory is not said", Some(hint)))
            }
        }
    }

    fn find_family(&self, name: &str, span: &Span) -> Result<FamilyId, ModelError> {
        self.families.find(name).ok_or_else(|| {
            let known = self.families.list().iter().map(|family| family.name.as_str());
            let hint = match nearest(name, known) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("define it: [family.{name}] with `heap` and `description`"),
            };
            self.source.error(span, format!("no family is called `{name}`"), Some(hint))
        })
    }

    fn check_place(&self, place: ModelPath, model: &Model, span: &Span) -> Result<(), ModelError> {
        let Some(index) = place.param_index() else { return Ok(()) };
        let Some(params) = model.params else {
            let message = format!("`{place}` is named, but `params` is missing");
            return Err(self.source.error(
                span,
                message,
                Some("add `params = N`, the number of parameters".to_owned()),
            ));
        };
        if index < params || (model.varargs.is_some() && index <= MAX_VARIADIC_INDEX) {
            return Ok(());
        }
        let hint = match params {
            0 => "`params = 0` says that there are none".to_owned(),
            1 => "the only parameter is `p0`".to_owned(),
            _ => format!("parameters are counted from 0: the last is `p{}`", params - 1),
        };
        Err(self.source.error(span, format!("`{place}`: there is no parameter {index}, only {params}"), Some(hint)))
    }

    fn check_condition(&self, condition: &Condition, model: &Model, span: &Span) -> Result<(), ModelError> {
        for place in condition.places() {
            self.check_place(place, model, span)?;
        }
        let hint = || Some("add for instance `success = \"ret == 0\"`".to_owned());
        match model.success {
            Success::Unstated if condition.asks_outcome() => {
                Err(self.source.error(span, "this depends on success, but `success` is not said", hint()))
            }
            Success::Always if condition.atoms.contains(&Atom::Failure) => {
                Err(self.source.error(span, "this happens on failure, but `success = \"always\"`", hint()))
            }
            _ => Ok(()),
        }
    }

    /// Refuses effects that can only be slips of the pen.
    fn check_sense(&self, kind: &EffectKind, span: &Span) -> Result<(), ModelError> {
        let refuse = |message: &str, hint: &str| Err(self.source.error(span, message, Some(hint.to_owned())));
        match kind {
            EffectKind::Alloc { into, .. } | EffectKind::Resize { into, .. } | EffectKind::Alias { into, .. }
                if into.derefs == 0 && into.root != ModelRoot::Ret =>
            {
                refuse(
                    "a call cannot change the caller's argument itself",
                    "write `*p0` for the pointer stored where the argument points to, or `ret`",
                )
            }
            EffectKind::Free { what, .. } | EffectKind::Keep { what, .. } | EffectKind::Store { what, .. }
                if what.root == ModelRoot::Ret =>
            {
                refuse("what is returned cannot be taken as well", "name a parameter")
            }
            EffectKind::Resize { from, .. } if from.root == ModelRoot::Ret => {
                refuse("the old block must come from a parameter", "name a parameter in `from`")
            }
            EffectKind::Alias { into, of }
                if into.is_ret() && of.place().is_some_and(|of| of.root == ModelRoot::Ret) =>
            {
                refuse("the source of a pointer must be a parameter", "name a parameter")
            }
            _ => Ok(()),
        }
    }
}

/// Where pointers go, what is written, what is called.
fn pointer_effects(entry: &Entry, effects: &mut Vec<Placed>) {
    for (span, item) in items(&entry.returns) {
        let kind = EffectKind::Alias { into: ModelPath::RET, of: item.what.0.pointer };
        let mut when = stated(item.when.as_ref().map(|when| &when.0));
        if item.what.0.or_null && !when.asks_outcome() {
            when.atoms.push(Atom::Success);
        }
        effects.push((span, certain(kind, when)));
    }
    for (span, item) in items(&entry.points) {
        let kind = EffectKind::Alias { into: item.at.0, of: item.to.0 };
        effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
    }
    for (span, item) in items(&entry.keeps) {
        let kind = EffectKind::Keep { what: item.what.0, holder: item.holder.as_ref().map(|holder| holder.0) };
        effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
    }
    for (span, item) in items(&entry.stores) {
        let kind = EffectKind::Store { what: item.what.0, into: item.into.0 };
        effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
    }
    for (span, item) in items(&entry.copies) {
        let kind = EffectKind::Copy { from: item.from.0, to: item.to.0 };
        effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
    }
    for (span, item) in items(&entry.writes) {
        let kind = EffectKind::Write { what: item.what.0 };
        effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
    }
    for (span, item) in items(&entry.calls) {
        let with: Vec<Pointer> = item.with.iter().map(|pointer| pointer.0).collect();
        let kind = EffectKind::Call { function: item.function.0, with, later: item.later };
        effects.push((span, certain(kind, stated(item.when.as_ref().map(|when| &when.0)))));
    }
}

/// The items of a key, each with its own span or the key's.
fn items<T>(list: &Option<Spanned<List<T>>>) -> impl Iterator<Item = (Span, &T)> {
    list.iter().flat_map(|list| {
        let outer = list.span();
        list.get_ref().0.iter().map(move |(span, item)| (span.clone().unwrap_or_else(|| outer.clone()), item))
    })
}

fn certain(kind: EffectKind, when: Condition) -> ModelEffect {
    ModelEffect { kind, when, assumed: false }
}

fn stated(when: Option<&Condition>) -> Condition {
    when.cloned().unwrap_or_default()
}

/// True where nothing is said about success and a null result is how C shows failure.
fn null_shows_failure(entry: &Entry) -> bool {
    items(&entry.allocates).any(|(_, item)| item.into.0.is_ret())
        || items(&entry.resizes).any(|(_, item)| item.into.as_ref().is_none_or(|into| into.0.is_ret()))
        || items(&entry.returns).any(|(_, item)| item.what.0.or_null)
}

/// True if every call returns a block.
fn returns_block(model: &Model) -> bool {
    model.effects.iter().filter(|effect| effect.when.is_always()).any(|effect| match &effect.kind {
        EffectKind::Alloc { into, .. } | EffectKind::Resize { into, .. } => into.is_ret(),
        _ => false,
    })
}
