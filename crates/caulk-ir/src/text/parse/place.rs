//! Places: `@ 9:22`, `@ 1:9:22`, `@ 9:22 inlined helper at 14:3`.

use crate::entity::{FileId, StrId};
use crate::text::error::Parsed;

use super::Parser;

/// A place, and the calls it was inlined through, innermost first. Empty: no place is said.
pub(super) type PlaceChain = Vec<Link>;

pub(super) struct Link {
    /// None: the file of the function.
    pub file: Option<FileId>,
    pub line: u32,
    pub column: u32,
    /// The function this position was inlined from, into the next one.
    pub function: Option<StrId>,
}

impl Parser<'_> {
    /// The place at the end of an instruction or a parameter, if there is one.
    pub(super) fn place(&mut self) -> Parsed<PlaceChain> {
        let mut chain = Vec::new();
        if !self.cursor.eat("@") {
            return Ok(chain);
        }
        loop {
            let mut link = self.link()?;
            let inlined = self.cursor.eat_word("inlined");
            if inlined {
                let name = self.cursor.name("the name of an inlined function")?;
                link.function = Some(self.intern(&name));
                self.cursor.expect_word("at")?;
            }
            chain.push(link);
            if !inlined {
                return Ok(chain);
            }
        }
    }

    fn link(&mut self) -> Parsed<Link> {
        let first = self.cursor.number("a line and a column")?;
        self.cursor.expect(":")?;
        let second = self.cursor.number("a column")?;
        if !self.cursor.eat(":") {
            return Ok(Link { file: None, line: first, column: second, function: None });
        }
        let column = self.cursor.number("a column")?;
        Ok(Link { file: Some(FileId(first)), line: second, column, function: None })
    }
}
