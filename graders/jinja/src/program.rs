//! Compiles a template, rewrites its instructions so that all values they create are charged, and
//! runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use minijinja::machinery::{
    Instruction, Instructions, Token, eval, get_compiled_template, make_string_output, tokenize,
};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value};

use crate::budget;
use crate::filters::{BEFORE_IN, BEFORE_SET, BEFORE_TIMES, CHARGE, CONCAT};

/// Maximum size in bytes of a constant expression, which the compiler evaluates.
const MAX_CONSTANT_BYTES: usize = 1 << 20;

/// The slot of a filter that does not use the engine's cache of filter lookups.
const NO_CACHE_SLOT: u8 = !0;

/// A compiled template that runs in bounded memory.
pub struct Program {
    instructions: Instructions<'static>,
    blocks: BTreeMap<&'static str, Instructions<'static>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

impl Program {
    /// Compiles a template. `name` is shown in errors.
    ///
    /// # Errors
    /// If the template is invalid.
    pub fn compile(
        environment: &Environment<'static>,
        name: &str,
        source: &str,
    ) -> Result<Self, Error> {
        check_constants(environment, source)?;
        let template = environment.template_from_named_str(name, source)?;
        let compiled = get_compiled_template(&template);
        let name = interned(name);
        let blocks = compiled
            .blocks
            .iter()
            .map(|(block, instructions)| (interned(block), rewritten(name, instructions)));
        Ok(Self {
            instructions: rewritten(name, &compiled.instructions),
            blocks: blocks.collect(),
        })
    }

    /// Renders the template with `root`, and also returns the value of `name` at the end.
    ///
    /// # Errors
    /// If the template raises an error, fails, or exceeds its budget.
    pub fn render(
        &self,
        environment: &Environment<'static>,
        root: Value,
        name: Option<&str>,
    ) -> Result<(String, Option<Value>), Error> {
        budget::reset();
        let mut text = String::new();
        let mut out = make_string_output(&mut text);
        let (_, state) = eval(
            environment,
            &self.instructions,
            root,
            &self.blocks,
            &mut out,
            AutoEscape::None,
        )?;
        let value = name.and_then(|name| state.lookup(name));
        if let Some(value) = &value {
            budget::size(value)?;
        }
        drop(out);
        Ok((text, value))
    }
}

/// Maximum number of tokens of one expression: the compiler recurses over the operators of an
/// expression.
const MAX_TOKENS: usize = 4_000;

/// Rejects expressions that are too long, and large multiplications of literal texts and tuples:
/// the compiler evaluates them, and its only limit is 100 MB for each.
fn check_constants(environment: &Environment<'static>, source: &str) -> Result<(), Error> {
    let (mut factor, mut length, mut multiplies, mut previous) =
        (1_usize, 0_usize, false, TokenClass::Other);
    let mut tokens = 0;
    for token in tokenize(source, false, environment.syntax().clone()) {
        // The compiler reports invalid tokens.
        let Ok((token, _)) = token else { break };
        let mut current = TokenClass::Other;
        tokens += 1;
        if tokens > MAX_TOKENS {
            let message =
                format!("an expression in the template has more than {MAX_TOKENS} tokens");
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        match token {
            Token::VariableStart | Token::BlockStart => {
                (factor, length, multiplies, tokens) = (1, 0, false, 0);
            }
            Token::Int(number) => {
                factor =
                    factor.saturating_mul(usize::try_from(number).unwrap_or(usize::MAX).max(1));
            }
            Token::Int128(_) | Token::Pow => factor = usize::MAX,
            Token::Str(text) => (length, current) = (length + text.len(), TokenClass::Constant),
            Token::String(text) => (length, current) = (length + text.len(), TokenClass::Constant),
            Token::Comma => length += budget::VALUE_BYTES,
            // A parenthesised expression may be a text or a tuple.
            Token::ParenOpen | Token::ParenClose => current = TokenClass::Constant,
            Token::Mul => {
                multiplies |= previous == TokenClass::Constant;
                current = TokenClass::Times;
            }
            Token::VariableEnd | Token::BlockEnd
                if multiplies && factor.saturating_mul(length) > MAX_CONSTANT_BYTES =>
            {
                let message = "a constant expression in the template exceeds 1 MiB";
                return Err(Error::new(ErrorKind::InvalidOperation, message));
            }
            _ => {}
        }
        multiplies |= previous == TokenClass::Times && current == TokenClass::Constant;
        previous = current;
    }
    Ok(())
}

/// The class of a token, to find multiplications with a constant text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenClass {
    /// A text, or a parenthesis, which may contain one.
    Constant,
    /// `*`.
    Times,
    /// Anything else.
    Other,
}

/// Interns a name for the lifetime of the process, because instructions borrow names. The memory is
/// bounded by the number of distinct names in templates.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(existing) = names.get(name) {
        return existing;
    }
    let leaked: &'static str = Box::leak(name.into());
    names.insert(leaked);
    leaked
}

