//! Inserts mutants into Rust files: `assay-mutation FILE…` prints every place that can be mutated
//! as a JSON line with `file`, `line`, `from`, `to` (byte offsets), `original` and `mutated`, where
//! `mutated` contains `MUTANT` in place of the condition that selects the mutant.
//!
//! Both versions are compiled: `a < b` becomes `(if MUTANT { a <= b } else { a < b })`.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A replacement of one range of a file.
struct Mutant {
    line: usize,
    range: Range<usize>,
    mutated: String,
}

struct Finder<'a> {
    text: &'a str,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    /// Replaces the expression at `span`, unless it contains a comment. Both versions have the same
    /// type. The mutated one has no line breaks, so that lines keep their numbers.
    fn choose(&mut self, span: Span, mutated: &str) {
        if mutated.contains("//") {
            return;
        }
        let mutated = mutated.replace('\n', " ");
        let original = self.text(span);
        self.replace(
            span,
            format!("(if MUTANT {{ {mutated} }} else {{ {original} }})"),
        );
    }

    /// Inverts a truth value.
    fn invert(&mut self, span: Span) {
        self.replace(span, format!("(({}) != MUTANT)", self.text(span)));
    }

    fn replace(&mut self, span: Span, mutated: String) {
        let (line, range) = (span.start().line, span.byte_range());
        self.found.push(Mutant {
            line,
            range,
            mutated,
        });
    }
}

/// The operator that replaces another.
fn other(operator: &syn::BinOp) -> Option<&'static str> {
    use syn::BinOp as Op;
    Some(match operator {
        Op::Lt(_) => "<=",
        Op::Le(_) => "<",
        Op::Gt(_) => ">=",
        Op::Ge(_) => ">",
        Op::Eq(_) => "!=",
        Op::Ne(_) => "==",
        Op::And(_) => "||",
        Op::Or(_) => "&&",
        Op::Add(_) | Op::Div(_) => "-",
        Op::Sub(_) | Op::Mul(_) => "+",
        Op::Rem(_) => "/",
        _ => return None,
    })
}

/// Whether an expression contains `let`, which is only allowed in conditions.
fn binds(expression: &syn::Expr) -> bool {
    struct Lets(bool);
    impl<'ast> Visit<'ast> for Lets {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
    }
    let mut lets = Lets(false);
    lets.visit_expr(expression);
    lets.0
}

/// Whether an item is compiled only for tests.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().contains("test")
        }
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::NameValue(_) => false,
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if let Some(operator) = other(&binary.op)
            && !binds(&binary.left)
            && !binds(&binary.right)
        {
            let (left, right) = (
                self.text(binary.left.span()),
                self.text(binary.right.span()),
            );
            let mutated = format!("{left} {operator} {right}");
            self.choose(binary.span(), &mutated);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        if !binds(&branch.cond) {
            self.invert(branch.cond.span());
        }
        visit::visit_expr_if(self, branch);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard
            && !binds(guard)
        {
            self.invert(guard.span());
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if let syn::UnOp::Not(_) = unary.op
            && !binds(&unary.expr)
        {
            self.invert(unary.span());
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_lit(&mut self, literal: &'ast syn::ExprLit) {
        match &literal.lit {
            syn::Lit::Bool(_) => self.invert(literal.span()),
            syn::Lit::Int(_) => {
                let mutated = format!("{} + 1", self.text(literal.span()));
                self.choose(literal.span(), &mutated);
            }
            _ => {}
        }
    }

    /// Removes a statement without a value.
    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        if let syn::Stmt::Expr(expression, Some(_)) = statement
            && matches!(
                expression,
                syn::Expr::MethodCall(_) | syn::Expr::Call(_) | syn::Expr::Assign(_)
            )
        {
            let mutated = format!("if !MUTANT {{ {} }}", self.text(statement.span()));
            self.replace(statement.span(), mutated);
        }
        visit::visit_stmt(self, statement);
    }

    // Patterns, types and constants are evaluated by the compiler.
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_variant(&mut self, _: &'ast syn::Variant) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if function.sig.constness.is_none() && !is_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.sig.constness.is_none() && !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let file = syn::parse_file(&text).map_err(|error| format!("{path}: {error}"))?;
        let mut finder = Finder {
            text: &text,
            found: Vec::new(),
        };
        finder.visit_file(&file);
        for Mutant {
            line,
            range,
            mutated,
        } in finder.found
        {
            let original = &text[range.clone()];
            println!(
                "{}",
                serde_json::json!({
                    "file": path, "line": line, "from": range.start, "to": range.end,
                    "original": original, "mutated": mutated,
                })
            );
        }
    }
    Ok(())
}
