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

/// Replaces an enum. Each member stays on its line. `erase` collects the edits that remove types
/// from a value. Returns the translation on one line.
pub(crate) fn translate<'a>(
    it: &TSEnumDeclaration<'a>,
    text: &str,
    tokens: &Tokens<'_>,
    edits: &mut Edits,
    mut erase: impl FnMut(&Expression<'a>) -> Edits,
) -> String {
    let name = it.id.name.as_str();
    let open = tokens.first(Kind::LCurly, it.id.span.end, it.span.end);
    let open = open.map_or(it.id.span.end, |bracket| bracket.end);
    let (head, close) = (
        Span::new(it.span.start, open),
        Span::new(it.span.end - 1, it.span.end),
    );
    let start = format!("var {name}; (function ({name}) {{");
    let mut whole = start.clone();
    edits.replace(range(head), start);
    let mut members = BTreeSet::new();
    let mut strings = BTreeSet::new();
    let mut previous: Option<String> = None;
    for member in &it.body.members {
        let key = key(member, text);
        let target = format!("{name}[{key}]");
        let value = match &member.initializer {
            Some(value) => qualified(value, name, &members, text, erase(value)),
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
        whole.push(' ');
        whole.push_str(&statement);
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
    let end = format!("}})({name} || ({name} = {{}}));");
    whole.push_str(&end);
    edits.replace(range(close), end);
    whole
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
        Expression::TSAsExpression(inner) => is_string(&inner.expression, strings),
        Expression::TSSatisfiesExpression(inner) => is_string(&inner.expression, strings),
        Expression::TSNonNullExpression(inner) => is_string(&inner.expression, strings),
        Expression::TSTypeAssertion(inner) => is_string(&inner.expression, strings),
        _ => false,
    }
}

/// The text of a value without types, in which earlier members are read from the enum.
fn qualified(
    value: &Expression<'_>,
    name: &str,
    members: &BTreeSet<&str>,
    text: &str,
    mut edits: Edits,
) -> String {
    for (at, reference) in references(value) {
        if members.contains(reference.as_str()) {
            edits.insert(index(at), format!("{name}."));
        }
    }
    edits.apply_within(text, range(value.span()))
}

/// Whether the values of an enum read nothing but its own members.
pub(crate) fn is_closed(it: &TSEnumDeclaration<'_>) -> bool {
    let is_member = |name: &str| {
        it.body.members.iter().any(|member| match &member.id {
            TSEnumMemberName::Identifier(id) => id.name == name,
            _ => false,
        })
    };
    let mut values = it
        .body
        .members
        .iter()
        .filter_map(|it| it.initializer.as_ref());
    values.all(|value| {
        references(value)
            .iter()
            .all(|(_, name)| is_member(name) || it.id.name == name.as_str())
    })
}

/// The identifiers that a value reads, with their offsets.
fn references(value: &Expression<'_>) -> Vec<(u32, String)> {
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
