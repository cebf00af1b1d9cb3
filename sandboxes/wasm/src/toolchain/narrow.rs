//! Rewrites modules with a 64-bit memory for a 32-bit memory.
//!
//! C and C++ programs expect 64-bit pointers and sizes, but the engine must check each access to a
//! 64-bit memory against its bounds. All addresses of a program are below 4 GiB, so its pointers
//! keep 64 bits in its own code, and only the instructions that use addresses are changed. Accesses
//! then need no checks, because the engine reserves 4 GiB of addresses for a 32-bit memory.
//!
//! The memory starts at address [`LOW`] of the program, so that null pointers and small offsets
//! from them trap.

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, EntityType, Function, GlobalSection,
    GlobalType, ImportSection, Instruction, MemorySection, MemoryType, Module, TableType, ValType,
};
use wasmparser::{CompositeInnerType, DataKind, ElementKind, Operator, Parser, Payload};
use wasmtime::{Result, bail, format_err};

/// Addresses below this one do not exist.
pub(super) const LOW: u64 = PAGE;

/// Size of a page of memory.
pub(super) const PAGE: u64 = 1 << 16;

/// Pages that a 32-bit memory can have.
const MAX_PAGES: i64 = 1 << 16;

/// Instructions that are inserted before each `throw`. They do nothing but cost work (`engine.rs`):
/// finding the handler of an exception takes about a microsecond, and a single instruction cannot
/// cost that much.
const NOPS_PER_THROW: usize = 40;

/// Name of the module from which programs import the library.
pub(super) const LIBRARY: &str = "env";

/// The kind of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModuleKind {
    /// The library, which defines the memory and the stack pointer.
    Library,
    /// A program as the linker wrote it. Its own memory and stack pointer, which is its first
    /// global, become imports from the library.
    Program,
}

/// A rewritten module.
pub(super) struct Narrowed {
    pub(super) module: Vec<u8>,
    /// Minimum number of elements of the table.
    pub(super) elements: u64,
}

/// Rewrites a module.
///
/// # Errors
/// If the module uses features that C and C++ compilers do not emit.
pub(super) fn narrow(module: &[u8], kind: ModuleKind) -> Result<Narrowed> {
    let mut narrower = Narrower::read(module, kind)?;
    let mut narrowed = Module::new();
    narrower
        .parse_core_module(&mut narrowed, Parser::new(0), module)
        .map_err(|error| format_err!("{error}"))?;
    Ok(Narrowed {
        module: narrowed.finish(),
        elements: narrower.elements,
    })
}

struct Narrower {
    kind: ModuleKind,
    /// Number of parameters of each defined function.
    parameters: Vec<u32>,
    /// The function whose body comes next.
    next: usize,
    pages: u64,
    elements: u64,
    has_globals: bool,
}

/// Why a module is not rewritten.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the module uses {0}, which is not supported")]
struct Unsupported(&'static str);

type Encoded<T = ()> = std::result::Result<T, Error<Unsupported>>;

fn unsupported<T>(what: &'static str) -> Encoded<T> {
    Err(Error::UserError(Unsupported(what)))
}

impl Narrower {
    /// Reads what must be known before the module is rewritten.
    fn read(module: &[u8], kind: ModuleKind) -> Result<Self> {
        let (mut types, mut parameters) = (Vec::new(), Vec::new());
        let (mut pages, mut has_globals, mut has_imports) = (None, false, false);
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => {
                    for group in section {
                        types.extend(group?.into_types().map(
                            |kind| match kind.composite_type.inner {
                                CompositeInnerType::Func(function) => function.params().len(),
                                _ => 0,
                            },
                        ));
                    }
                }
                Payload::ImportSection(section) => has_imports = section.count() > 0,
                Payload::FunctionSection(section) => {
                    for index in section {
                        let count = types.get(index? as usize).copied().unwrap_or_default();
                        parameters.push(u32::try_from(count)?);
                    }
                }
                Payload::MemorySection(section) => {
                    for memory in section {
                        pages = Some(memory?.initial);
                    }
                }
                Payload::GlobalSection(section) => has_globals = section.count() > 0,
                _ => {}
            }
        }
        let pages = pages.and_then(|pages| pages.checked_sub(LOW / PAGE));
        let Some(pages) = pages.filter(|pages| *pages <= MAX_PAGES.cast_unsigned()) else {
            bail!("the global variables do not fit into the memory");
        };
        if kind == ModuleKind::Program && !has_imports {
            bail!("the program imports nothing");
        }
        Ok(Self {
            kind,
            parameters,
            next: 0,
            pages,
            elements: 0,
            has_globals,
        })
    }

    fn imports_stack_pointer(&self) -> bool {
        self.kind == ModuleKind::Program && self.has_globals
    }

    fn memory(&self) -> MemoryType {
        MemoryType {
            minimum: self.pages,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        }
    }
}

