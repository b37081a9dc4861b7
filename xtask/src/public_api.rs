//! Compares the public API of each published crate with its list in the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use public_api::Builder;
use serde_json::Value;

use crate::dependencies::metadata;

/// The file with the list, in the folder of a crate.
const LIST: &str = "public-api.txt";

/// The help for a list that differs.
const HELP: &str = "if the change is meant: `cargo xtask public-api --update`, commit the list, and \
    say in CHANGELOG.md what users notice";

/// A published crate and its files.
struct Crate {
    /// The JSON output of rustdoc.
    json: PathBuf,
    list: PathBuf,
}

/// Compares the lists with the code, or updates them.
pub(crate) fn check(update: bool) -> Vec<String> {
    match compare(update) {
        Ok(mut found) => {
            if !found.is_empty() {
                found.push(HELP.to_owned());
            }
            found
        }
        Err(error) => vec![format!("public-api: {error}")],
    }
}

fn compare(update: bool) -> Result<Vec<String>, String> {
    let crates = crates()?;
    run_rustdoc()?;
    let mut found = Vec::new();
    for Crate { json, list } in crates {
        let is = public_items(&json)?;
        if update {
            fs::write(&list, is).map_err(|error| format!("{}: {error}", list.display()))?;
            continue;
        }
        let was = fs::read_to_string(&list).unwrap_or_default();
        let changes = changes(&was, &is);
        if !changes.is_empty() {
            found.push(format!("{}: the public API differs", list.display()));
            found.extend(changes);
        }
    }
    Ok(found)
}

/// Returns the published libraries of the workspace.
fn crates() -> Result<Vec<Crate>, String> {
    let metadata = metadata()?;
    let target = Path::new(metadata["target_directory"].as_str().unwrap_or("target"));
    let members = metadata["workspace_members"].as_array().ok_or("there are no members")?;
    let packages = metadata["packages"].as_array().ok_or("there are no packages")?;
    let published =
        packages.iter().filter(|it| members.contains(&it["id"]) && it["publish"].is_null());
    let mut crates = Vec::new();
    for package in published {
        let Some(name) = library(package) else { continue };
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        crates.push(Crate {
            json: target.join("doc").join(format!("{name}.json")),
            list: manifest.with_file_name(LIST),
        });
    }
    Ok(crates)
}

/// Returns the name of the library of a package.
fn library(package: &Value) -> Option<&str> {
    let is_library = |target: &&Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib"))
    };
    package["targets"].as_array()?.iter().find(is_library)?["name"].as_str()
}

/// Runs rustdoc with JSON output, which is unstable. `.ci/rustdoc` enables it only for rustdoc, so
/// that compiled code is not built again.
fn run_rustdoc() -> Result<(), String> {
    let rustdoc = std::env::current_dir().map_err(|error| error.to_string())?.join(".ci/rustdoc");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(["doc", "--quiet", "--workspace", "--lib", "--no-deps", "--all-features", "--locked"])
        .env("RUSTDOC", rustdoc)
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json --cap-lints=allow")
        .status()
        .map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err("rustdoc failed".to_owned()) }
}

/// Returns the public items, one per line, without auto traits and blanket implementations.
fn public_items(json: &Path) -> Result<String, String> {
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| format!("{}: {error}", json.display()))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// Returns the removed and the added lines.
fn changes(was: &str, is: &str) -> Vec<String> {
    let gone = was.lines().filter(|line| !is.lines().any(|other| other == *line));
    let new = is.lines().filter(|line| !was.lines().any(|other| other == *line));
    gone.map(|line| format!("-{line}")).chain(new.map(|line| format!("+{line}"))).collect()
}
