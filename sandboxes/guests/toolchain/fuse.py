"""Fuses multiplications with the additions that use their products, as GCC does.

glibc for x86-64 contains a second version of some functions, compiled for processors with fused
multiply-add, and uses it on these processors. The last bit of the results depends on which
operations GCC fused. This file therefore applies to the LLVM IR of clang what GCC does to its own
intermediate code (`convert_mult_to_fma` in `gcc/tree-ssa-math-opts.cc`): in program order, a
product is fused if every use of it, or of its only negation, is an addition or subtraction in the
same basic block whose other operand is a different value. A fused addition no longer counts as an
addition for the products that follow.

WebAssembly has no such scalar instruction. The instruction for two numbers is `f64x2.relaxed_madd`,
which rounds once if the engine is configured for deterministic results or the processor has such an
instruction.
"""

import re
from typing import NamedTuple

INSTRUCTION = re.compile(
    r"  (%\S+) = (fmul|fadd|fsub|fneg) contract double ([^ ,]+)(?:, ([^ ,]+))?\n"
)
OPERATION = re.compile(r"  (%\S+) = (fmul|fadd|fsub|fneg) ")
FUSED = re.compile(r"(tail |notail )?call (contract )?double @llvm\.fma\.f64\(")
NAME = re.compile(r"%[\w.]+")
LABEL = re.compile(r"[\w.]+:")

# Replacement of a fused operation. It is inlined everywhere.
DEFINITION = """
define internal double @assay_fused(double %x, double %y, double %z) alwaysinline nounwind {
  %a = insertelement <2 x double> poison, double %x, i32 0
  %b = insertelement <2 x double> poison, double %y, i32 0
  %c = insertelement <2 x double> poison, double %z, i32 0
  %p = shufflevector <2 x double> %a, <2 x double> poison, <2 x i32> zeroinitializer
  %q = shufflevector <2 x double> %b, <2 x double> poison, <2 x i32> zeroinitializer
  %r = shufflevector <2 x double> %c, <2 x double> poison, <2 x i32> zeroinitializer
  %both = call <2 x double>
    @llvm.wasm.relaxed.madd.v2f64(<2 x double> %p, <2 x double> %q, <2 x double> %r)
  %one = extractelement <2 x double> %both, i32 0
  ret double %one
}
declare <2 x double> @llvm.wasm.relaxed.madd.v2f64(<2 x double>, <2 x double>, <2 x double>)
"""


class Unexpected(Exception):
    """The compiler's output has a form that this file cannot read."""


class Operation(NamedTuple):
    result: str
    kind: str
    left: str
    right: str


class Use(NamedTuple):
    """An addition or subtraction (`line`) with a product as `operand`, via the negation at
    `negation` if any.
    """

    line: int
    operand: str
    negation: int


class Function:
    """The lines of a function body, and which of them are fused."""

    def __init__(self, lines):
        self.lines = lines
        self.operations = {}
        self.blocks = []
        self.users = {}
        self.fused = {}
        self.removed = set()
        others = []
        block = 0
        for number, line in enumerate(lines):
            block += LABEL.match(line) is not None
            self.blocks.append(block)
            found = INSTRUCTION.fullmatch(line)
            if found:
                self.operations[number] = Operation(*found.groups())
            elif OPERATION.match(line):
                others.append(line)
            for name in NAME.findall(line.partition(" = ")[2] or line):
                self.users.setdefault(name, []).append(number)
        for line in others:
            self.check_other(line)

    def check_other(self, line):
        """Rejects a product of another type than double that GCC might fuse."""
        result, kind = OPERATION.match(line).groups()
        if kind == "fmul" and self.is_added(result):
            raise Unexpected(f"a product that is not one double: {line.strip()}")

    def is_added(self, name):
        """Whether an addition or subtraction uses a value, or its negation."""
        users = (OPERATION.match(self.lines[at]) for at in self.users.get(name, []))
        return any(
            user[2] in ("fadd", "fsub") or user[2] == "fneg" and self.is_added(user[1])
            for user in users
            if user
        )

    def addition(self, number, operand, block, negation):
        """The use of `operand` at line `number`, or None if it prevents the product from being
        fused.
        """
        operation = self.operations.get(number)
        if operation is None or number in self.fused or self.blocks[number] != block:
            return None
        if operation.kind not in ("fadd", "fsub") or operation.left == operation.right:
            return None
        return Use(number, operand, negation)

    def uses(self, product, block):
        """All uses of a product if each can be fused, else an empty list."""
        found = []
        for number in self.users.get(product, []):
            operation = self.operations.get(number)
            if operation is not None and operation.kind == "fneg":
                users = self.users.get(operation.result, [])
                alone = len(users) == 1 and self.blocks[number] == block
                use = self.addition(users[0], operation.result, block, number) if alone else None
            else:
                use = self.addition(number, product, block, -1)
            if use is None:
                return []
            found.append(use)
        return found

    def fuse(self):
        for number in sorted(self.operations):
            product = self.operations[number]
            if product.kind != "fmul":
                continue
            uses = self.uses(product.result, self.blocks[number])
            for use in uses:
                self.fused[use.line] = self.replacement(product, use)
                self.removed.update({use.negation} - {-1})
            if uses:
                self.removed.add(number)

    def replacement(self, product, use):
        """The lines for `x * y + z` in place of the addition."""
        addition = self.operations[use.line]
        first = addition.left == use.operand
        negate_product = use.negation != -1
        negate_addend = addition.kind == "fsub" and first
        if addition.kind == "fsub" and not first:
            negate_product = not negate_product
        x, y, z = product.left, product.right, addition.right if first else addition.left
        lines = []
        if negate_product:
            lines.append(f"  %x.{use.line} = fneg double {x}\n")
            x = f"%x.{use.line}"
        if negate_addend:
            lines.append(f"  %z.{use.line} = fneg double {z}\n")
            z = f"%z.{use.line}"
        lines.append(
            f"  {addition.result} = call double @assay_fused(double {x}, double {y}, double {z})\n"
        )
        return lines

    def text(self):
        kept = []
        for number, line in enumerate(self.lines):
            if number in self.fused:
                kept += self.fused[number]
            elif number not in self.removed:
                kept.append(FUSED.sub("call double @assay_fused(", line))
        return kept


def fuse(text):
    """Returns the module `text` with all operations fused that GCC would fuse."""
    lines = text.splitlines(keepends=True)
    result = []
    body = None
    count = 0
    for line in lines:
        if body is not None:
            if line != "}\n":
                body.append(line)
                continue
            function = Function(body)
            function.fuse()
            count += len(function.fused)
            result += function.text()
            body = None
        elif line.startswith("define "):
            body = []
        elif line.startswith("declare double @llvm.fma."):
            continue
        result.append(line)
    if count == 0:
        raise Unexpected("nothing in it could be fused")
    return "".join(result) + DEFINITION
