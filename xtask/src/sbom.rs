//! A bill of materials of the command `ocml`, or of the Python package: its dependencies, with
//! licences and checksums.
//!
//! `ocml.cdx.json` is CycloneDX 1.6. `ocml-licences.txt` lists the licences, and contains the texts
//! that the packages include. Those of the Python package begin with `openchatml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::dependencies::{self, is_allowed};

/// A product: the package that it is built from, and its name.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    package: &'static str,
    name: &'static str,
}

impl Product {
    /// The command.
    pub(crate) const COMMAND: Self = Self { package: "openchatml-cli", name: "ocml" };
    /// The wheel of the Python package.
    pub(crate) const WHEEL: Self = Self { package: "openchatml-python", name: "openchatml" };
}

/// The beginnings of the names of files with licences.
const LICENCE_FILES: &[&str] =
    &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Writes the files into the folder. Returns what is wrong.
pub(crate) fn write(folder: &Path, product: Product) -> Vec<String> {
    let name = product.name;
    match files(product) {
        Ok(Files { bom, licences, found }) => {
            let written = std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(folder.join(format!("{name}.cdx.json")), bom))
                .and_then(|()| {
                    std::fs::write(folder.join(format!("{name}-licences.txt")), licences)
                });
            let error = written.err().map(|error| format!("{}: {error}", folder.display()));
            found.into_iter().chain(error).collect()
        }
        Err(error) => vec![format!("sbom: {error}")],
    }
}

/// The contents of the files, and what is wrong with the packages.
struct Files {
    bom: String,
    licences: String,
    found: Vec<String>,
}

fn files(product: Product) -> Result<Files, String> {
    let metadata = dependencies::metadata()?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let used = used(product)?;
    let checksums = checksums()?;
    let mut found = Vec::new();
    let mut components = Vec::new();
    let mut root = Value::Null;
    // From the id of cargo to the reference in the file.
    let mut references = BTreeMap::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in packages {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let key = format!("{name} v{version}");
        if !used.contains(&key) {
            continue;
        }
        let purl = format!("pkg:cargo/{name}@{version}");
        let licence = text(package, "license").replace('/', " OR ");
        if !is_allowed(&licence) {
            found.push(format!("{key}: licence `{licence}` is not on the list"));
        }
        let checksum = checksums.get(&key);
        if checksum.is_none() && package["source"].is_string() {
            found.push(format!("{key}: Cargo.lock has no checksum"));
        }
        references.insert(text(package, "id"), purl.clone());
        let component = component(package, product, &purl, &licence, checksum.map(String::as_str));
        let _ = writeln!(list, "{key}: {licence}");
        if name == product.package {
            root = component;
            continue;
        }
        components.push(component);
        for text in licence_texts(package) {
            texts.entry(text).or_default().push(key.clone());
        }
    }
    if references.len() != used.len() {
        found.push(format!("{} packages of {} are known", references.len(), used.len()));
    }
    let bom = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": edges(&metadata, &references),
    });
    let mut licences = format!("The packages of `{}`, and their licences.\n\n{list}", product.name);
    for (text, packages) in texts {
        let line = "-".repeat(80);
        let _ = write!(licences, "\n{line}\n{}\n{line}\n\n{text}\n", packages.join("\n"));
    }
    let bom = serde_json::to_string_pretty(&bom).map_err(|error| error.to_string())? + "\n";
    Ok(Files { bom, licences, found })
}

fn component(
    package: &Value,
    product: Product,
    purl: &str,
    licence: &str,
    checksum: Option<&str>,
) -> Value {
    let is_product = package["name"] == product.package;
    let mut component = json!({
        "type": if is_product { "application" } else { "library" },
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "purl": purl,
        "licenses": [{"expression": licence}],
    });
    if let Some(description) = package["description"].as_str() {
        component["description"] = description.trim().into();
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(repository) = package["repository"].as_str() {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

/// Returns the dependencies between the used packages.
fn edges(metadata: &Value, references: &BTreeMap<&str, String>) -> Vec<Value> {
    let nodes = metadata["resolve"]["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut edges = Vec::new();
    for node in nodes {
        let Some(reference) = references.get(text(node, "id")) else { continue };
        let is_built = |dep: &&Value| {
            let kinds = dep["dep_kinds"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
        };
        let deps = node["deps"].as_array().map(Vec::as_slice).unwrap_or_default();
        let deps = deps.iter().filter(is_built);
        let on: BTreeSet<_> = deps.filter_map(|dep| references.get(text(dep, "pkg"))).collect();
        edges.push(json!({"ref": reference, "dependsOn": on}));
    }
    edges
}

/// Returns `NAME vVERSION` of each package that the product or its build needs, on any target.
fn used(product: Product) -> Result<BTreeSet<String>, String> {
    let tree = [
        "tree",
        "--locked",
        "--package",
        product.package,
        "--edges",
        "normal,build",
        "--target",
        "all",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p}",
    ];
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(tree).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let names = lines.lines().filter(|line| !line.is_empty());
    // After name and version: `(proc-macro)`, or the folder of a package of the workspace.
    Ok(names.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}

/// Returns the checksums in `Cargo.lock`, by `NAME vVERSION`.
fn checksums() -> Result<BTreeMap<String, String>, String> {
    let lock = std::fs::read_to_string("Cargo.lock").map_err(|error| error.to_string())?;
    let lock: toml::Table = lock.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let packages = lock.get("package").and_then(toml::Value::as_array).ok_or("no packages")?;
    let string = |package: &toml::Value, key: &str| {
        package.get(key).and_then(toml::Value::as_str).map(str::to_owned)
    };
    let checksum = |package| {
        let key = format!("{} v{}", string(package, "name")?, string(package, "version")?);
        Some((key, string(package, "checksum")?))
    };
    Ok(packages.iter().filter_map(checksum).collect())
}

/// Returns the texts of the licences that a package contains.
fn licence_texts(package: &Value) -> Vec<String> {
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().unwrap_or(manifest);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_licence = |path: &&std::path::PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_uppercase());
        name.is_some_and(|name| LICENCE_FILES.iter().any(|start| name.starts_with(start)))
    };
    let texts =
        paths.iter().filter(is_licence).filter_map(|path| std::fs::read_to_string(path).ok());
    texts.map(|text| text.trim().replace("\r\n", "\n")).collect()
}

/// Returns a field that is text.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}
