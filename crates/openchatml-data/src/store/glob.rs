//! The input files that locations stand for.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::Gitignore;

use super::{STDIN, is_url, store};
use crate::error::DataError;

/// The endings of files that a folder stands for.
const ENDINGS: &[&str] = &["jsonl", "ndjson", "json", "parquet", "arrow", "feather", "ipc"];

/// Files about a data set, in the folders of other libraries.
const ABOUT: &[&str] =
    &["config.json", "dataset_info.json", "dataset_infos.json", "manifest.json", "state.json"];

/// The file with patterns of files that are left out, in a folder on this machine.
const IGNORE: &str = ".ocmlignore";

/// The endings of compressed files.
const PACKED: &[&str] = &["gz", "zst", "zstd"];

/// Returns the files that locations stand for, each as a location: files, all data files of
/// folders, and patterns such as `data/*.parquet`, `train-{0,1}.jsonl` or `s3://bucket/**/*.zst`.
/// The files of a folder or pattern are sorted.
///
/// # Errors
///
/// There are no such files, a file occurs twice, or a pattern is malformed.
pub(crate) fn expand(locations: &[String]) -> Result<Vec<String>, DataError> {
    let mut files = Vec::new();
    for location in locations {
        let is_file = !is_url(location) && Path::new(location).is_file();
        if location == STDIN.0 {
            files.push(location.clone());
            continue;
        }
        let folder = is_folder(location);
        let found = match location.find(['*', '?', '[', '{']) {
            _ if is_file => vec![location.clone()],
            Some(at) if !folder => matching(location, at)?,
            _ if folder => data_of(location)?,
            _ => vec![location.clone()],
        };
        if found.is_empty() {
            let text = match folder {
                true => {
                    format!("the folder `{location}` has no files named *.{}", ENDINGS.join(", *."))
                }
                false => format!("no file matches `{location}`"),
            };
            return Err(DataError::usage(text));
        }
        files.extend(found);
    }
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort();
    if let Some(twice) = sorted.windows(2).find(|two| two[0] == two[1]) {
        return Err(DataError::usage(format!("the input `{}` is named twice", twice[0])));
    }
    Ok(files)
}

fn is_folder(location: &str) -> bool {
    match is_url(location) {
        true => location.ends_with('/'),
        false => Path::new(location).is_dir(),
    }
}

/// Returns the data files of a folder, without those that its lists of ignored files name.
fn data_of(folder: &str) -> Result<Vec<String>, DataError> {
    let files = listed(folder)?;
    let lists = files.iter().filter(|file| !is_url(folder) && file.ends_with(IGNORE));
    let mut ignored: Vec<Gitignore> = Vec::new();
    for path in lists.filter(|file| Path::new(file).file_name().is_some_and(|it| it == IGNORE)) {
        let (list, error) = Gitignore::new(path);
        if let Some(error) = error {
            return Err(DataError::input(path, error));
        }
        ignored.push(list);
    }
    // The list that is nearest to a file decides.
    ignored.sort_by_key(|list| std::cmp::Reverse(list.path().components().count()));
    let is_ignored = |file: &str| {
        let lists = ignored.iter().filter(|list| Path::new(file).starts_with(list.path()));
        let mut found = lists.map(|list| list.matched_path_or_any_parents(file, false));
        found.find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
    };
    let inside = |file: &str| file.strip_prefix(folder).unwrap_or(file).to_owned();
    let is_data = |file: &String| is_data(&inside(file)) && !is_ignored(file);
    Ok(files.into_iter().filter(is_data).collect())
}

/// Whether a file has the name of a data file, and neither it nor a folder around it is hidden.
fn is_data(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let mut words = name.rsplit('.');
    let mut ending = words.next().unwrap_or_default();
    if PACKED.contains(&ending) {
        ending = words.next().unwrap_or_default();
    }
    let has_stem = words.next().is_some();
    let is_about =
        file.split('/').any(|part| part.starts_with(['.', '_'])) || ABOUT.contains(&name);
    has_stem && !is_about && ENDINGS.contains(&ending)
}

