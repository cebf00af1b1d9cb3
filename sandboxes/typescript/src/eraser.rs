//! Collects the edits that remove types, and those that translate features with a meaning at run
//! time.

use std::collections::BTreeSet;

use oxc_ast::ast::{
    ArrowFunctionExpression, BindingIdentifier, BindingPattern, Class, ClassElement, Declaration,
    Decorator, ExportAllDeclaration, ExportDeclaration, ExportDefaultDeclaration,
    ExportDefaultDeclarationKind, ExportFromDeclaration, ExportNamedDeclaration, ExportSpecifier,
    Expression, FormalParameter, Function, IdentifierReference, ImportDeclaration,
    ImportDeclarationSpecifier, ImportOrExportKind, MethodDefinition, MethodDefinitionKind,
    MethodDefinitionType, Program, PropertyDefinition, PropertyDefinitionType, Statement,
    TSAsExpression, TSEnumDeclaration, TSExportAssignment, TSImportEqualsDeclaration,
    TSModuleReference, TSNamespaceDeclaration, TSNamespaceDeclarationBody,
    TSNamespaceExportDeclaration, TSNonNullExpression, TSSatisfiesExpression, TSThisParameter,
    TSTypeAnnotation, TSTypeAssertion, TSTypeParameterDeclaration, TSTypeParameterInstantiation,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{Kind, Token};
use oxc_span::{GetSpan, Span};

use crate::edits::Edits;
use crate::enums;
use crate::tokens::{Tokens, index, range};

/// An unsupported feature of the language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsupported {
    pub(crate) offset: u32,
    pub(crate) message: &'static str,
}

/// Visits a program and collects the edits.
pub(crate) struct Eraser<'t> {
    text: &'t str,
    tokens: Tokens<'t>,
    edits: Edits,
    names: Names,
    /// Offset of the first statement.
    start: u32,
    /// Definitions of enums that are used before they are declared.
    hoisted: String,
    /// Whether something is exported, so that the program is an ES module.
    has_exports: bool,
    unsupported: Option<Unsupported>,
}

/// The names of a program. An import that is used only in types is erased, and so is the export of
/// a type.
#[derive(Default)]
struct Names {
    /// Those that are used as values.
    referenced: BTreeSet<String>,
    /// Those that are declared as values.
    values: BTreeSet<String>,
    /// Those that are declared as types.
    types: BTreeSet<String>,
    imports: Vec<Import>,
    exports: Vec<(Span, String)>,
    default_exports: Vec<(Span, String)>,
}

/// An import with its local names.
struct Import {
    span: Span,
    specifiers: Vec<(Span, String)>,
    has_namespace: bool,
}

/// The names of `CommonJS` modules, and their values in an ES module: the TypeScript compiler can
/// emit `CommonJS` for programs with `import`, which can use these names as well.
const COMMONJS: [(&str, &str); 3] = [
    ("require", "$createRequire(\"/main.js\")"),
    ("module", "{ exports: {} }"),
    ("exports", "module.exports"),
];

impl Names {
    /// Definitions of the names of `CommonJS` modules that the program uses.
    fn commonjs(&self) -> String {
        let is_used = |name: &str| self.referenced.contains(name) && !self.values.contains(name);
        if !COMMONJS.iter().any(|(name, _)| is_used(name)) {
            return String::new();
        }
        let undeclared = COMMONJS
            .iter()
            .filter(|(name, _)| !self.values.contains(*name));
        let values: Vec<String> = undeclared
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        format!(
            "import {{ createRequire as $createRequire }} from \"node:module\"; const {}; ",
            values.join(", ")
        )
    }

    fn is_type(&self, name: &str) -> bool {
        self.types.contains(name) && !self.values.contains(name)
    }
}

impl<'t> Eraser<'t> {
    pub(crate) fn new(text: &'t str, tokens: &'t [Token]) -> Self {
        Self {
            text,
            tokens: Tokens::new(tokens),
            edits: Edits::default(),
            names: Names::default(),
            start: 0,
            hoisted: String::new(),
            has_exports: false,
            unsupported: None,
        }
    }

