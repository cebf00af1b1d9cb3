//! Templates given on the command line: a name, a file, or the JSON itself.

use std::path::Path;

use anyhow::Context;
use assay_templates::Template;

/// Resolves the argument to a template; `None` without an argument.
pub(crate) fn resolve_optional(argument: Option<&str>) -> anyhow::Result<Option<Template>> {
    argument.map(resolve).transpose()
}

fn resolve(argument: &str) -> anyhow::Result<Template> {
    if argument.trim_start().starts_with('{') {
        return Ok(Template::from_json(argument)?);
    }
    let path = Path::new(argument);
    if path.is_file() {
        let json =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{argument}`"))?;
        return Template::from_json(&json).with_context(|| format!("`{argument}`"));
    }
    Ok(Template::named(argument)?)
}
