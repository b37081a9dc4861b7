//! Tries each change with the tests that reach it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::build::Build;
use super::edit::Number;
use super::reasons::Reasons;
use super::{Mutant, say};

type Result<T> = std::result::Result<T, String>;

/// The test that runs all cases of the conformance suite.
const CASES: &str = "every_case_holds";

/// How many cases of the conformance suite are tried first.
const FEW: usize = 12;

/// A test takes at most this time, and [`SLOWER`] times its own.
const LEAST: Duration = Duration::from_secs(10);

const SLOWER: u32 = 8;

/// A test, or a case of the conformance suite.
struct Unit {
    program: PathBuf,
    test: String,
    case: Option<String>,
    time: Duration,
    reached: HashSet<Number>,
}

/// What the tests say about a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Found,
    Endless,
    Survived,
    Unreached,
}

impl Outcome {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Found, "found"),
        (Self::Endless, "endless"),
        (Self::Survived, "survived"),
        (Self::Unreached, "unreached"),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|it| it.0 == self).map_or("", |it| it.1)
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|it| it.1 == word).map(|it| it.0)
    }
}

/// Tries all changes, writes the results, and returns the changes that no test notices.
pub(super) fn run(folder: &Path, build: &Build) -> Result<Vec<String>> {
    let units = record(folder, build)?;
    let path = folder.join("results.txt");
    let results = known(&path, build);
    let open: Vec<Number> =
        build.mutants.keys().copied().filter(|number| !results.contains_key(number)).collect();
    let file = OpenOptions::new().append(true).create(true).open(&path);
    let file = Mutex::new(file.map_err(|error| error.to_string())?);
    let results = Mutex::new(results);
    let next = AtomicUsize::new(0);
    each_in_parallel(|| {
        while let Some(number) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mutant = &build.mutants[number];
            let outcome = try_one(*number, &units, build);
            let line = format!("{}\t{:016x}\t{}\n", outcome.word(), mutant.version, mutant.name());
            let _ = file.lock().map(|mut file| file.write_all(line.as_bytes()));
            if let Ok(mut results) = results.lock() {
                results.insert(*number, outcome);
                if results.len() % 100 == 0 {
                    say(&format!("{} of {}", results.len(), build.mutants.len()));
                }
            }
        }
    });
    let results = results.into_inner().map_err(|error| error.to_string())?;
    report(folder, build, &results)
}

/// Reads the results of the run before, for functions that have not changed.
fn known(path: &Path, build: &Build) -> BTreeMap<Number, Outcome> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let before: HashMap<(&str, &str), Outcome> = text
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, '\t');
            let outcome = Outcome::of(parts.next()?)?;
            let version = parts.next()?;
            Some(((version, parts.next()?), outcome))
        })
        .collect();
    let of = |mutant: &Mutant| {
        let version = format!("{:016x}", mutant.version);
        before.get(&(version.as_str(), mutant.name().as_str())).copied()
    };
    build.mutants.iter().filter_map(|(number, mutant)| Some((*number, of(mutant)?))).collect()
}

/// Says how many changes the tests notice, writes down those that they do not, and returns those
/// that have no reason.
fn report(
    folder: &Path,
    build: &Build,
    results: &BTreeMap<Number, Outcome>,
) -> Result<Vec<String>> {
    let reasons = Reasons::read()?;
    let count = |outcome| results.values().filter(|it| **it == outcome).count();
    let is_left = |outcome| matches!(outcome, Outcome::Survived | Outcome::Unreached);
    let left = results.iter().filter(|(_, outcome)| is_left(**outcome));
    let (named, left): (Vec<_>, Vec<_>) =
        left.partition(|(number, _)| reasons.has(&build.mutants[number].name()));
    say(&format!(
        "{} changes: {} found by a test, {} endless, {} survived, {} reached by no test \
         ({} of these have a reason); {} more do not compile",
        results.len(),
        count(Outcome::Found),
        count(Outcome::Endless),
        count(Outcome::Survived),
        count(Outcome::Unreached),
        named.len(),
        build.not_compiled,
    ));
    let survivors: Vec<String> = left
        .iter()
        .map(|(number, outcome)| {
            let mutant = &build.mutants[number];
            format!("{} {number}: line {}: {}", outcome.word(), mutant.line, mutant.name())
        })
        .collect();
    let text = survivors.iter().map(|line| format!("{line}\n")).collect::<String>();
    fs::write(folder.join("survivors.txt"), text).map_err(|error| error.to_string())?;
    Ok(survivors)
}

/// Runs this in as many threads as there are processors.
fn each_in_parallel(work: impl Fn() + Sync) {
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(&work);
        }
    });
}

