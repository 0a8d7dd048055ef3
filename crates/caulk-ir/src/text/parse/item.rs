//! The second round: everything but the bodies.

use crate::entity::FileId;
use crate::text::error::Parsed;
use crate::text::lexer::Token;
use crate::text::words::{FUNCTION_FLAGS, Flag, LINKAGES, PARAM_FLAGS, UNKNOWN_REASONS, meaning};
use crate::types::{Field, Type};
use crate::unit::{Alias, AliasTarget, Function, InitItem, Initialiser, Linkage, Param, ParamFlags};

use super::cursor::List;
use super::place::PlaceChain;
use super::{Declared, Parser, PendingBody};

/// What may begin a line outside of bodies, for messages.
const ITEM: &str = "`unit`, `file`, `unknown`, `struct`, `global`, `alias`, `declare` or `define`";

impl Parser<'_> {
    pub(super) fn items(&mut self) -> Parsed<()> {
        self.cursor.skip_newlines();
        if self.cursor.eat_word("unit") {
            self.header()?;
        }
        let mut no_files = false;
        while !self.cursor.at_end() {
            let Token::Word(keyword) = *self.cursor.peek() else { return self.cursor.expected(ITEM) };
            let start = self.cursor.position();
            self.cursor.advance();
            match keyword {
                "file" => self.file()?,
                "no" => {
                    self.cursor.expect_word("files")?;
                    no_files = true;
                }
                "unknown" => self.unknown_count()?,
                "struct" | "union" | "class" => self.struct_type()?,
                "global" => self.global()?,
                "alias" => self.alias()?,
                "declare" => self.function(false)?,
                "define" => self.function(true)?,
                _ => {
                    self.cursor.go_to(start);
                    return self.cursor.expected(ITEM);
                }
            }
            if self.cursor.sees("}") {
                return self.cursor.expected("the end of the line");
            }
            self.cursor.end_of_line()?;
        }
        if self.unit.files.is_empty() && !no_files {
            let source = self.unit.source.clone();
            let path = self.intern(&source);
            self.unit.files.push(path);
        }
        Ok(())
    }

    fn header(&mut self) -> Parsed<()> {
        self.unit.source = self.cursor.text("the path of the main source file")?;
        if self.cursor.eat_word("pointer") {
            self.unit.pointer_bytes = self.cursor.number("the size of a pointer")?;
        }
        self.cursor.end_of_line()
    }

    fn file(&mut self) -> Parsed<()> {
        let next = self.unit.files.next_key().0;
        let position = self.cursor.position();
        let number: u32 = self.cursor.number("the number of a file")?;
        if number != next {
            return self.cursor.error_at(position, format!("expected file {next}: files are numbered in order"));
        }
        let path = self.cursor.text("the path of a file")?;
        let path = self.intern(&path);
        self.unit.files.push(path);
        Ok(())
    }

    fn unknown_count(&mut self) -> Parsed<()> {
        let Token::Word(word) = *self.cursor.peek() else { return self.cursor.expected("why values are unknown") };
        let Some(reason) = meaning(UNKNOWN_REASONS, word) else {
            return self.cursor.expected("why values are unknown");
        };
        self.cursor.advance();
        let count = self.cursor.number("how many values are unknown")?;
        self.unit.unknowns.insert(reason, count);
        Ok(())
    }

    fn struct_type(&mut self) -> Parsed<()> {
        let id = self.struct_ref()?;
        let mut size = None;
        loop {
            if self.cursor.eat_word("size") {
                size = Some(self.cursor.number("a size in bytes")?);
            } else if self.cursor.eat_word("identity") {
                let identity = self.cursor.text("the identity of the structure")?;
                self.unit.structs[id].identity = Some(self.intern(&identity));
            } else {
                break;
            }
        }
        let mut fields = Vec::new();
        if self.cursor.eat("{") {
            self.cursor.skip_newlines();
            while !self.cursor.eat("}") {
                fields.push(self.field()?);
                self.cursor.end_of_line()?;
            }
        }
        let end = fields.iter().map(|f: &Field| f.offset.saturating_add(f.size)).max().unwrap_or(0);
        let ty = &mut self.unit.structs[id];
        ty.size = size.unwrap_or(end);
        ty.fields = fields;
        Ok(())
    }

    /// `name: offset size n base -> pointee`
    fn field(&mut self) -> Parsed<Field> {
        let nameless = self.cursor.sees_word("_");
        let name = self.cursor.name("the name of a field, or `_`")?;
        let name = if nameless { None } else { Some(self.intern(&name)) };
        self.cursor.expect(":")?;
        let offset = self.cursor.number("an offset in bytes")?;
        let size = match self.cursor.eat_word("size") {
            true => self.cursor.number("a size in bytes")?,
            false => u64::from(self.unit.pointer_bytes),
        };
        let is_base = self.cursor.eat_word("base");
        Ok(Field { offset, size, name, pointee: self.arrow_pointee()?, is_base })
    }

    fn linkage(&mut self) -> Parsed<Linkage> {
        let Token::Word(word) = *self.cursor.peek() else { return Ok(Linkage::External) };
        let Some(linkage) = meaning(LINKAGES, word) else {
            return self.cursor.expected("a linkage such as `internal`, or a symbol");
        };
        self.cursor.advance();
        Ok(linkage)
    }

    /// What the first iteration declared under the symbol that stands here.
    fn declared(&mut self) -> Parsed<Declared> {
        let position = self.cursor.position();
        let label = self.cursor.symbol_label()?;
        match self.symbols.get(&label) {
            Some(declared) => Ok(*declared),
            None => self.cursor.error_at(position, format!("@{} is not declared", label.0)),
        }
    }

    /// `name foo`, `at 0:8` or `line 8`: what a global and a function may both say.
    fn origin(&mut self, origin: &mut ItemOrigin) -> Parsed<bool> {
        if self.cursor.eat_word("name") {
            let name = self.cursor.name("the name in the source")?;
            origin.name = Some(self.intern(&name));
        } else if self.cursor.eat_word("at") {
            let first: u32 = self.cursor.number("a line, or a file and a line")?;
            let line = if self.cursor.eat(":") { Some(self.cursor.number("a line")?) } else { None };
            origin.file = Some(FileId(line.map_or(0, |_| first)));
            origin.line = line.unwrap_or(first);
        } else if self.cursor.eat_word("line") {
            origin.line = self.cursor.number("a line")?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn global(&mut self) -> Parsed<()> {
        let linkage = self.linkage()?;
        let Declared::Global(id) = self.declared()? else { return self.cursor.error("a function has this symbol") };
        let mut size = u64::from(self.unit.pointer_bytes);
        let (mut is_const, mut thread_local) = (false, false);
        let mut origin = ItemOrigin::default();
        loop {
            if self.cursor.eat_word("size") {
                size = self.cursor.number("a size in bytes")?;
            } else if self.cursor.eat_word("const") {
                is_const = true;
            } else if self.cursor.eat_word("thread_local") {
                thread_local = true;
            } else if !self.origin(&mut origin)? {
                break;
            }
        }
        let pointee = self.arrow_pointee()?;
        let init = if self.cursor.eat("=") { self.initialiser()? } else { Initialiser::Zero };
        let global = &mut self.unit.globals[id];
        (global.linkage, global.size, global.is_const, global.thread_local) = (linkage, size, is_const, thread_local);
        (global.name, global.file, global.line) = (origin.name, origin.file, origin.line);
        (global.pointee, global.init) = (pointee, init);
        Ok(())
    }

    fn initialiser(&mut self) -> Parsed<Initialiser> {
        if self.cursor.eat_word("external") {
            return Ok(Initialiser::External);
        }
        if self.cursor.eat_word("zero") {
            return Ok(Initialiser::Zero);
        }
        if !self.cursor.eat("{") {
            let text = self.cursor.text("`external`, `zero`, a string or `{`")?;
            return Ok(Initialiser::Text(self.intern(&text)));
        }
        let (mut items, mut complete) = (Vec::new(), true);
        let mut list = List::until("}");
        while self.cursor.more(&mut list)? {
            if self.cursor.eat("...") {
                complete = false;
                continue;
            }
            self.cursor.expect("+")?;
            let offset = self.cursor.number("an offset in bytes")?;
            items.push(InitItem { offset, value: self.constant(None)? });
        }
        Ok(Initialiser::Items { items, complete })
    }

    fn alias(&mut self) -> Parsed<()> {
        let linkage = self.linkage()?;
        let symbol = self.cursor.symbol()?;
        let symbol = self.intern(&symbol);
        self.cursor.expect("=")?;
        let target = match self.declared()? {
            Declared::Function(f) => AliasTarget::Function(f),
            Declared::Global(g) => AliasTarget::Global(g),
        };
        self.unit.aliases.push(Alias { symbol, linkage, target });
        Ok(())
    }

    fn function(&mut self, is_definition: bool) -> Parsed<()> {
        let linkage = self.linkage()?;
        let Declared::Function(id) = self.declared()? else { return self.cursor.error("a global has this symbol") };
        self.cursor.expect("(")?;
        let mut function = self.unit.functions[id].clone();
        (function.linkage, function.is_definition) = (linkage, is_definition);
        let param_places = self.params(&mut function)?;
        if self.cursor.eat("->") {
            function.signature.ret = self.ty()?;
        }
        self.attributes(&mut function)?;
        function.ret_pointee = self.arrow_pointee()?;
        self.unit.functions[id] = function;
        if self.cursor.eat("{") {
            let position = self.cursor.position();
            self.bodies.push(PendingBody { function: id, position, param_places });
            return self.cursor.skip_braces();
        }
        if param_places.iter().any(|p| !p.is_empty()) {
            return self.cursor.expected("a body, since the parameters have places");
        }
        Ok(())
    }

    fn params(&mut self, function: &mut Function) -> Parsed<Vec<PlaceChain>> {
        let mut places = Vec::new();
        let mut list = List::until(")");
        while self.cursor.more(&mut list)? {
            if self.cursor.eat("...") {
                function.signature.variadic = true;
                continue;
            }
            let (param, ty) = self.param()?;
            function.params.push(param);
            function.signature.params.push(ty);
            places.push(self.place()?);
        }
        Ok(places)
    }

    /// `name: type flags -> pointee`
    fn param(&mut self) -> Parsed<(Param, Type)> {
        let mut name = None;
        if *self.cursor.look(1) == Token::Mark(":") {
            let text = self.cursor.name("the name of a parameter")?;
            name = Some(self.intern(&text));
            self.cursor.expect(":")?;
        }
        let ty = self.ty()?;
        let mut flags = ParamFlags::default();
        while self.flag(PARAM_FLAGS, &mut flags) {}
        Ok((Param { name, flags, pointee: self.arrow_pointee()? }, ty))
    }

    fn attributes(&mut self, function: &mut Function) -> Parsed<()> {
        let mut origin = ItemOrigin::default();
        loop {
            if self.flag(FUNCTION_FLAGS, &mut function.flags) {
                continue;
            }
            if self.cursor.eat_word("alloc_size") {
                function.flags.alloc_size = Some(self.cursor.number("the number of a parameter")?);
            } else if self.cursor.eat_word("annotation") {
                let text = self.cursor.text("the text of an annotation")?;
                function.annotations.push(self.intern(&text));
            } else if !self.origin(&mut origin)? {
                break;
            }
        }
        (function.name, function.file, function.line) = (origin.name, origin.file, origin.line);
        Ok(())
    }

    /// Whether a flag stood here, which is set then.
    pub(super) fn flag<T>(&mut self, flags: &[Flag<T>], value: &mut T) -> bool {
        let Token::Word(word) = *self.cursor.peek() else { return false };
        let Some(flag) = flags.iter().find(|f| f.word == word) else { return false };
        (flag.set)(value);
        self.cursor.advance();
        true
    }
}

/// Where something comes from.
#[derive(Default)]
struct ItemOrigin {
    name: Option<crate::StrId>,
    file: Option<FileId>,
    line: u32,
}
