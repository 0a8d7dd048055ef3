//! Texts that a path needs: what functions of the C library say of a text on it, the text must be such that they say it.
//!
//! These functions are called in a run, never replaced, so what this module gets wrong costs a run and confirms nothing.

use std::collections::BTreeMap;

use caulk_explore::{Argument, InputPlace, InputValue, Inputs};
use caulk_ir::{Initialiser, InstId};
use caulk_program::{FuncId, GlobalVarId, Program};

const COMPARE: &[&str] = &["strcmp", "strncmp", "strcasecmp", "strncasecmp", "strcoll", "memcmp", "bcmp"];
const FIND_CHARACTER: &[&str] = &["strchr", "strrchr", "strchrnul", "index", "rindex", "memchr", "memrchr"];
const FIND_TEXT: &[&str] = &["strstr", "strcasestr"];
const FIND_ONE_OF: &[&str] = &["strpbrk"];
const READ_NUMBER: &[&str] =
    &["atoi", "atol", "atoll", "strtol", "strtoul", "strtoll", "strtoull", "strtoimax", "strtoumax"];
const LENGTH: &[&str] = &["strlen"];
/// Longer texts are not made for their length alone.
const MAX_LENGTH: u64 = 2_000;
const FILLER: u8 = b'a';

/// A text in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeededText {
    /// What points to it, and how far behind that it begins.
    pub place: InputPlace,
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// What is known of one text.
#[derive(Clone, Debug, Default)]
struct Text {
    equal: Option<Vec<u8>>,
    contains: Vec<u8>,
    length: usize,
}

impl Text {
    fn bytes(mut self) -> Vec<u8> {
        if let Some(equal) = self.equal {
            return equal;
        }
        if self.contains.len() < self.length {
            self.contains.resize(self.length, FILLER);
        }
        self.contains
    }
}

/// The texts that a path needs. `callee`: the one function that a call reaches.
pub(crate) fn needed(program: &Program, inputs: &Inputs, callee: impl Fn(InstId) -> Option<FuncId>) -> Vec<NeededText> {
    let values = inputs.values.iter().map(|(place, value)| (place, *value)).collect();
    let mut found = BTreeMap::new();
    for (result, arguments) in &inputs.arguments {
        let InputPlace::Result { call, .. } = result else { continue };
        let symbol = callee(*call).map(|callee| program.function(callee).symbol);
        if symbol.is_some_and(|symbol| [FIND_CHARACTER, FIND_TEXT, FIND_ONE_OF].iter().any(|all| all.contains(&symbol)))
        {
            found.insert(result, arguments.first());
        }
    }
    let mut texts = Texts { program, values, found, texts: BTreeMap::new() };
    for (result, arguments) in &inputs.arguments {
        let InputPlace::Result { call, .. } = result else { continue };
        if let Some(callee) = callee(*call) {
            texts.note(program.function(callee).symbol, result, arguments);
        }
    }
    let text = |((place, offset), text): ((&InputPlace, u64), Text)| {
        let bytes = text.bytes();
        (!bytes.is_empty()).then(|| NeededText { place: place.clone(), offset, bytes })
    };
    texts.texts.into_iter().filter_map(text).collect()
}

/// Texts that the path finds equal to something of which it has no word, the words of a command line for instance: any of them may have to be so.
pub(crate) fn words(program: &Program, inputs: &Inputs, callee: impl Fn(InstId) -> Option<FuncId>) -> Vec<String> {
    let mut words = Vec::new();
    for (result, arguments) in &inputs.arguments {
        let InputPlace::Result { call, .. } = result else { continue };
        let is_equal =
            inputs.values.iter().any(|(place, value)| place == result && matches!(value, InputValue::Number(_, 0)));
        let is_comparison = callee(*call).is_some_and(|callee| COMPARE.contains(&program.function(callee).symbol));
        if !is_equal || !is_comparison {
            continue;
        }
        let known = arguments.iter().take(2).filter_map(|argument| match argument {
            Argument::Inside(InputPlace::Global(global), 0) => text_of(program, *global),
            _ => None,
        });
        for word in known.filter_map(|bytes| String::from_utf8(bytes).ok()) {
            if !word.is_empty() && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words
}

struct Texts<'i> {
    program: &'i Program,
    values: BTreeMap<&'i InputPlace, InputValue>,
    /// Results that are places inside of a text, with the argument that is its beginning.
    found: BTreeMap<&'i InputPlace, Option<&'i Argument>>,
    /// By what points to them, and how far behind that they begin.
    texts: BTreeMap<(&'i InputPlace, u64), Text>,
}

impl<'i> Texts<'i> {
    /// What the path says of a call says something of a text.
    fn note(&mut self, symbol: &str, result: &InputPlace, arguments: &'i [Argument]) {
        let Some(&value) = self.values.get(result) else { return };
        let is_one_of = |names: &[&str]| names.contains(&symbol);
        let (first, second) = (arguments.first(), arguments.get(1));
        match value {
            InputValue::Number(_, 0) if is_one_of(COMPARE) => {
                let (known, open) = match (self.literal(first), self.literal(second)) {
                    (None, Some(known)) => (known, first),
                    (Some(known), None) => (known, second),
                    _ => return,
                };
                if let Some(text) = self.text_at(open) {
                    text.equal = Some(known);
                }
            }
            InputValue::NotNull => {
                let wanted = match second {
                    Some(Argument::Number(character)) if is_one_of(FIND_CHARACTER) => vec![*character as u8],
                    _ if is_one_of(FIND_TEXT) => self.literal(second).unwrap_or_default(),
                    _ if is_one_of(FIND_ONE_OF) => self.literal(second).into_iter().flatten().take(1).collect(),
                    _ => return,
                };
                if let Some(text) = self.text_at(first) {
                    text.contains.extend(wanted);
                }
            }
            InputValue::Number(bits, number) if is_one_of(READ_NUMBER) => {
                let shown = (super::subject::sign_extended(bits, number) as i64).to_string();
                if let Some(text) = self.text_at(first) {
                    text.equal.get_or_insert(shown.into_bytes());
                }
            }
            InputValue::Number(_, length) if is_one_of(LENGTH) && length <= MAX_LENGTH => {
                if let Some(text) = self.text_at(first) {
                    text.length = length as usize;
                }
            }
            _ => {}
        }
    }

    /// The text that an argument points to, if the path has a word for it.
    fn text_at(&mut self, argument: Option<&'i Argument>) -> Option<&mut Text> {
        let Argument::Inside(place, offset) = argument? else { return None };
        match self.found.get(place).copied() {
            // What comes after what was found before.
            Some(whole) => self.text_at(whole),
            None => Some(self.texts.entry((place, u64::try_from(*offset).ok()?)).or_default()),
        }
    }

    fn literal(&self, argument: Option<&Argument>) -> Option<Vec<u8>> {
        let Argument::Inside(InputPlace::Global(global), 0) = argument? else { return None };
        text_of(self.program, *global)
    }
}

fn text_of(program: &Program, global: GlobalVarId) -> Option<Vec<u8>> {
    let info = program.global(global);
    match info.declaration.init {
        Initialiser::Text(text) if info.declaration.is_const => {
            Some(program.unit(info.unit).str(text).as_bytes().to_vec())
        }
        _ => None,
    }
}
