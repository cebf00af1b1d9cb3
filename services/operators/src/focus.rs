//! The run and the steps that a page is about. Links to other pages keep them, under the names of
//! the parameters that each page has.

use crate::query::{Pairs, link};

/// The run and the steps of a page; empty for a page about all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Focus {
    pub(crate) run: Option<String>,
    /// First step.
    pub(crate) from: Option<i64>,
    /// Last step.
    pub(crate) to: Option<i64>,
}

/// Names of the parameters of a page: the run, its first and its last step.
type Names = [&'static str; 3];

/// The names of most pages.
const COMMON: Names = ["run", "step_min", "step_max"];

/// The pages that are about a run, and the names of their parameters.
const PAGES: [(&str, Names); 7] = [
    ("/ui/run", ["name", "from", "to"]),
    ("/ui/grades", COMMON),
    ("/ui/prompts", COMMON),
    ("/ui/compare", ["b", "b_from", "b_to"]),
    ("/ui/suspects", COMMON),
    ("/ui/cost", COMMON),
    ("/ui/disagreements", COMMON),
];

/// The names of the parameters of a page; `None` if it is not about a run.
pub(crate) fn names(path: &str) -> Option<Names> {
    let mut pages = PAGES.iter();
    pages
        .find(|(page, _)| *page == path)
        .map(|(_, names)| *names)
}

impl Focus {
    /// The run and the steps in a query. Values that the page rejects are ignored.
    pub(crate) fn read(path: &str, pairs: &Pairs) -> Self {
        let Some([run, from, to]) = names(path) else {
            return Self::default();
        };
        // The list of grades may have a single step, and a comparison the runs of the list of runs.
        let step = |name| pairs.parse(name, "").ok().flatten();
        Self {
            run: pairs
                .get(run)
                .or(pairs.all("run").next())
                .map(str::to_owned),
            from: step(from).or(step("step")),
            to: step(to).or(step("step")),
        }
    }

    /// The address of a page with the run and the steps, if it is about a run.
    pub(crate) fn link(&self, path: &str) -> String {
        let (Some([run, from, to]), Some(name)) = (names(path), &self.run) else {
            return path.to_owned();
        };
        let step = |step: Option<i64>| step.map(|step| step.to_string());
        let (first, last) = (step(self.from), step(self.to));
        link(
            path,
            &[
                (run, Some(name)),
                (from, first.as_deref()),
                (to, last.as_deref()),
            ],
        )
    }

    /// Whether a range of steps, or a step without a number, belongs to the steps of the page.
    pub(crate) fn overlaps(&self, first: Option<i64>, last: Option<i64>) -> bool {
        let after = self
            .from
            .is_none_or(|from| last.is_some_and(|last| last >= from));
        let before = self
            .to
            .is_none_or(|to| first.is_some_and(|first| first <= to));
        after && before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_the_parameters_of_their_page() {
        let focus = |address: &str| {
            let (path, query) = address.split_once('?').unwrap_or((address, ""));
            Focus::read(path, &Pairs::read(query))
        };
        let of_run = focus("/ui/run?name=a/b&from=3&to=7");
        for (page, address) in [
            ("/ui/run", "/ui/run?name=a%2Fb&from=3&to=7"),
            ("/ui/grades", "/ui/grades?run=a%2Fb&step_min=3&step_max=7"),
            ("/ui/compare", "/ui/compare?b=a%2Fb&b_from=3&b_to=7"),
            ("/ui/storage", "/ui/storage"),
        ] {
            assert_eq!(of_run.link(page), address);
            if page != "/ui/storage" {
                assert_eq!(focus(address), of_run);
            }
        }
        let of_step = focus("/ui/grades?run=r&step=4&verdict=correct");
        assert_eq!(
            of_step.link("/ui/cost"),
            "/ui/cost?run=r&step_min=4&step_max=4"
        );
        assert_eq!(focus("/ui/compare?run=x&run=y").run.as_deref(), Some("x"));
        assert_eq!(focus("/ui/grades?step_min=x"), Focus::default());
        assert_eq!(focus("/ui/storage?run=r"), Focus::default());
        assert_eq!(Focus::default().link("/ui/grades"), "/ui/grades");
    }

    #[test]
    fn ranges_overlap_inclusively() {
        let focus = Focus {
            run: None,
            from: Some(3),
            to: Some(7),
        };
        for (first, last, overlaps) in [(0, 2, false), (0, 3, true), (7, 9, true), (8, 9, false)] {
            assert_eq!(focus.overlaps(Some(first), Some(last)), overlaps);
        }
        assert!(!focus.overlaps(None, None) && Focus::default().overlaps(None, None));
    }
}
