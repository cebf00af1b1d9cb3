//! Translates enums to the objects that the TypeScript compiler emits for them.

use std::collections::BTreeSet;

use oxc_ast::ast::{
    Expression, IdentifierReference, TSEnumDeclaration, TSEnumMember, TSEnumMemberName,
};
use oxc_ast_visit::Visit;
use oxc_parser::Kind;
use oxc_span::{GetSpan, Span};

use crate::edits::Edits;
use crate::tokens::{Tokens, index, range};

/// Replaces an enum. Each member stays on its line.
pub(crate) fn translate(
    it: &TSEnumDeclaration<'_>,
    text: &str,
    tokens: &Tokens<'_>,
    edits: &mut Edits,
) {
    let name = it.id.name.as_str();
    let open = tokens.first(Kind::LCurly, it.id.span.end, it.span.end);
    let open = open.map_or(it.id.span.end, |bracket| bracket.end);
    let (head, close) = (
        Span::new(it.span.start, open),
        Span::new(it.span.end - 1, it.span.end),
    );
    edits.replace(range(head), format!("var {name}; (function ({name}) {{"));
    let mut members = BTreeSet::new();
    let mut strings = BTreeSet::new();
    let mut previous: Option<String> = None;
    for member in &it.body.members {
        let key = key(member, text);
        let target = format!("{name}[{key}]");
        let value = match &member.initializer {
            Some(value) => qualified(value, name, &members, text),
            None => match &previous {
                Some(previous) => format!("{previous} + 1"),
                None => "0".to_owned(),
            },
        };
        let initializer = member.initializer.as_ref();
        let is_string = initializer.is_some_and(|value| is_string(value, &strings));
        let statement = if is_string {
            format!("{target} = {value};")
        } else {
            format!("{name}[{target} = {value}] = {key};")
        };
        edits.replace(range(member.span), statement);
        let comma = tokens.after(member.span.end);
        if let Some(comma) = comma.filter(|token| token.kind() == Kind::Comma) {
            edits.erase(range(comma.span()));
        }
        if let TSEnumMemberName::Identifier(id) = &member.id {
            members.insert(id.name.as_str());
            if is_string {
                strings.insert(id.name.as_str());
            }
        }
        previous = Some(target);
    }
    edits.replace(range(close), format!("}})({name} || ({name} = {{}}));"));
}

/// The name of a member as an expression.
fn key(member: &TSEnumMember<'_>, text: &str) -> String {
    match &member.id {
        TSEnumMemberName::Identifier(id) => format!("\"{}\"", id.name),
        TSEnumMemberName::String(string) | TSEnumMemberName::ComputedString(string) => {
            text[range(string.span)].to_owned()
        }
        TSEnumMemberName::ComputedTemplateString(string) => text[range(string.span)].to_owned(),
    }
}

/// Whether a member with this value is a string, which has no reverse mapping.
fn is_string(value: &Expression<'_>, strings: &BTreeSet<&str>) -> bool {
    match value {
        Expression::StringLiteral(_) | Expression::TemplateLiteral(_) => true,
        Expression::Identifier(name) => strings.contains(name.name.as_str()),
        Expression::BinaryExpression(sum) => {
            is_string(&sum.left, strings) || is_string(&sum.right, strings)
        }
        Expression::ParenthesizedExpression(inner) => is_string(&inner.expression, strings),
        _ => false,
    }
}

/// The text of a value, in which earlier members are read from the enum.
fn qualified(value: &Expression<'_>, name: &str, members: &BTreeSet<&str>, text: &str) -> String {
    let span = value.span();
    let mut edits = Edits::default();
    for (at, reference) in references(value) {
        if members.contains(reference.as_str()) {
            edits.insert(index(at - span.start), format!("{name}."));
        }
    }
    edits.apply(&text[range(span)])
}

/// The identifiers that a value reads, with their offsets.
pub(crate) fn references(value: &Expression<'_>) -> Vec<(u32, String)> {
    let mut references = References::default();
    references.visit_expression(value);
    references.0
}

/// Identifiers that are read, by their offset.
#[derive(Default)]
struct References(Vec<(u32, String)>);

impl<'a> Visit<'a> for References {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.0.push((it.span.start, it.name.to_string()));
    }
}