impl Reencode for Narrower {
    type Error = Unsupported;

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Encoded {
        utils::parse_import_section(self, imports, section)?;
        if self.kind == ModuleKind::Program {
            imports.import(LIBRARY, "memory", self.memory());
        }
        if self.imports_stack_pointer() {
            let stack_pointer = GlobalType {
                val_type: ValType::I64,
                mutable: true,
                shared: false,
            };
            imports.import(LIBRARY, "__stack_pointer", stack_pointer);
        }
        Ok(())
    }

    fn entity_type(&mut self, kind: wasmparser::TypeRef) -> Encoded<EntityType> {
        match kind {
            // An imported global would change the index of the stack pointer.
            wasmparser::TypeRef::Global(_) => unsupported("an imported global"),
            wasmparser::TypeRef::Memory(_) => unsupported("an imported memory"),
            kind => utils::entity_type(self, kind),
        }
    }

    fn table_type(&mut self, kind: wasmparser::TableType) -> Encoded<TableType> {
        self.elements = kind.initial;
        let table = utils::table_type(self, kind)?;
        Ok(TableType {
            table64: false,
            ..table
        })
    }

    fn parse_memory_section(
        &mut self,
        memories: &mut MemorySection,
        _: wasmparser::MemorySectionReader<'_>,
    ) -> Encoded {
        if self.kind == ModuleKind::Library {
            memories.memory(self.memory());
        }
        Ok(())
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Encoded {
        for global in section
            .into_iter()
            .skip(usize::from(self.imports_stack_pointer()))
        {
            self.parse_global(globals, global?)?;
        }
        Ok(())
    }

    fn parse_element(
        &mut self,
        elements: &mut ElementSection,
        element: wasmparser::Element<'_>,
    ) -> Encoded {
        let ElementKind::Active { offset_expr, .. } = &element.kind else {
            return unsupported("a passive element segment");
        };
        let offset = constant(offset_expr)?;
        let items = self.element_items(element.items)?;
        elements.active(None, &ConstExpr::i32_const(address(offset)?), items);
        Ok(())
    }

    fn parse_data(&mut self, data: &mut DataSection, segment: wasmparser::Data<'_>) -> Encoded {
        let DataKind::Active { offset_expr, .. } = &segment.kind else {
            return unsupported("a passive data segment");
        };
        let offset = constant(offset_expr)?.checked_sub(LOW);
        let Some(offset) = offset else {
            return unsupported("data at the null pointer");
        };
        let offset = ConstExpr::i32_const(address(offset)?);
        data.active(0, &offset, segment.data.iter().copied());
        Ok(())
    }

    fn mem_arg(&mut self, argument: wasmparser::MemArg) -> Encoded<wasm_encoder::MemArg> {
        let argument = wasmparser::MemArg {
            offset: argument.offset.saturating_sub(LOW),
            ..argument
        };
        utils::mem_arg(self, argument)
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: wasmparser::FunctionBody<'_>,
    ) -> Encoded {
        let parameters = self.parameters.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        let (mut locals, mut count) = (Vec::new(), parameters);
        for local in body.get_locals_reader()? {
            let (number, kind) = local?;
            count += number;
            locals.push((number, self.val_type(kind)?));
        }
        let scratch = Scratch { first: count };
        let mut instructions = Vec::new();
        let mut uses_scratch = false;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            uses_scratch |= self.rewrite(operator, scratch, &mut instructions)?;
        }
        if uses_scratch {
            locals.extend(Scratch::TYPES.map(|kind| (1, kind)));
        }
        let mut function = Function::new(locals);
        instructions.iter().for_each(|instruction| {
            function.instruction(instruction);
        });
        code.function(&function);
        Ok(())
    }

    /// Drops names and debug information, which would only make modules larger.
    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: wasmparser::CustomSectionReader<'_>,
    ) -> Encoded {
        Ok(())
    }
}