/// The instructions with charging instructions inserted and jump targets adjusted.
fn rewritten(name: &'static str, old: &Instructions<'_>) -> Instructions<'static> {
    let mut parts = Vec::new();
    while let Some(instruction) = u32::try_from(parts.len()).ok().and_then(|at| old.get(at)) {
        parts.push(charged(instruction));
    }
    // The new position of each instruction, and the end of the last.
    let mut positions = vec![0];
    for part in &parts {
        positions
            .push(positions.last().copied().unwrap_or(0) + u32::try_from(part.len()).unwrap_or(0));
    }
    let new_target = |target: u32| {
        positions
            .get(target as usize)
            .or(positions.last())
            .copied()
            .unwrap_or(0)
    };
    let mut new = Instructions::new(name, "");
    for (at, part) in parts.into_iter().enumerate() {
        let line = u32::try_from(at)
            .ok()
            .and_then(|at| old.get_line(at))
            .and_then(|line| u16::try_from(line).ok());
        for instruction in part {
            let instruction = match instruction {
                Instruction::Iterate(target) => Instruction::Iterate(new_target(target)),
                Instruction::Jump(target) => Instruction::Jump(new_target(target)),
                Instruction::JumpIfFalse(target) => Instruction::JumpIfFalse(new_target(target)),
                Instruction::JumpIfFalseOrPop(target) => {
                    Instruction::JumpIfFalseOrPop(new_target(target))
                }
                Instruction::JumpIfTrueOrPop(target) => {
                    Instruction::JumpIfTrueOrPop(new_target(target))
                }
                Instruction::BuildMacro(name, target, flags) => {
                    Instruction::BuildMacro(name, new_target(target), flags)
                }
                other => other,
            };
            match line {
                Some(line) => new.add_with_line(instruction, line),
                None => new.add(instruction),
            };
        }
    }
    new
}

