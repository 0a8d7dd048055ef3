//! The TOML form of a model file, word for word. Meaning is given to it in `lower.rs`.
//!
//! Most keys take one item or a list of items, and an item is a table or, where one place says all, a string.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::str::FromStr;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::condition::{Comparison, Condition, Success};
use crate::family::Resource;
use crate::model::{Purity, Varargs};
use crate::model_path::{ModelPath, Pointer};

pub(crate) type Span = Range<usize>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(default, rename = "covers-definitions")]
    pub(crate) covers_definitions: bool,
    #[serde(default)]
    pub(crate) family: Named<FamilyEntry>,
    #[serde(default)]
    pub(crate) group: Vec<Spanned<Entry>>,
    #[serde(default)]
    pub(crate) function: Named<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FamilyEntry {
    pub(crate) heap: bool,
    pub(crate) resource: Option<Resource>,
    #[serde(default)]
    pub(crate) inside: u32,
    pub(crate) description: String,
}

/// A `[function.NAME]` or a `[[group]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Entry {
    pub(crate) functions: Option<Spanned<Vec<Spanned<String>>>>,
    pub(crate) aliases: Option<Spanned<Vec<Spanned<String>>>>,
    pub(crate) params: Option<u8>,
    pub(crate) varargs: Option<VarargsText>,
    pub(crate) family: Option<Spanned<String>>,
    pub(crate) success: Option<Spanned<Text<Success>>>,
    pub(crate) allocates: Option<Spanned<List<Allocates>>>,
    pub(crate) frees: Option<Spanned<List<Frees>>>,
    pub(crate) acquires: Option<Spanned<List<Contents>>>,
    pub(crate) releases: Option<Spanned<List<Contents>>>,
    pub(crate) resizes: Option<Spanned<List<Resizes>>>,
    pub(crate) returns: Option<Spanned<List<Returns>>>,
    pub(crate) points: Option<Spanned<List<Points>>>,
    pub(crate) keeps: Option<Spanned<List<Keeps>>>,
    pub(crate) stores: Option<Spanned<List<Stores>>>,
    pub(crate) copies: Option<Spanned<List<Copies>>>,
    pub(crate) writes: Option<Spanned<List<Writes>>>,
    pub(crate) calls: Option<Spanned<List<Calls>>>,
    pub(crate) noreturn: Option<Spanned<NoReturn>>,
    pub(crate) pure: Option<PureText>,
    #[serde(default)]
    pub(crate) counts: bool,
    #[serde(default)]
    pub(crate) refuses: bool,
    pub(crate) ensures: Option<Spanned<List<Ensures>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allocates {
    pub(crate) into: Text<ModelPath>,
    pub(crate) family: Option<String>,
    pub(crate) elements: Option<String>,
    #[serde(default)]
    pub(crate) zeroed: bool,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frees {
    pub(crate) what: Text<ModelPath>,
    pub(crate) family: Option<String>,
    pub(crate) elements: Option<String>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contents {
    pub(crate) of: Text<ModelPath>,
    pub(crate) family: Option<String>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Resizes {
    pub(crate) from: Text<ModelPath>,
    pub(crate) into: Option<Text<ModelPath>>,
    pub(crate) family: Option<String>,
    #[serde(default)]
    pub(crate) frees_on_failure: bool,
    #[serde(default)]
    pub(crate) zero: Vec<Text<ModelPath>>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Returns {
    pub(crate) what: Text<Returned>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Points {
    pub(crate) at: Text<ModelPath>,
    pub(crate) to: Text<Pointer>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keeps {
    pub(crate) what: Text<ModelPath>,
    #[serde(rename = "in")]
    pub(crate) holder: Option<Text<ModelPath>>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stores {
    pub(crate) what: Text<ModelPath>,
    #[serde(rename = "in")]
    pub(crate) into: Text<ModelPath>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Copies {
    pub(crate) from: Text<ModelPath>,
    pub(crate) to: Text<ModelPath>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Writes {
    pub(crate) what: Text<ModelPath>,
    pub(crate) when: Option<Text<Condition>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calls {
    pub(crate) function: Text<ModelPath>,
    #[serde(default)]
    pub(crate) with: Vec<Text<Pointer>>,
    #[serde(default)]
    pub(crate) later: bool,
    pub(crate) when: Option<Text<Condition>>,
}

/// Only ever a string: `ret >= 0`.
#[derive(Debug)]
pub(crate) struct Ensures(pub(crate) Comparison);

/// What `returns` names: a pointer, perhaps followed by ` or null`.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) pointer: Pointer,
    pub(crate) or_null: bool,
}

impl FromStr for Returned {
    type Err = String;

    fn from_str(text: &str) -> Result<Returned, String> {
        let (pointer, or_null) = match text.trim().strip_suffix(" or null") {
            Some(pointer) => (pointer, true),
            None => (text, false),
        };
        Ok(Returned { pointer: pointer.parse()?, or_null })
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VarargsText {
    Reads,
    Writes,
    Keeps,
}

impl From<VarargsText> for Varargs {
    fn from(text: VarargsText) -> Varargs {
        match text {
            VarargsText::Reads => Varargs::Reads,
            VarargsText::Writes => Varargs::Writes,
            VarargsText::Keeps => Varargs::Keeps,
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PureText {
    Memory,
    Values,
}

impl From<PureText> for Purity {
    fn from(text: PureText) -> Purity {
        match text {
            PureText::Memory => Purity::Memory,
            PureText::Values => Purity::Values,
        }
    }
}

/// `true`, or the condition under which the call does not return.
#[derive(Debug)]
pub(crate) enum NoReturn {
    Always(bool),
    When(Condition),
}

impl<'de> Deserialize<'de> for NoReturn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BoolOrCondition;
        impl Visitor<'_> for BoolOrCondition {
            type Value = NoReturn;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or a condition such as \"p0 != 0\"")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<NoReturn, E> {
                Ok(NoReturn::Always(value))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<NoReturn, E> {
                text.parse().map(NoReturn::When).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(BoolOrCondition)
    }
}

/// A value written as a string in a language of its own: a place, a condition.
#[derive(Debug)]
pub(crate) struct Text<T>(pub(crate) T);

impl<'de, T: FromStr<Err = String>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parse<T>(PhantomData<T>);
        impl<T: FromStr<Err = String>> Visitor<'_> for Parse<T> {
            type Value = Text<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<T>, E> {
                text.parse().map(Text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Parse(PhantomData))
    }
}

/// An item that may be written as a string or as a table.
pub(crate) trait Item: Sized {
    /// The string form.
    fn short(text: &str) -> Result<Self, String>;
    /// The table form.
    fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

/// `item!(Type, |text| string form)`: the table form is the derived one.
macro_rules! item {
    ($type:ty, |$text:ident| $short:expr) => {
        impl Item for $type {
            fn short($text: &str) -> Result<Self, String> {
                $short
            }
            fn table<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
                table_form(map)
            }
        }
    };
}

fn table_form<'de, T: DeserializeOwned, A: MapAccess<'de>>(map: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}

fn place(text: &str) -> Result<Text<ModelPath>, String> {
    text.parse().map(Text)
}

item!(Allocates, |text| Ok(Allocates { into: place(text)?, family: None, elements: None, zeroed: false, when: None }));
item!(Frees, |text| Ok(Frees { what: place(text)?, family: None, elements: None, when: None }));
item!(Contents, |text| Ok(Contents { of: place(text)?, family: None, when: None }));
item!(Resizes, |text| Ok(Resizes {
    from: place(text)?,
    into: None,
    family: None,
    frees_on_failure: false,
    zero: Vec::new(),
    when: None
}));
item!(Returns, |text| Ok(Returns { what: text.parse().map(Text)?, when: None }));
item!(Points, |_text| Err("write a table: { at = \"*p1\", to = \"inside p0\" }".to_owned()));
item!(Keeps, |text| Ok(Keeps { what: place(text)?, holder: None, when: None }));
item!(Stores, |_text| Err("write a table: { what = \"p1\", in = \"p0\" }".to_owned()));
item!(Copies, |_text| Err("write a table: { from = \"p1\", to = \"p0\" }".to_owned()));
item!(Writes, |text| Ok(Writes { what: place(text)?, when: None }));
item!(Calls, |text| Ok(Calls { function: place(text)?, with: Vec::new(), later: false, when: None }));

impl Item for Ensures {
    fn short(text: &str) -> Result<Self, String> {
        text.parse().map(Ensures)
    }
    fn table<'de, A: MapAccess<'de>>(_map: A) -> Result<Self, A::Error> {
        Err(A::Error::custom("expected a comparison such as \"ret >= 0\", found a table"))
    }
}

/// One item or several. Items of a list have spans of their own; a single one has its key's.
#[derive(Debug)]
pub(crate) struct List<T>(pub(crate) Vec<(Option<Span>, T)>);

impl<'de, T: Item> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany<T>(PhantomData<T>);
        impl<'de, T: Item> Visitor<'de> for OneOrMany<T> {
            type Value = List<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a table or a list of them")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<List<T>, E> {
                Ok(List(vec![(None, T::short(text).map_err(E::custom)?)]))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<List<T>, A::Error> {
                Ok(List(vec![(None, T::table(map)?)]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element::<Spanned<One<T>>>()? {
                    items.push((Some(item.span()), item.into_inner().0));
                }
                Ok(List(items))
            }
        }
        deserializer.deserialize_any(OneOrMany(PhantomData))
    }
}

struct One<T>(T);

impl<'de, T: Item> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringOrTable<T>(PhantomData<T>);
        impl<'de, T: Item> Visitor<'de> for StringOrTable<T> {
            type Value = One<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a table")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<One<T>, E> {
                T::short(text).map(One).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<One<T>, A::Error> {
                T::table(map).map(One)
            }
        }
        deserializer.deserialize_any(StringOrTable(PhantomData))
    }
}

/// A table whose keys are names, in the order of the file.
#[derive(Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<(Spanned<String>, Spanned<T>)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}
