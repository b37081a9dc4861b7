//! Rules about dependencies: their number, their licences, their direction.

use std::collections::{HashMap, HashSet};
use std::process::Command;

use serde_json::Value;

/// The allowed licences of dependencies.
const LICENCES: &[&str] = &[
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unlicense",
    "Zlib",
    "Unicode-3.0",
    // For data: the certificates that Mozilla trusts.
    "CDLA-Permissive-2.0",
    // A dedication to the public domain: a hash in a build script of `ahash`, which `arrow` needs.
    "CC0-1.0",
];

/// The maximum number of dependencies of the core, including indirect ones.
const MOST_IN_CORE: usize = 15;

/// Checks the output of `cargo metadata`.
pub(crate) fn check() -> Vec<String> {
    let metadata = match metadata() {
        Ok(metadata) => metadata,
        Err(error) => return vec![format!("cargo metadata: {error}")],
    };
    let mut found = Vec::new();
    let empty = Vec::new();
    let packages = metadata["packages"].as_array().unwrap_or(&empty);
    for package in packages {
        check_package(package, &mut found);
    }
    let core = closure(&metadata, "openchatml");
    if core.len() > MOST_IN_CORE {
        found.push(format!("openchatml: {} dependencies, at most {MOST_IN_CORE}", core.len()));
    }
    found
}

/// Returns the metadata of the workspace.
pub(crate) fn metadata() -> Result<Value, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn check_package(package: &Value, found: &mut Vec<String>) {
    let name = package["name"].as_str().unwrap_or_default();
    let Some(source) = package["source"].as_str() else { return };
    if !source.starts_with("registry+") {
        found.push(format!("{name}: comes from {source}, not from the registry"));
    }
    let licence = package["license"].as_str().unwrap_or_default();
    if !is_allowed(licence) {
        found.push(format!("{name}: licence `{licence}` is not on the list"));
    }
}

/// Whether one alternative of a licence expression is completely allowed.
pub(crate) fn is_allowed(expression: &str) -> bool {
    let clean = expression.replace(['(', ')'], "").replace('/', " OR ");
    clean.split(" OR ").any(|choice| {
        let mut parts = choice.split(" AND ");
        parts.all(|part| {
            let licence = part.split(" WITH ").next().unwrap_or_default().trim();
            LICENCES.contains(&licence)
        })
    })
}

/// Returns the names of all dependencies of `root` without its features.
fn closure(metadata: &Value, root: &str) -> HashSet<String> {
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let own = packages.iter().find(|package| package["name"] == root);
    let declared = own.and_then(|package| package["dependencies"].as_array());
    let optional: HashSet<&str> = declared
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["optional"] == true)
        .filter_map(|dependency| dependency["name"].as_str())
        .collect();
    let mut edges: HashMap<&str, Vec<&str>> = HashMap::new();
    let nodes = metadata["resolve"]["nodes"].as_array().cloned().unwrap_or_default();
    for node in &nodes {
        let id = node["id"].as_str().unwrap_or_default();
        let normal = |dep: &&Value| {
            let kinds = dep["dep_kinds"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        };
        let deps = node["deps"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_root = own.is_some_and(|package| package["id"] == node["id"]);
        let is_wanted = |dep: &&Value| {
            !is_root || dep["name"].as_str().is_none_or(|name| !optional.contains(name))
        };
        let deps = deps.iter().filter(normal).filter(is_wanted);
        let deps = deps.filter_map(|dep| dep["pkg"].as_str());
        edges.insert(id, deps.collect());
    }
    let start = own.and_then(|package| package["id"].as_str());
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = start.into_iter().collect();
    while let Some(id) = open.pop() {
        for next in edges.get(id).into_iter().flatten() {
            if seen.insert((*next).to_owned()) {
                open.push(next);
            }
        }
    }
    seen
}