    /// The changes of a program that was visited.
    pub(crate) fn finish(mut self) -> Result<Edits, Unsupported> {
        let names = std::mem::take(&mut self.names);
        let mut is_module = self.has_exports;
        for import in &names.imports {
            let is_unused = |local: &str| !names.referenced.contains(local);
            if import.specifiers.iter().all(|(_, local)| is_unused(local)) {
                self.erase_statement(import.span);
                continue;
            }
            is_module = true;
            for (span, local) in &import.specifiers {
                if is_unused(local) && !import.has_namespace {
                    self.erase_member(*span);
                }
            }
        }
        for (span, local) in &names.exports {
            if names.is_type(local) {
                self.erase_member(*span);
            }
        }
        for (span, local) in &names.default_exports {
            if names.is_type(local) {
                self.erase_statement(*span);
            }
        }
        let mut first = std::mem::take(&mut self.hoisted);
        if is_module {
            first.insert_str(0, &names.commonjs());
        }
        if !first.is_empty() {
            self.edits.insert(index(self.start), first);
        }
        self.unsupported.map_or(Ok(self.edits), Err)
    }

    /// Ends a statement or a field whose last part is erased, because the next line could continue
    /// what remains.
    fn end_statement(&mut self, last_erased: u32) {
        let at = Span::new(last_erased - 1, last_erased);
        self.edits.replace(range(at), ";");
    }

    /// Erases what follows an expression: its type.
    fn erase_type_of(&mut self, expression: Span, end: u32) {
        // Nothing that begins like this can continue an expression with a type.
        let next = self.tokens.after(end).map(Token::kind);
        let starts_statement = matches!(
            next,
            Some(Kind::LParen | Kind::LBrack | Kind::NoSubstitutionTemplate | Kind::TemplateHead)
        );
        if starts_statement {
            self.erase(Span::new(expression.end, end - 1));
            self.end_statement(end);
        } else {
            self.erase(Span::new(expression.end, end));
        }
    }

    fn refuse(&mut self, span: Span, message: &'static str) {
        let offset = span.start;
        self.unsupported
            .get_or_insert(Unsupported { offset, message });
    }

    fn erase(&mut self, span: Span) {
        self.edits.erase(range(span));
    }

    fn erase_statement(&mut self, span: Span) {
        self.edits.erase_statement(range(span));
    }

    /// Erases the tokens of these kinds in a range of offsets.
    fn erase_tokens(&mut self, kinds: &[Kind], start: u32, end: u32) {
        for token in self.tokens.within(start, end) {
            if kinds.contains(&token.kind()) {
                self.edits.erase(range(token.span()));
            }
        }
    }

    /// Erases an item of a list and the comma after it.
    fn erase_member(&mut self, span: Span) {
        let comma = self.tokens.after(span.end);
        let end = comma
            .filter(|token| token.kind() == Kind::Comma)
            .map_or(span.end, Token::end);
        self.erase(Span::new(span.start, end));
    }

    /// Erases the modifiers at the start of a class member, and the `?` or `!` after its key.
    fn erase_modifiers(&mut self, member: Span, key: Span, computed: bool) {
        for token in self.tokens.within(member.start, key.start) {
            if !MODIFIERS.contains(&token.kind()) {
                continue;
            }
            // The line before may end without a semicolon.
            if token.start() == member.start {
                self.erase_statement(token.span());
            } else {
                self.erase(token.span());
            }
        }
        let mut end = key.end;
        if computed {
            end = self
                .tokens
                .first(Kind::RBrack, key.end, member.end)
                .map_or(end, |bracket| bracket.end);
        }
        let sign = self
            .tokens
            .after(end)
            .filter(|token| token.end() <= member.end);
        if let Some(sign) = sign.filter(|sign| matches!(sign.kind(), Kind::Question | Kind::Bang)) {
            self.erase(sign.span());
        }
    }