/// Additional local variables of a function.
#[derive(Clone, Copy)]
struct Scratch {
    first: u32,
}

impl Scratch {
    const TYPES: [ValType; 6] = [
        ValType::I32,
        ValType::I32,
        ValType::I64,
        ValType::F32,
        ValType::F64,
        ValType::V128,
    ];
    const FIRST_I32: u32 = 0;
    const SECOND_I32: u32 = 1;
    const I64: u32 = 2;

    fn local(self, at: u32) -> u32 {
        self.first + at
    }
}

/// How an instruction uses an address.
enum Access {
    /// The address is on top of the stack.
    Load,
    /// The address is below a value, which is kept in this scratch variable meanwhile.
    Store(u32),
}

impl Narrower {
    /// Appends the instructions for an operator. Returns whether they use the scratch variables.
    fn rewrite<'a>(
        &mut self,
        operator: Operator<'a>,
        scratch: Scratch,
        code: &mut Vec<Instruction<'a>>,
    ) -> Encoded<bool> {
        if let Some((access, argument)) = access(&operator) {
            if argument.offset.saturating_sub(LOW) > u64::from(u32::MAX) {
                // Such an address is never valid. Compilers fold invalid constant addresses into
                // the offset.
                code.push(Instruction::Unreachable);
                return Ok(false);
            }
            let shift = argument.offset < LOW;
            // Between -64 KiB and -1, so it fits in 32 bits.
            let shift = shift.then(|| (argument.offset.cast_signed() - LOW.cast_signed()) as i32);
            let instruction = self.instruction(operator)?;
            let value = match access {
                Access::Load => None,
                Access::Store(local) => Some(scratch.local(local)),
            };
            code.extend(value.map(Instruction::LocalSet));
            code.push(Instruction::I32WrapI64);
            if let Some(shift) = shift {
                code.extend([Instruction::I32Const(shift), Instruction::I32Add]);
            }
            code.extend(value.map(Instruction::LocalGet));
            code.push(instruction);
            return Ok(value.is_some());
        }
        let first = scratch.local(Scratch::FIRST_I32);
        let second = scratch.local(Scratch::SECOND_I32);
        let long = scratch.local(Scratch::I64);
        match operator {
            Operator::CallIndirect { .. } | Operator::ReturnCallIndirect { .. } => {
                code.push(Instruction::I32WrapI64);
                code.push(self.instruction(operator)?);
                Ok(false)
            }
            Operator::MemorySize { .. } => {
                code.extend([
                    self.instruction(operator)?,
                    Instruction::I64ExtendI32U,
                    Instruction::I64Const((LOW / PAGE).cast_signed()),
                    Instruction::I64Add,
                ]);
                Ok(false)
            }
            Operator::MemoryGrow { .. } => {
                let grow = self.instruction(operator)?;
                clamp(code, long, MAX_PAGES);
                // The previous size, with the page that the narrow memory lacks, or -1.
                code.extend([
                    grow,
                    Instruction::I64ExtendI32S,
                    Instruction::LocalTee(long),
                    Instruction::I64Const((LOW / PAGE).cast_signed()),
                    Instruction::I64Add,
                    Instruction::I64Const(-1),
                    Instruction::LocalGet(long),
                    Instruction::I64Const(0),
                    Instruction::I64GeS,
                    Instruction::Select,
                ]);
                Ok(true)
            }
            Operator::MemoryFill { .. } => {
                clamp(code, long, i64::from(u32::MAX));
                code.extend([Instruction::LocalSet(first), Instruction::LocalSet(second)]);
                narrow_address(code);
                code.extend([Instruction::LocalGet(second), Instruction::LocalGet(first)]);
                code.push(self.instruction(operator)?);
                Ok(true)
            }
            Operator::MemoryCopy { .. } => {
                clamp(code, long, i64::from(u32::MAX));
                code.push(Instruction::LocalSet(first));
                narrow_address(code);
                code.push(Instruction::LocalSet(second));
                narrow_address(code);
                code.extend([Instruction::LocalGet(second), Instruction::LocalGet(first)]);
                code.push(self.instruction(operator)?);
                Ok(true)
            }
            Operator::Throw { .. } | Operator::ThrowRef => {
                code.extend(std::iter::repeat_n(Instruction::Nop, NOPS_PER_THROW));
                code.push(self.instruction(operator)?);
                Ok(false)
            }
            Operator::MemoryInit { .. } | Operator::DataDrop { .. } => {
                unsupported("a passive data segment")
            }
            Operator::TableGet { .. }
            | Operator::TableSet { .. }
            | Operator::TableGrow { .. }
            | Operator::TableSize { .. }
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. } => unsupported("a table instruction"),
            other => {
                code.push(self.instruction(other)?);
                Ok(false)
            }
        }
    }
}