/// Runs each test once and records which changes it reaches.
fn record(folder: &Path, build: &Build) -> Result<Vec<Unit>> {
    let mut waiting = Vec::new();
    for program in &build.tests {
        let output = Command::new(program)
            .args(["--list", "--format=terse"])
            .current_dir(build.tree.join("crates/openchatml"))
            .output()
            .map_err(|error| error.to_string())?;
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        for test in list.lines().filter_map(|line| line.strip_suffix(": test")) {
            let unit = |case| Unit {
                program: program.clone(),
                test: test.to_owned(),
                case,
                time: Duration::ZERO,
                reached: HashSet::new(),
            };
            match test == CASES {
                true => waiting.extend(cases(&build.tree)?.into_iter().map(|it| unit(Some(it)))),
                false => waiting.push(unit(None)),
            }
        }
    }
    let count = waiting.len();
    let waiting = Mutex::new(waiting);
    let units = Mutex::new(Vec::new());
    let failed = Mutex::new(Vec::new());
    each_in_parallel(|| {
        while let Some(mut unit) = waiting.lock().ok().and_then(|mut it| it.pop()) {
            let id = format!("{:?}", thread::current().id());
            let path = folder.canonicalize().unwrap_or_default().join(format!("reached-{id}"));
            let _ = fs::remove_file(&path);
            let start = Instant::now();
            let mut command = command(&unit, build, "record");
            command.env("OPENCHATML_REACHED", &path);
            if let Some(case) = &unit.case {
                command.env("OPENCHATML_CONFORMANCE", case);
            }
            let ended = wait(command, Duration::from_secs(600));
            unit.time = start.elapsed();
            let reached = fs::read_to_string(&path).unwrap_or_default();
            unit.reached = reached.lines().filter_map(|line| line.parse().ok()).collect();
            match ended {
                Some(true) => drop(units.lock().map(|mut units| units.push(unit))),
                _ => drop(failed.lock().map(|mut it| it.push(unit.test.clone()))),
            }
        }
    });
    let failed = failed.into_inner().map_err(|error| error.to_string())?;
    if !failed.is_empty() {
        say(&format!("these tests fail without a change and are not used: {}", failed.join(", ")));
    }
    let mut units = units.into_inner().map_err(|error| error.to_string())?;
    // Those that reach little say most.
    units.sort_by_key(|unit| (unit.time.as_millis() / 300, unit.reached.len()));
    say(&format!("{} of {count} tests recorded", units.len()));
    Ok(units)
}

/// Returns the names of the cases of the conformance suite.
fn cases(tree: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let folders = fs::read_dir(tree.join("conformance")).map_err(|it| it.to_string())?;
    for folder in folders.flatten().filter(|it| it.path().is_dir()) {
        for file in fs::read_dir(folder.path()).map_err(|it| it.to_string())?.flatten() {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            let Ok(table) = text.parse::<toml::Table>() else { continue };
            let cases = table.get("case").and_then(toml::Value::as_array);
            let all = cases.into_iter().flatten();
            names.extend(all.filter_map(|it| Some(it.get("name")?.as_str()?.to_owned())));
        }
    }
    Ok(names)
}

/// Returns the command that runs a test with a change.
fn command(unit: &Unit, build: &Build, mutant: &str) -> Command {
    // A change can ask for all memory.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 8000000; exec \"$0\" \"$@\""]);
    command.arg(&unit.program).args(["--exact", &unit.test]);
    command.current_dir(build.tree.join("crates/openchatml"));
    command.env("CARGO_MANIFEST_DIR", build.tree.join("crates/openchatml"));
    command.env("OPENCHATML_MUTANT", mutant).env("OPENCHATML_CASES", "100");
    command.env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns whether a command succeeds, or `None` if it does not end in time.
fn wait(mut command: Command, time: Duration) -> Option<bool> {
    let start = Instant::now();
    let Ok(mut child) = command.spawn() else { return Some(false) };
    while start.elapsed() < time {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status.success());
        }
        thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Tries a change: with a few cases of the conformance suite, then with quick tests, all cases, and the
/// other tests.
fn try_one(number: Number, units: &[Unit], build: &Build) -> Outcome {
    let reaching = || units.iter().filter(|unit| unit.reached.contains(&number));
    if reaching().next().is_none() {
        return Outcome::Unreached;
    }
    let cases: Vec<&Unit> = reaching().filter(|unit| unit.case.is_some()).collect();
    let (few, more) = cases.split_at(cases.len().min(FEW));
    let tests: Vec<&Unit> = reaching().filter(|unit| unit.case.is_none()).collect();
    let is_quick = |unit: &&&Unit| unit.time < Duration::from_millis(300);
    let quick = tests.iter().filter(is_quick).map(|unit| vec![*unit]);
    let slow = tests.iter().filter(|unit| !is_quick(unit)).map(|unit| vec![*unit]);
    let groups = [few.to_vec()].into_iter().chain(quick).chain([more.to_vec()]).chain(slow);
    for group in groups {
        let Some(first) = group.first() else { continue };
        let mut command = command(first, build, &number.to_string());
        if first.case.is_some() {
            let names: Vec<&str> = group.iter().filter_map(|it| it.case.as_deref()).collect();
            command.env("OPENCHATML_CONFORMANCE", names.join(","));
        }
        let time: Duration = group.iter().map(|unit| unit.time).sum();
        match wait(command, LEAST + time.min(Duration::from_secs(60)) * SLOWER) {
            Some(true) => {}
            Some(false) => return Outcome::Found,
            None => return Outcome::Endless,
        }
    }
    Outcome::Survived
}