/// Returns the files that match a pattern, whose first special character is at this position.
fn matching(pattern: &str, at: usize) -> Result<Vec<String>, DataError> {
    let folder = pattern[..at].rfind('/').map_or("", |end| &pattern[..=end]);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| DataError::usage(format!("`{pattern}`: {error}")))?;
    let matcher: GlobMatcher = glob.compile_matcher();
    let files = listed(if folder.is_empty() { "." } else { folder })?;
    let plain = |file: String| match folder.is_empty() {
        true => file.strip_prefix("./").map_or(file.clone(), str::to_owned),
        false => file,
    };
    Ok(files.into_iter().map(plain).filter(|file| matcher.is_match(file)).collect())
}

/// Returns all files in a folder, as locations.
fn listed(folder: &str) -> Result<Vec<String>, DataError> {
    let (store, path) = store(folder)?;
    let path = path.trim_end_matches('/');
    let files = store.list(if path.is_empty() && !is_url(folder) { "/" } else { path });
    let files = files.map_err(|error| DataError::input(folder, error))?;
    let prefix = match is_url(folder) {
        true => folder.trim_end_matches('/').strip_suffix(path).unwrap_or(folder),
        false => "",
    };
    Ok(files.into_iter().map(|file| format!("{prefix}{file}")).collect())
}

#[cfg(test)]
mod tests {
    use super::{expand, is_data};

    #[test]
    fn patterns_and_folders_stand_for_sorted_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(path("b")).unwrap();
        for name in ["2.jsonl", "1.jsonl", "b/3.parquet", "4.txt", ".5.jsonl", "b/6.jsonl.gz"] {
            std::fs::write(path(name), "").unwrap();
        }
        let files = |location: &str| expand(&[path(location)]);
        assert_eq!(files("*.jsonl").unwrap(), [path(".5.jsonl"), path("1.jsonl"), path("2.jsonl")]);
        assert_eq!(files("{2,3}.jsonl").unwrap(), [path("2.jsonl")]);
        assert_eq!(files("**/*.parquet").unwrap(), [path("b/3.parquet")]);
        let all = [path("1.jsonl"), path("2.jsonl"), path("b/3.parquet"), path("b/6.jsonl.gz")];
        assert_eq!(expand(&[folder.path().display().to_string()]).unwrap(), all);
        assert!(files("*.csv").unwrap_err().to_string().contains("no file matches"));
        assert!(files("[").is_err());
        let twice = expand(&[path("1.jsonl"), path("*.jsonl")]).unwrap_err();
        assert!(twice.to_string().contains("named twice"), "{twice}");
    }

    #[test]
    fn lists_of_ignored_files_count_in_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(path("b")).unwrap();
        for name in ["1.jsonl", "2.jsonl", "b/2.jsonl", "b/3.jsonl"] {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::write(path(".ocmlignore"), "2.jsonl\n").unwrap();
        std::fs::write(path("b/.ocmlignore"), "!2.jsonl\n3.jsonl\n").unwrap();
        let all = expand(&[folder.path().display().to_string()]).unwrap();
        assert_eq!(all, [path("1.jsonl"), path("b/2.jsonl")]);
        assert_eq!(expand(&[path("*.jsonl")]).unwrap(), [path("1.jsonl"), path("2.jsonl")]);
    }

    #[test]
    fn names_of_data_files() {
        for name in ["a.jsonl", "a.json", "x/a.ndjson.zst", "a.b.parquet", "s3://b/a.arrow"] {
            assert!(is_data(name), "{name}");
        }
        for name in [
            "a.gz",
            "dataset_info.json",
            ".a.jsonl",
            "x/_a.parquet",
            ".ipynb_checkpoints/a.jsonl",
            "_old/a.jsonl",
            "jsonl",
            "manifest.json",
        ] {
            assert!(!is_data(name), "{name}");
        }
    }
}
