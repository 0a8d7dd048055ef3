//! `caulk ir`: prints core IR.

use std::io::Write;

use caulk_ir::text;

use crate::arguments::IrOptions;
use crate::error::{Error, Exit};
use crate::input;
use crate::output::Output;

pub(crate) fn run(options: &IrOptions) -> Result<Exit, Error> {
    let read = input::read_given(&options.input)?;
    let mut out = Output::new();
    match &options.function {
        None => {
            for unit in &read.units {
                out.write_all(text::print_unit(&unit.unit.unpack()).as_bytes())?;
            }
        }
        Some(name) => print_function(&read, name, &mut out)?,
    }
    Ok(read.exit())
}

fn print_function(read: &input::Read, name: &str, out: &mut impl Write) -> Result<(), Error> {
    let mut found = false;
    for packed in read.units.iter().map(|u| &u.unit) {
        for id in packed.unit.functions.keys() {
            if packed.unit.function_name(id) != name && packed.unit.symbol(id) != name {
                continue;
            }
            if let Some(body) = packed.body(id) {
                found = true;
                out.write_all(text::print_function(&packed.unit, id, &body).as_bytes())?;
            }
        }
    }
    if found { Ok(()) } else { Err(Error::NoSuchFunction(name.to_owned(), String::new())) }
}
