//! The bar on top of the pages about a run: the form with the run and the steps, which every one of
//! these pages has, and links to the others with the same run and steps.

use crate::focus::names;
use crate::page::{Menu, Section};
use crate::query::{Field, Pairs};

/// The pages about a run, with the section whose role they need.
const TABS: [(Section, &str, &str); 7] = [
    (Section::Runs, "/ui/run", "Run"),
    (Section::Grades, "/ui/grades", "Grades"),
    (Section::Runs, "/ui/prompts", "Prompts"),
    (Section::Runs, "/ui/compare", "Compare"),
    (Section::Suspects, "/ui/suspects", "Suspects"),
    (Section::Cost, "/ui/cost", "Cost"),
    (Section::Verifier, "/ui/disagreements", "Disagreements"),
];

/// A link to a page about the run.
pub(crate) struct Tab {
    pub(crate) name: &'static str,
    pub(crate) address: String,
    pub(crate) current: bool,
}

/// The bar of a page.
pub(crate) struct Bar {
    /// Path of the page.
    pub(crate) action: &'static str,
    /// Links to the pages about the run; none on a page about all runs.
    pub(crate) tabs: Vec<Tab>,
    pub(crate) fields: Vec<Field>,
    /// Other parameters, which the form keeps.
    pub(crate) kept: Vec<(&'static str, String)>,
    pub(crate) button: &'static str,
    /// Whether a field has a value.
    pub(crate) filled: bool,
    /// Id of the list of names that the page suggests for its run; empty without one.
    pub(crate) suggestions: &'static str,
}

impl Bar {
    /// The bar of the page at `path`. `invalid` is the parameter for which the query is rejected.
    pub(crate) fn new(
        menu: &Menu,
        path: &'static str,
        pairs: &Pairs,
        invalid: Option<&str>,
    ) -> Self {
        let labels = ["run", "from step", "to step"];
        let names = names(path).into_iter().flatten();
        let fields = names.zip(labels).map(|field| {
            // A page without a run in its address may have chosen one.
            let chosen = menu.focus().run.as_deref();
            let value = pairs.get(field.0).or(chosen.filter(|_| field.1 == "run"));
            Field::new(field, value, invalid)
        });
        Self::with(menu, path, fields.collect())
    }

    /// A bar with these fields.
    pub(crate) fn with(menu: &Menu, path: &'static str, fields: Vec<Field>) -> Self {
        let tab = |(section, address, name): (Section, &'static str, &'static str)| {
            menu.has(section).then(|| Tab {
                name,
                address: menu.focus().link(address),
                current: address == path,
            })
        };
        let has_run = menu.focus().run.is_some();
        Self {
            action: path,
            tabs: TABS
                .into_iter()
                .filter(|_| has_run)
                .filter_map(tab)
                .collect(),
            filled: fields.iter().any(|field| !field.value.is_empty()),
            fields,
            kept: Vec::new(),
            button: "Show",
            suggestions: "",
        }
    }

    /// The bar with more fields.
    pub(crate) fn and(mut self, fields: impl IntoIterator<Item = Field>) -> Self {
        self.fields.extend(fields);
        self.filled = self.fields.iter().any(|field| !field.value.is_empty());
        self
    }

    /// The bar whose first field, the run, suggests the names of a list of the page.
    pub(crate) fn suggesting(self, suggestions: &'static str) -> Self {
        Self {
            suggestions,
            ..self
        }
    }

    /// The bar whose form keeps these parameters.
    pub(crate) fn keeping(self, pairs: &Pairs, names: &[&'static str]) -> Self {
        let kept = |name: &&'static str| Some((*name, pairs.get(name)?.to_owned()));
        Self {
            kept: names.iter().filter_map(kept).collect(),
            ..self
        }
    }
}