    /// Assigns parameter properties at the start of the constructor's body, or after its call of
    /// `super`.
    fn assign_properties(&mut self, constructor: &Function<'_>) {
        let Some(body) = &constructor.body else {
            return;
        };
        let mut assignments = String::new();
        for parameter in &constructor.params.items {
            if !declares_property(parameter) {
                continue;
            }
            let BindingPattern::BindingIdentifier(name) = &parameter.pattern else {
                self.refuse(parameter.span, "a parameter property cannot be a pattern");
                continue;
            };
            assignments += &format!(" this.{0} = {0};", name.name);
        }
        if assignments.is_empty() {
            return;
        }
        let calls_super = |statement: &&Statement<'_>| {
            let Statement::ExpressionStatement(statement) = statement else {
                return false;
            };
            let Expression::CallExpression(call) = &statement.expression else {
                return false;
            };
            matches!(call.callee, Expression::Super(_))
        };
        let after = match body.statements.iter().find(calls_super) {
            Some(statement) => {
                assignments.insert(0, ';');
                statement.span().end
            }
            None => body
                .directives
                .last()
                .map_or(body.span.start + 1, |directive| directive.span.end),
        };
        self.edits.insert(index(after), assignments);
    }

    fn note_type(&mut self, declaration: &Declaration<'_>) {
        let name = match declaration {
            Declaration::TSInterfaceDeclaration(it) => &it.id,
            Declaration::TSTypeAliasDeclaration(it) => &it.id,
            Declaration::TSNamespaceDeclaration(it) => &it.id,
            _ => return,
        };
        self.names.types.insert(name.name.to_string());
    }

    /// Whether a declaration declares only types.
    fn is_type(declaration: &Declaration<'_>) -> bool {
        match declaration {
            Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_) => true,
            Declaration::VariableDeclaration(it) => it.declare,
            Declaration::FunctionDeclaration(it) => it.declare || it.body.is_none(),
            Declaration::ClassDeclaration(it) => it.declare,
            Declaration::TSEnumDeclaration(it) => it.declare,
            Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => {
                true
            }
            Declaration::TSNamespaceDeclaration(it) => it.declare || has_only_types(&it.body),
            Declaration::TSImportEqualsDeclaration(it) => {
                it.import_kind == ImportOrExportKind::Type
            }
        }
    }
}

/// Whether a namespace declares only types, so that it does not exist at run time.
fn has_only_types(body: &TSNamespaceDeclarationBody<'_>) -> bool {
    let is_type = |statement: &Statement<'_>| match statement {
        Statement::ExportDeclaration(it) => Eraser::is_type(&it.declaration),
        _ => statement.as_declaration().is_some_and(Eraser::is_type),
    };
    match body {
        TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => has_only_types(&inner.body),
        TSNamespaceDeclarationBody::TSModuleBlock(block) => block.body.iter().all(is_type),
    }
}

/// Modifiers of class members and parameters that have no meaning in JavaScript.
const MODIFIERS: &[Kind] = &[
    Kind::Public,
    Kind::Private,
    Kind::Protected,
    Kind::Readonly,
    Kind::Override,
    Kind::Abstract,
    Kind::Declare,
];

fn declares_property(parameter: &FormalParameter<'_>) -> bool {
    parameter.accessibility.is_some() || parameter.readonly || parameter.r#override
}

