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
