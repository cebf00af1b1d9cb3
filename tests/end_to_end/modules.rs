//! Modules of a crate do not depend on each other in cycles, except for the listed ones.
//!
//! A module depends on the modules whose items it names in `use` declarations and in paths that
//! begin with `crate`, `super` or a child module. An item that a module re-exports belongs to the
//! module that defines it. Test modules are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::{Captures, Regex};

/// Cycles that a recursive grammar or algebra needs, by crate and one of their modules, with the
/// reason.
const RECURSIVE: &[(&str, &str, &str)] = &[
    (
        "core",
        "grader",
        "graders prepare nested tasks through the table",
    ),
    (
        "graders/extraction",
        "quantity",
        "a quantity may be a run of values",
    ),
    (
        "graders/math",
        "compare",
        "the parts of collections and statements are compared recursively",
    ),
    (
        "graders/math",
        "normal::exact",
        "normal forms contain exact arithmetic",
    ),
    ("graders/math", "parse", "the grammar is recursive"),
];

type Module = Vec<String>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folders `src` of the crates, relative to the root.
fn crates() -> Vec<PathBuf> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let paths = Regex::new(r#"(?m)^assay-[a-z-]+ = \{ path = "([^"]+)" \}"#).unwrap();
    let mut crates: Vec<PathBuf> = paths
        .captures_iter(&manifest)
        .map(|found| Path::new(&found[1]).join("src"))
        .collect();
    crates.extend(["services/cli/src", "trainer/app/src"].map(PathBuf::from));
    crates.sort();
    crates.dedup();
    crates
}

/// The source files of a crate by module. Binaries and test modules are not included.
fn modules(src: &Path) -> BTreeMap<Module, String> {
    let mut folders = vec![src.to_owned()];
    let mut modules = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Some(stem) = path.strip_prefix(src).unwrap().to_str() else {
                continue;
            };
            let Some(stem) = stem.strip_suffix(".rs") else {
                continue;
            };
            let mut module: Module = stem.split('/').map(str::to_owned).collect();
            if module.last().is_some_and(|name| name == "mod") {
                module.pop();
            }
            if module == ["lib"] || module == ["main"] {
                module.clear();
            }
            if module.first().is_some_and(|name| name == "bin")
                || module.iter().any(|name| name == "tests")
            {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            modules.insert(module, without_tests(&text));
        }
    }
    modules
}

/// The text without comments and everything after `#[cfg(test)] mod`.
fn without_tests(text: &str) -> String {
    let comments = Regex::new(r"//[^\n]*").unwrap();
    let tests = Regex::new(r"(?s)#\[cfg\(test\)\]\s*(?:pub\(\w+\) )?mod \w+ \{.*").unwrap();
    let text = comments.replace_all(text, "");
    tests.replace(&text, "").into_owned()
}

/// The paths of a tree of `use`.
fn expand(prefix: &[String], tree: &str, paths: &mut Vec<Module>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let mut prefix = prefix.to_vec();
        prefix.extend(
            tree[..open]
                .split("::")
                .filter(|part| !part.trim().is_empty())
                .map(|part| part.trim().to_owned()),
        );
        let inner = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
        let (mut depth, mut start) = (0, 0);
        for (at, character) in inner.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    expand(&prefix, &inner[start..at], paths);
                    start = at + 1;
                }
                _ => {}
            }
        }
        expand(&prefix, &inner[start..], paths);
    } else if !tree.is_empty() {
        let name = tree.split(" as ").next().unwrap_or(tree);
        let mut path = prefix.to_vec();
        path.extend(name.split("::").map(|part| part.trim().to_owned()));
        paths.push(path);
    }
}

/// The absolute path within the crate of a path in `module`; `None` for other crates.
fn absolute(
    module: &Module,
    path: &[String],
    modules: &BTreeMap<Module, String>,
) -> Option<Module> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            let base = &module[..module.len().checked_sub(ups)?];
            Some([base, &path[ups..]].concat())
        }
        child => {
            let candidate = [module.as_slice(), &[child.to_owned()]].concat();
            modules
                .contains_key(&candidate)
                .then(|| [module.as_slice(), path].concat())
        }
    }
}