/// An instruction with the charging instructions before and after it. Jump targets are not adjusted
/// yet.
fn charged(instruction: &Instruction<'_>) -> Vec<Instruction<'static>> {
    use Instruction as I;
    let filter = |name, arguments| I::ApplyFilter(name, Some(arguments), NO_CACHE_SLOT);
    let checked = |name, instruction| vec![filter(name, 2), I::UnpackList(2), instruction];
    let charge_value = |instruction| vec![instruction, filter(CHARGE, 1)];
    let own = match instruction {
        I::EmitRaw(text) => {
            return vec![
                I::LoadConst(Value::from_safe_string((*text).to_owned())),
                I::Emit,
            ];
        }
        I::StringConcat => return vec![filter(CONCAT, 2)],
        I::Mul => {
            return vec![
                filter(BEFORE_TIMES, 2),
                I::UnpackList(2),
                I::Mul,
                filter(CHARGE, 1),
            ];
        }
        I::In => return checked(BEFORE_IN, I::In),
        I::CompareAndPreserve(compared) => {
            return checked(BEFORE_IN, I::CompareAndPreserve(*compared));
        }
        I::SetAttr(name) => return checked(BEFORE_SET, I::SetAttr(interned(name))),
        I::Add => return charge_value(I::Add),
        I::Slice => return charge_value(I::Slice),
        I::BuildMap(pairs) => return charge_value(I::BuildMap(*pairs)),
        I::BuildList(values) => return charge_value(I::BuildList(*values)),
        I::BuildTuple(values) => return charge_value(I::BuildTuple(*values)),
        I::BuildMacro(name, target, flags) => {
            return charge_value(I::BuildMacro(interned(name), *target, *flags));
        }
        I::StoreLocal(name) => I::StoreLocal(interned(name)),
        I::Lookup(name) => I::Lookup(interned(name)),
        I::GetAttr(name) => I::GetAttr(interned(name)),
        I::ApplyFilter(name, arguments, cache_slot) => {
            I::ApplyFilter(interned(name), *arguments, *cache_slot)
        }
        I::PerformTest(name, arguments, cache_slot) => {
            I::PerformTest(interned(name), *arguments, *cache_slot)
        }
        I::CallFunction(name, arguments) => I::CallFunction(interned(name), *arguments),
        I::CallMethod(name, arguments) => I::CallMethod(interned(name), *arguments),
        I::CallObject(arguments) => I::CallObject(*arguments),
        I::CallBlock(name) => I::CallBlock(interned(name)),
        I::Enclose(name) => I::Enclose(interned(name)),
        I::LoadConst(value) => I::LoadConst(value.clone()),
        I::BuildKwargs(pairs) => I::BuildKwargs(*pairs),
        I::MergeKwargs(count) => I::MergeKwargs(*count),
        I::UnpackList(count) => I::UnpackList(*count),
        I::UnpackLists(count) => I::UnpackLists(*count),
        I::PushLoop(flags) => I::PushLoop(*flags),
        I::Iterate(target) => I::Iterate(*target),
        I::Jump(target) => I::Jump(*target),
        I::JumpIfFalse(target) => I::JumpIfFalse(*target),
        I::JumpIfFalseOrPop(target) => I::JumpIfFalseOrPop(*target),
        I::JumpIfTrueOrPop(target) => I::JumpIfTrueOrPop(*target),
        I::BeginCapture(mode) => I::BeginCapture(*mode),
        I::Include(ignore_missing) => I::Include(*ignore_missing),
        I::GetItem => I::GetItem,
        I::Sub => I::Sub,
        I::Div => I::Div,
        I::IntDiv => I::IntDiv,
        I::Rem => I::Rem,
        I::Pow => I::Pow,
        I::Neg => I::Neg,
        I::Eq => I::Eq,
        I::Ne => I::Ne,
        I::Gt => I::Gt,
        I::Gte => I::Gte,
        I::Lt => I::Lt,
        I::Lte => I::Lte,
        I::Not => I::Not,
        I::Emit => I::Emit,
        I::PushWith => I::PushWith,
        I::PushDidNotIterate => I::PushDidNotIterate,
        I::PopFrame => I::PopFrame,
        I::PopLoopFrame => I::PopLoopFrame,
        I::PushAutoEscape => I::PushAutoEscape,
        I::PopAutoEscape => I::PopAutoEscape,
        I::EndCapture => I::EndCapture,
        I::DupTop => I::DupTop,
        I::DiscardTop => I::DiscardTop,
        I::FastSuper => I::FastSuper,
        I::FastRecurse => I::FastRecurse,
        I::Swap => I::Swap,
        I::LoadBlocks => I::LoadBlocks,
        I::ExportLocals => I::ExportLocals,
        I::Return => I::Return,
        I::IsUndefined => I::IsUndefined,
        I::GetClosure => I::GetClosure,
    };
    vec![own]
}
