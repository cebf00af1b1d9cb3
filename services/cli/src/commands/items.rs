//! Makes items of the lines of a file: from rows, if there is a template, and with the values of a
//! file to which their tasks refer.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_templates::Templates;
use assay_wire::Problem;
use assay_wire::request::SharedValues;

use super::rows;
use super::template::RowTemplate;

/// How the lines of a file become items.
pub(crate) struct LineReader {
    template: Option<RowTemplate>,
    shared: Option<SharedValues>,
}

impl LineReader {
    /// Resolves the arguments of `--template` and `--shared`.
    pub(crate) fn resolve(
        templates: &Templates,
        template: Option<&str>,
        shared: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let template = RowTemplate::resolve(templates, template)?;
        let shared = shared.map(values).transpose()?;
        Ok(Self { template, shared })
    }

    /// Whether lines are items already.
    pub(crate) fn is_verbatim(&self) -> bool {
        self.template.is_none() && self.shared.is_none()
    }

    /// The item of a line, as JSON.
    pub(crate) fn item<'l>(&self, line: &'l str) -> Result<Cow<'l, str>, Problem> {
        // Some Windows editors put a byte order mark before the first line.
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let item = match &self.template {
            None => Cow::Borrowed(line),
            Some(template) => Cow::Owned(rows::item(line, template)?),
        };
        match (&self.shared, item) {
            (None, item) => Ok(item),
            (Some(values), Cow::Borrowed(item)) => values.insert(item),
            (Some(values), Cow::Owned(item)) => Ok(Cow::Owned(values.insert(&item)?.into_owned())),
        }
    }
}

/// The values of a file.
fn values(file: &Path) -> anyhow::Result<SharedValues> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{shown}`"))?;
    SharedValues::from_file(&text).map_err(|problem| anyhow!("`{shown}`: {problem}"))
}
