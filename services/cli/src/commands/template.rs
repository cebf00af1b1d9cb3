//! Templates given on the command line: a name, a file, or the JSON itself.

use std::path::Path;

use anyhow::Context;
use assay_templates::{Template, Templates};

/// Resolves the argument to a template; `None` without an argument.
pub(crate) fn resolve_optional(
    templates: &Templates,
    argument: Option<&str>,
) -> anyhow::Result<Option<Template>> {
    let resolve = |argument| Ok(Template::from_json(&json(templates, argument)?)?);
    argument.map(resolve).transpose()
}

/// A template that makes the items of rows, with its name if it has one.
pub(crate) struct RowTemplate {
    pub(crate) name: Option<String>,
    pub(crate) template: Template,
}

impl RowTemplate {
    /// Resolves the argument of `--template`; `None` without an argument.
    pub(crate) fn resolve(
        templates: &Templates,
        argument: Option<&str>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(template) = resolve_optional(templates, argument)? else {
            return Ok(None);
        };
        let is_name =
            |argument: &&str| !Path::new(argument).is_file() && templates.get(argument).is_ok();
        Ok(Some(Self {
            name: argument.filter(is_name).map(str::to_owned),
            template,
        }))
    }
}

/// The JSON of the template that an argument names.
pub(crate) fn json(templates: &Templates, argument: &str) -> anyhow::Result<String> {
    if argument.trim_start().starts_with('{') {
        return Ok(argument.to_owned());
    }
    let path = Path::new(argument);
    if path.is_file() {
        let json =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{argument}`"))?;
        // Parsed here too, so that an error names the file.
        Template::from_json(&json).with_context(|| format!("`{argument}`"))?;
        return Ok(json);
    }
    Ok(templates.source(argument)?.to_owned())
}