impl<'a> Visit<'a> for Eraser<'_> {
    fn visit_program(&mut self, it: &Program<'a>) {
        let first = it.body.first().map(|statement| statement.span().start);
        self.start = first.unwrap_or(it.span.end);
        walk::walk_program(self, it);
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if let Some(declaration) = it.as_declaration().filter(|it| Self::is_type(it)) {
            self.note_type(declaration);
            self.erase_statement(it.span());
        } else {
            walk::walk_statement(self, it);
        }
    }

    fn visit_export_declaration(&mut self, it: &ExportDeclaration<'a>) {
        if Self::is_type(&it.declaration) {
            self.note_type(&it.declaration);
            self.erase_statement(it.span);
        } else {
            self.has_exports = true;
            walk::walk_export_declaration(self, it);
        }
    }

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        let is_type = match &it.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => true,
            ExportDefaultDeclarationKind::FunctionDeclaration(it) => it.body.is_none(),
            ExportDefaultDeclarationKind::Identifier(name) => {
                let local = name.name.to_string();
                self.names.default_exports.push((it.span, local));
                false
            }
            _ => false,
        };
        if is_type {
            self.erase_statement(it.span);
        } else {
            self.has_exports = true;
            walk::walk_export_default_declaration(self, it);
        }
    }

    fn visit_export_named_declaration(&mut self, it: &ExportNamedDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.erase_statement(it.span);
        } else {
            walk::walk_export_named_declaration(self, it);
        }
    }

    fn visit_export_from_declaration(&mut self, it: &ExportFromDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.erase_statement(it.span);
        } else {
            walk::walk_export_from_declaration(self, it);
        }
    }

    fn visit_export_all_declaration(&mut self, it: &ExportAllDeclaration<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.erase_statement(it.span);
        }
    }

    fn visit_export_specifier(&mut self, it: &ExportSpecifier<'a>) {
        if it.export_kind == ImportOrExportKind::Type {
            self.erase_member(it.span);
            return;
        }
        let local = it.local.name().to_string();
        self.names.referenced.insert(local.clone());
        self.names.exports.push((it.span, local));
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.names.referenced.insert(it.name.to_string());
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.names.values.insert(it.name.to_string());
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        if it.import_kind == ImportOrExportKind::Type {
            self.erase_statement(it.span);
            return;
        }
        let Some(specifiers) = &it.specifiers else {
            return;
        };
        let mut import = Import {
            span: it.span,
            specifiers: Vec::new(),
            has_namespace: false,
        };
        for specifier in specifiers {
            if let ImportDeclarationSpecifier::ImportSpecifier(specifier) = specifier
                && specifier.import_kind == ImportOrExportKind::Type
            {
                self.erase_member(specifier.span);
                continue;
            }
            import.has_namespace |= matches!(
                specifier,
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(_)
            );
            let local = specifier.local().name.to_string();
            import.specifiers.push((specifier.span(), local));
        }
        if !import.specifiers.is_empty() {
            self.names.imports.push(import);
        }
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        let external = matches!(
            it.module_reference,
            TSModuleReference::ExternalModuleReference(_)
        );
        match self.tokens.first(Kind::Import, it.span.start, it.span.end) {
            Some(keyword) if external => {
                self.names.referenced.insert("require".to_owned());
                self.edits.replace(range(keyword), "const ");
            }
            _ => self.refuse(it.span, "an import alias is not supported"),
        }
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        let keyword = Span::new(it.span.start, it.expression.span().start);
        self.names.referenced.insert("module".to_owned());
        self.edits.replace(range(keyword), "module.exports = ");
        walk::walk_ts_export_assignment(self, it);
    }

    fn visit_ts_namespace_export_declaration(&mut self, it: &TSNamespaceExportDeclaration<'a>) {
        self.erase_statement(it.span);
    }

    fn visit_declaration(&mut self, it: &Declaration<'a>) {
        if let Declaration::TSNamespaceDeclaration(namespace) = it {
            self.refuse(
                namespace.span,
                "a namespace is not supported; use a module or an object",
            );
        } else {
            walk::walk_declaration(self, it);
        }
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.refuse(
            it.span,
            "a namespace is not supported; use a module or an object",
        );
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "a decorator is not supported");
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.names.values.insert(it.id.name.to_string());
        let (text, tokens) = (self.text, self.tokens);
        let mut referenced = BTreeSet::new();
        let erase = |value: &Expression<'a>| {
            let mut inner = Eraser {
                tokens,
                ..Eraser::new(text, &[])
            };
            inner.visit_expression(value);
            referenced.extend(inner.names.referenced);
            inner.edits
        };
        let whole = enums::translate(it, text, &tokens, &mut self.edits, erase);
        self.names.referenced.extend(referenced);
        // The TypeScript compiler replaces members of a `const enum` with their values, which are
        // known before it is declared.
        let name = it.id.name.as_str();
        let is_used_before = it.r#const
            && enums::is_closed(it)
            && tokens
                .within(0, it.span.start)
                .any(|token| text.get(range(token.span())) == Some(name));
        if is_used_before {
            self.hoisted.push_str(&whole);
            self.hoisted.push(' ');
        }
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.erase(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.erase_type_of(it.expression.span(), it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.erase_type_of(it.expression.span(), it.span.end);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.erase(Span::new(it.expression.span().end, it.span.end));
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        let expression = it.expression.span();
        let type_span = Span::new(it.span.start, expression.start);
        // An object would become a block, and a line break would end a `return`.
        let is_object = matches!(it.expression, Expression::ObjectExpression(_));
        if is_object || self.text[range(type_span)].contains('\n') {
            let first = Span::new(type_span.start, type_span.start + 1);
            self.edits.replace(range(first), "(");
            self.erase(Span::new(first.end, type_span.end));
            self.edits.insert(index(expression.end), ")");
        } else {
            self.erase(type_span);
        }
        self.visit_expression(&it.expression);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.erase_member(it.span);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.erase_tokens(&[Kind::Bang], it.id.span().end, it.id.span().end + 2);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        let pattern = it.pattern.span();
        self.erase_tokens(MODIFIERS, it.span.start, pattern.start);
        if it.optional
            && let Some(sign) = self.tokens.after(pattern.end)
            && sign.kind() == Kind::Question
        {
            self.erase(sign.span());
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        // JavaScript allows no line break between the parameters and the arrow, so the closing
        // parenthesis moves to the end of a type that has several lines.
        if let Some(returned) = &it.return_type
            && let between = Span::new(it.params.span.end, returned.span.end)
            && self.text[range(between)].contains('\n')
            && let Some(bracket) = self.tokens.before(it.params.span.end)
            && bracket.kind() == Kind::RParen
        {
            self.erase(bracket.span());
            self.erase(Span::new(returned.span.start, returned.span.end - 1));
            let last = Span::new(returned.span.end - 1, returned.span.end);
            self.edits.replace(range(last), ")");
        }
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            // The keyword is before the class or at its start.
            let keyword = self
                .tokens
                .first(Kind::Abstract, it.span.start, it.body.span.start);
            let keyword = keyword.or_else(|| {
                let before = self.tokens.before(it.span.start)?;
                (before.kind() == Kind::Abstract).then(|| before.span())
            });
            if let Some(keyword) = keyword {
                self.erase(keyword);
            }
        }
        if !it.implements.is_empty() {
            let head = [
                it.id.as_ref().map(|id| id.span.end),
                it.type_parameters
                    .as_ref()
                    .map(|parameters| parameters.span.end),
                it.heritage
                    .as_ref()
                    .map(|heritage| heritage.expression.span().end),
                it.heritage
                    .as_ref()
                    .and_then(|heritage| heritage.type_arguments.as_ref())
                    .map(|arguments| arguments.span.end),
            ];
            let start = head.into_iter().flatten().max().unwrap_or(it.span.start);
            if let Some(keyword) = self
                .tokens
                .first(Kind::Implements, start, it.body.span.start)
            {
                self.erase(Span::new(keyword.start, it.body.span.start));
            }
        }
        walk::walk_class(self, it);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        match it {
            ClassElement::TSIndexSignature(signature) => self.erase_statement(signature.span),
            ClassElement::AccessorProperty(property) => {
                self.refuse(property.span, "an accessor property is not supported");
            }
            _ => walk::walk_class_element(self, it),
        }
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let is_abstract = it.r#type == MethodDefinitionType::TSAbstractMethodDefinition;
        if is_abstract || it.value.body.is_none() {
            self.erase_statement(it.span);
            return;
        }
        self.erase_modifiers(it.span, it.key.span(), it.computed);
        if it.kind == MethodDefinitionKind::Constructor {
            self.assign_properties(&it.value);
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let is_abstract = it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition;
        if is_abstract || it.declare {
            self.erase_statement(it.span);
            return;
        }
        self.erase_modifiers(it.span, it.key.span(), it.computed);
        if let Some(annotation) = &it.type_annotation
            && it.value.is_none()
        {
            self.erase(Span::new(annotation.span.start, annotation.span.end - 1));
            self.end_statement(annotation.span.end);
        }
        walk::walk_property_definition(self, it);
    }
}