/// Converts a number on the stack to 32 bits. A number above `most` becomes `u32::MAX`, with which
/// the next instruction fails.
fn clamp(code: &mut Vec<Instruction<'_>>, scratch: u32, most: i64) {
    code.extend([
        Instruction::LocalTee(scratch),
        Instruction::I32WrapI64,
        Instruction::I32Const(-1),
        Instruction::LocalGet(scratch),
        Instruction::I64Const(most),
        Instruction::I64LeU,
        Instruction::Select,
    ]);
}

/// Converts an address on the stack to one of the 32-bit memory.
fn narrow_address(code: &mut Vec<Instruction<'_>>) {
    code.extend([
        Instruction::I32WrapI64,
        Instruction::I32Const(-(1 << 16)),
        Instruction::I32Add,
    ]);
}

/// The value of the offset of a segment.
fn constant(expression: &wasmparser::ConstExpr<'_>) -> Encoded<u64> {
    match expression.get_operators_reader().read()? {
        Operator::I64Const { value } => Ok(value.cast_unsigned()),
        Operator::I32Const { value } => Ok(u64::from(value.cast_unsigned())),
        _ => unsupported("a computed offset"),
    }
}

fn address(value: u64) -> Encoded<i32> {
    match u32::try_from(value) {
        Ok(value) => Ok(value.cast_signed()),
        Err(_) => unsupported("an address above 4 GiB"),
    }
}

/// How an operator accesses the memory, and its argument; `None` if it does not.
fn access(operator: &Operator<'_>) -> Option<(Access, wasmparser::MemArg)> {
    const LONG: Access = Access::Store(Scratch::I64);
    const INT: Access = Access::Store(Scratch::FIRST_I32);
    const FLOAT: Access = Access::Store(3);
    const DOUBLE: Access = Access::Store(4);
    const VECTOR: Access = Access::Store(5);
    use Operator as O;
    Some(match operator {
        O::I32Load { memarg }
        | O::I64Load { memarg }
        | O::F32Load { memarg }
        | O::F64Load { memarg }
        | O::I32Load8S { memarg }
        | O::I32Load8U { memarg }
        | O::I32Load16S { memarg }
        | O::I32Load16U { memarg }
        | O::I64Load8S { memarg }
        | O::I64Load8U { memarg }
        | O::I64Load16S { memarg }
        | O::I64Load16U { memarg }
        | O::I64Load32S { memarg }
        | O::I64Load32U { memarg }
        | O::V128Load { memarg }
        | O::V128Load8x8S { memarg }
        | O::V128Load8x8U { memarg }
        | O::V128Load16x4S { memarg }
        | O::V128Load16x4U { memarg }
        | O::V128Load32x2S { memarg }
        | O::V128Load32x2U { memarg }
        | O::V128Load8Splat { memarg }
        | O::V128Load16Splat { memarg }
        | O::V128Load32Splat { memarg }
        | O::V128Load64Splat { memarg }
        | O::V128Load32Zero { memarg }
        | O::V128Load64Zero { memarg } => (Access::Load, *memarg),
        O::I32Store { memarg } | O::I32Store8 { memarg } | O::I32Store16 { memarg } => {
            (INT, *memarg)
        }
        O::I64Store { memarg }
        | O::I64Store8 { memarg }
        | O::I64Store16 { memarg }
        | O::I64Store32 { memarg } => (LONG, *memarg),
        O::F32Store { memarg } => (FLOAT, *memarg),
        O::F64Store { memarg } => (DOUBLE, *memarg),
        O::V128Store { memarg }
        | O::V128Store8Lane { memarg, .. }
        | O::V128Store16Lane { memarg, .. }
        | O::V128Store32Lane { memarg, .. }
        | O::V128Store64Lane { memarg, .. }
        | O::V128Load8Lane { memarg, .. }
        | O::V128Load16Lane { memarg, .. }
        | O::V128Load32Lane { memarg, .. }
        | O::V128Load64Lane { memarg, .. } => (VECTOR, *memarg),
        _ => return None,
    })
}