/// The modules on which each module depends.
fn dependencies(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let uses = Regex::new(r"(?m)^[ \t]*(pub(?:\([a-z ]+\))? )?use ([\w:{},*\s]+);").unwrap();
    let inline = Regex::new(r"\b((?:crate|super)(?:::\w+)+)").unwrap();
    let child = Regex::new(r"\b(\w+)::").unwrap();
    let mut exported: BTreeMap<Module, Module> = BTreeMap::new();
    for (module, text) in modules {
        for found in uses
            .captures_iter(text)
            .filter(|found| found.get(1).is_some())
        {
            let mut paths = Vec::new();
            expand(&[], &found[2], &mut paths);
            for path in paths {
                let target = absolute(module, &path, modules)
                    .unwrap_or_else(|| [module.as_slice(), &path].concat());
                let name = [module.as_slice(), &path[path.len() - 1..]].concat();
                exported.insert(name, target);
            }
        }
    }
    let defining = |mut path: Module| {
        // Re-exports of re-exports are few.
        for _ in 0..4 {
            let next = (1..=path.len()).rev().find_map(|length| {
                let target = exported.get(&path[..length])?;
                let differs = !modules.contains_key(&path[..length]) && *target != path[..length];
                differs.then(|| [target.as_slice(), &path[length..]].concat())
            });
            match next {
                Some(next) => path = next,
                None => break,
            }
        }
        while !path.is_empty() && !modules.contains_key(&path) {
            path.pop();
        }
        path
    };
    let mut dependencies = BTreeMap::new();
    for (module, text) in modules {
        let mut paths = Vec::new();
        // A re-export alone is not a dependency.
        let text = &*uses.replace_all(text, |found: &Captures<'_>| {
            if found.get(1).is_none() {
                expand(&[], &found[2], &mut paths);
            }
            String::new()
        });
        for found in inline.captures_iter(text) {
            paths.push(found[1].split("::").map(str::to_owned).collect());
        }
        for found in child.captures_iter(text) {
            let name = found[1].to_owned();
            if modules.contains_key(&[module.as_slice(), std::slice::from_ref(&name)].concat()) {
                paths.push(vec![name]);
            }
        }
        let targets: BTreeSet<Module> = paths
            .iter()
            .filter_map(|path| absolute(module, path, modules))
            .map(defining)
            .filter(|target| target != module && modules.contains_key(target))
            .collect();
        dependencies.insert(module.clone(), targets);
    }
    dependencies
}

/// The modules that can be reached from a module.
fn reachable(from: &Module, edges: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(module) = open.pop() {
        for next in &edges[&module] {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

#[test]
fn modules_have_no_cycles() {
    let (mut unexpected, mut used) = (Vec::new(), BTreeSet::new());
    let mut count = 0;
    for src in crates() {
        let modules = modules(&root().join(&src));
        count += modules.len();
        let edges = dependencies(&modules);
        let reach: BTreeMap<&Module, BTreeSet<Module>> = edges
            .keys()
            .map(|module| (module, reachable(module, &edges)))
            .collect();
        let mut done = BTreeSet::new();
        for module in edges.keys() {
            let cycle: Vec<String> = reach[module]
                .iter()
                .filter(|other| reach[other].contains(module))
                .map(|other| other.join("::"))
                .collect();
            if cycle.is_empty() || !done.insert(cycle.clone()) {
                continue;
            }
            let folder = src.parent().and_then(Path::to_str).unwrap();
            let is_member = |path: &str, member: &str| {
                path == folder && cycle.iter().any(|module| module == member)
            };
            let allowed = RECURSIVE
                .iter()
                .position(|(path, member, _)| is_member(path, member));
            match allowed {
                Some(index) => {
                    used.insert(index);
                }
                None => unexpected.push(format!("{folder}: {}", cycle.join(" "))),
            }
        }
    }
    assert!(count > 500, "{count} modules");
    assert!(
        unexpected.is_empty(),
        "{} cycles:\n{}",
        unexpected.len(),
        unexpected.join("\n")
    );
    let resolved: Vec<_> = (0..RECURSIVE.len())
        .filter(|index| !used.contains(index))
        .map(|index| RECURSIVE[index])
        .collect();
    assert!(
        resolved.is_empty(),
        "these cycles no longer exist; remove them from the list: {resolved:?}"
    );
}
