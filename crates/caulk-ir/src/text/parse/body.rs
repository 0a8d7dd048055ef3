//! The third round: the body of a function, line by line.
//!
//! Values and blocks may be used before they are defined. Each gets a provisional number where it is first mentioned, and
//! once the body is read, every mention is given the real one.

use std::collections::HashMap;

use crate::body::{Block, Body, Variable};
use crate::constant::Constant;
use crate::entity::{BlockId, ConstId, Entity, FileId, FunctionId, InstId, PlaceId, VarId};
use crate::inst::{Inst, Operand};
use crate::place::{Inlined, Place};
use crate::text::error::Parsed;
use crate::text::label::is_identifier;
use crate::text::lexer::Token;
use crate::types::{Pointee, Type};

use super::cursor::Label;
use super::place::{Link, PlaceChain};
use super::{Parser, PendingBody};

/// Names that stand for something defined elsewhere in the body.
struct Mentions<T> {
    numbers: HashMap<String, usize>,
    items: Vec<Mention<T>>,
}

struct Mention<T> {
    name: String,
    /// Of the first mention, for messages.
    position: usize,
    defined: Option<T>,
}

impl<T: Copy> Mentions<T> {
    fn new() -> Self {
        Self { numbers: HashMap::new(), items: Vec::new() }
    }

    fn mention(&mut self, name: &str, position: usize) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.items.len();
        self.numbers.insert(name.to_owned(), number);
        self.items.push(Mention { name: name.to_owned(), position, defined: None });
        number
    }

    /// False when the name is defined already.
    fn define(&mut self, name: &str, position: usize, as_what: T) -> bool {
        let number = self.mention(name, position);
        let fresh = self.items[number].defined.is_none();
        self.items[number].defined = Some(as_what);
        fresh
    }
}

pub(super) struct BodyParser<'p, 'a> {
    pub parser: &'p mut Parser<'a>,
    body: Body,
    function: FunctionId,
    pub ret: Type,
    /// The file of places that name none.
    file: FileId,
    values: Mentions<InstId>,
    blocks: Mentions<BlockId>,
    vars: HashMap<Label, VarId>,
    consts: HashMap<Constant, ConstId>,
    places: HashMap<Place, PlaceId>,
}

impl Parser<'_> {
    pub(super) fn body(&mut self, pending: PendingBody) -> Parsed<()> {
        self.cursor.go_to(pending.position);
        let function = &self.unit.functions[pending.function];
        let (ret, file) = (function.signature.ret, function.file.unwrap_or(FileId(0)));
        let mut parser = BodyParser {
            parser: self,
            body: Body::default(),
            function: pending.function,
            ret,
            file,
            values: Mentions::new(),
            blocks: Mentions::new(),
            vars: HashMap::new(),
            consts: HashMap::new(),
            places: HashMap::new(),
        };
        parser.params(pending.param_places);
        parser.lines()?;
        parser.resolve()?;
        let body = parser.body;
        self.unit.functions[pending.function].body = Some(body);
        Ok(())
    }
}

impl BodyParser<'_, '_> {
    /// Parameters are values `%0`, `%1` and so on, and also go by their names.
    fn params(&mut self, places: Vec<PlaceChain>) {
        let function = self.parser.unit.functions[self.function].clone();
        let position = self.parser.cursor.position();
        for (index, place) in places.into_iter().enumerate() {
            let id = self.push(Inst::Param { index: index as u32, ty: function.signature.params[index] }, place);
            self.values.define(&index.to_string(), position, id);
        }
        for (index, param) in function.params.iter().enumerate() {
            let name = param.name.map_or("", |n| self.parser.unit.str(n));
            if is_identifier(name) && !self.values.numbers.contains_key(name) {
                self.values.define(name, position, InstId::from_index(index));
            }
        }
    }

    fn push(&mut self, inst: Inst, place: PlaceChain) -> InstId {
        let place = self.intern_place(place);
        self.body.inst_places.push(place);
        self.body.insts.push(inst)
    }

    fn intern_place(&mut self, mut chain: PlaceChain) -> PlaceId {
        if chain.is_empty() {
            chain.push(Link { file: None, line: 0, column: 0, function: None });
        }
        let mut outer: Option<PlaceId> = None;
        for link in chain.into_iter().rev() {
            let inlined = link.function.zip(outer).map(|(function, at)| Inlined { function, at });
            let file = link.file.unwrap_or(self.file);
            let place = Place { file, line: link.line, column: link.column, inlined };
            outer = Some(*self.places.entry(place).or_insert_with(|| self.body.places.push(place)));
        }
        outer.expect("a chain has at least one link")
    }

    fn lines(&mut self) -> Parsed<()> {
        self.parser.cursor.skip_newlines();
        while !self.parser.cursor.eat("}") {
            if self.parser.cursor.eat_word("var") {
                self.variable()?;
            } else if *self.parser.cursor.look(1) == Token::Mark(":") {
                self.block_label()?;
                self.parser.cursor.skip_newlines();
                continue;
            } else {
                self.instruction()?;
            }
            self.parser.cursor.end_of_line()?;
        }
        self.close_block();
        Ok(())
    }

    fn close_block(&mut self) {
        let end = self.body.insts.next_key();
        if let Some(block) = self.body.blocks.values_mut().next_back() {
            block.end = end;
        }
    }

    fn block_label(&mut self) -> Parsed<()> {
        let position = self.parser.cursor.position();
        let Token::Word(name) = *self.parser.cursor.peek() else {
            return self.parser.cursor.expected("the name of a block");
        };
        self.parser.cursor.advance();
        self.parser.cursor.expect(":")?;
        self.open_block(name, position)
    }

