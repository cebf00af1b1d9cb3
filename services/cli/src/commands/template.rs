//! Templates as they are typed: a name, a file, or the JSON itself.

use std::path::Path;

use anyhow::Context;
use assay_templates::Template;

/// The template that was typed, if one was.
pub(crate) fn maybe(typed: Option<&str>) -> anyhow::Result<Option<Template>> {
    typed.map(template).transpose()
}

fn template(typed: &str) -> anyhow::Result<Template> {
    if typed.trim_start().starts_with('{') {
        return Ok(Template::from_json(typed)?);
    }
    let path = Path::new(typed);
    if path.is_file() {
        let json =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{typed}`"))?;
        return Template::from_json(&json).with_context(|| format!("`{typed}`"));
    }
    Ok(Template::named(typed)?)
}
