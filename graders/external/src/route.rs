//! The routes of Kimina's Lean server.

/// A route that checks files of Lean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/api/check` of version 2, with snippets.
    Check,
    /// `/verify` of version 1, which version 2 also has, with codes.
    Verify,
}

/// The ends of the paths of routes.
const PATHS: [(&str, Route); 4] = [
    ("/check", Route::Check),
    ("/check/", Route::Check),
    ("/verify", Route::Verify),
    ("/one_pass_verify_batch", Route::Verify),
];

impl Route {
    /// The route of a URL; `None` if it is another one.
    pub(crate) fn of(url: &str) -> Option<Self> {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let found = PATHS.iter().find(|(end, _)| path.ends_with(end));
        found.map(|(_, route)| *route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_by_the_end_of_the_path() {
        for (url, route) in [
            ("https://a/lean/api/check/", Some(Route::Check)),
            ("http://a/api/check?key=1", Some(Route::Check)),
            ("http://a/verify", Some(Route::Verify)),
            ("http://a/", None),
            ("http://a/?x=/verify", None),
        ] {
            assert_eq!(Route::of(url), route, "{url}");
        }
    }
}