    fn open_block(&mut self, name: &str, position: usize) -> Parsed<()> {
        self.close_block();
        let first = self.body.insts.next_key();
        let id = self.body.blocks.push(Block { first, end: first });
        if !self.blocks.define(name, position, id) {
            return self.parser.cursor.error_at(position, format!("block {name} is defined twice"));
        }
        Ok(())
    }

    /// `%name = operation @ place`
    fn instruction(&mut self) -> Parsed<()> {
        let position = self.parser.cursor.position();
        if self.body.blocks.is_empty() {
            // The first block needs no label: nothing can go back to it anyway.
            self.open_block("", position)?;
        }
        let mut name = None;
        if let Token::Value(value) = *self.parser.cursor.peek() {
            name = Some(value);
            self.parser.cursor.advance();
            self.parser.cursor.expect("=")?;
        }
        let inst = self.operation()?;
        let has_value = inst.result_type() != Type::Void;
        let place = self.parser.place()?;
        let id = self.push(inst, place);
        let Some(name) = name else { return Ok(()) };
        if !has_value {
            return self.parser.cursor.error_at(position, format!("%{name} has no value: the instruction makes none"));
        }
        if !self.values.define(name, position, id) {
            return self.parser.cursor.error_at(position, format!("%{name} is defined twice"));
        }
        Ok(())
    }

    /// `var name param 0 line 8 -> pointee`
    fn variable(&mut self) -> Parsed<()> {
        let position = self.parser.cursor.position();
        let label = self.parser.cursor.label("the name of a variable")?;
        if self.vars.contains_key(&label) {
            return self.parser.cursor.error_at(position, format!("variable {} is declared twice", label.0));
        }
        let param = match self.parser.cursor.eat_word("param") {
            true => Some(self.parser.cursor.number("the number of a parameter")?),
            false => None,
        };
        let line = if self.parser.cursor.eat_word("line") { self.parser.cursor.number("a line")? } else { 0 };
        let pointee = self.parser.arrow_pointee()?;
        self.declare_variable(label, param, line, pointee);
        Ok(())
    }

    fn declare_variable(&mut self, label: Label, param: Option<u32>, line: u32, pointee: Pointee) -> VarId {
        let name = self.parser.intern(&label.0);
        let id = self.body.vars.push(Variable { name, param, line, pointee });
        self.vars.insert(label, id);
        id
    }

    /// A variable that is not declared is one without a line; or the parameter of that name.
    pub(super) fn var(&mut self) -> Parsed<VarId> {
        let position = self.parser.cursor.position();
        let label = self.parser.cursor.label("the name of a variable")?;
        if let Some(id) = self.vars.get(&label) {
            return Ok(*id);
        }
        if label.1 != 1 {
            return self.parser.cursor.error_at(position, format!("there is no variable {}#{}", label.0, label.1));
        }
        let params = &self.parser.unit.functions[self.function].params;
        let named = params.iter().position(|p| p.name.is_some_and(|n| self.parser.unit.str(n) == label.0));
        let pointee = named.map_or(Pointee::default(), |i| params[i].pointee);
        Ok(self.declare_variable(label, named.map(|i| i as u32), 0, pointee))
    }

    pub(super) fn operand(&mut self, context: Option<Type>) -> Parsed<Operand> {
        if let Token::Value(_) = self.parser.cursor.peek() {
            return Ok(Operand::Value(self.value()?));
        }
        let constant = self.parser.constant(context)?;
        Ok(self.intern_constant(constant))
    }

    pub(super) fn intern_constant(&mut self, constant: Constant) -> Operand {
        Operand::Const(*self.consts.entry(constant).or_insert_with(|| self.body.consts.push(constant)))
    }

    /// The provisional number of a value.
    pub(super) fn value(&mut self) -> Parsed<InstId> {
        let Token::Value(name) = *self.parser.cursor.peek() else {
            return self.parser.cursor.expected("a value such as `%3`");
        };
        let number = self.values.mention(name, self.parser.cursor.position());
        self.parser.cursor.advance();
        Ok(InstId::from_index(number))
    }

    /// The provisional number of a block.
    pub(super) fn block(&mut self) -> Parsed<BlockId> {
        let Token::Word(name) = *self.parser.cursor.peek() else {
            return self.parser.cursor.expected("the name of a block");
        };
        let number = self.blocks.mention(name, self.parser.cursor.position());
        self.parser.cursor.advance();
        Ok(BlockId::from_index(number))
    }

    fn resolve(&mut self) -> Parsed<()> {
        let values = self.definitions(&self.values, "value %")?;
        let blocks = self.definitions(&self.blocks, "block ")?;
        for inst in self.body.insts.values_mut() {
            inst.for_each_operand_mut(|operand| {
                if let Operand::Value(value) = operand {
                    *value = values[value.index()];
                }
            });
            inst.for_each_successor_mut(|block| *block = blocks[block.index()]);
            match inst {
                Inst::ScopeStart { local } | Inst::ScopeEnd { local } => *local = values[local.index()],
                Inst::Phi { incoming, .. } => incoming.iter_mut().for_each(|i| i.0 = blocks[i.0.index()]),
                _ => {}
            }
        }
        Ok(())
    }

    fn definitions<T: Copy>(&self, mentions: &Mentions<T>, what: &str) -> Parsed<Vec<T>> {
        let defined = mentions.items.iter().map(|mention| match mention.defined {
            Some(id) => Ok(id),
            None => self.parser.cursor.error_at(mention.position, format!("{what}{} is not defined", mention.name)),
        });
        defined.collect()
    }
}
