//! Benchmarks the command `ocml`: JSONL compared with a program without chat logic, and the startup
//! time. Only for Linux, because of `taskset`.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use openchatml::Format;
use openchatml_bench::clock::{Load, digits, gigabytes, median};
use openchatml_bench::corpus::{corpus, load, texts};
use openchatml_bench::machine;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The size of the file: so large that the startup of a process is negligible.
const BYTES: usize = 100_000_000;
const ROUNDS: usize = 9;
const STARTS: usize = 301;

fn main() -> Result<()> {
    machine::describe("cargo bench --bench command", &["serde_json"]);
    let ocml = build()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("corpus.jsonl");
    let load = write(&file)?;
    jsonl(&ocml, &file, load, folder.path())?;
    startup(&ocml)
}

/// Builds the command in release mode and returns its path.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(["build", "--release", "--locked", "--package", "openchatml-cli"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    let messages = String::from_utf8(output.stdout)?;
    let executable = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    let executable = executable.filter(|_| output.status.success());
    executable.ok_or_else(|| "the command cannot be built".into())
}

/// Writes the corpus, one conversation per line.
fn write(path: &Path) -> Result<Load> {
    let conversations = corpus(2, BYTES, 4, 1024);
    let json: Format = "json".parse()?;
    let lines = texts(&conversations, json);
    let mut file = BufWriter::new(File::create(path)?);
    for line in &lines {
        writeln!(file, "{line}")?;
    }
    file.flush()?;
    Ok(load(&lines, &conversations))
}

/// Runs the program on one core.
fn pinned(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program);
    command
}

fn jsonl(ocml: &Path, file: &Path, load: Load, folder: &Path) -> Result<()> {
    let convert = |mut command: Command, jobs: &[&str]| {
        command.args(["convert", "-f", "json", "-t", "json", "--jsonl", "--quiet"]);
        command.args(jobs).arg(file);
        command
    };
    let plain = |mut command: Command| {
        command.arg(file);
        command
    };
    let rival = Path::new(env!("CARGO_BIN_EXE_plain-jsonl"));
    let mut commands = [
        ("`serde_json`, plain structs, on one core", plain(pinned(rival))),
        ("**`ocml convert --jobs 1`**, on one core", convert(pinned(ocml), &["--jobs", "1"])),
        ("`serde_json`, plain structs", plain(Command::new(rival))),
        ("**`ocml convert --jobs 1`**", convert(Command::new(ocml), &["--jobs", "1"])),
        ("**`ocml convert`**", convert(Command::new(ocml), &[])),
    ];
    let wanted = fs::read(file)?;
    let out = folder.join("out.jsonl");
    for (name, command) in &mut commands {
        let status = command.stdout(File::create(&out)?).status()?;
        if !status.success() || fs::read(&out)? != wanted {
            return Err(format!("{name}: this is not what was read").into());
        }
    }
    let costs = costs(&mut commands, ROUNDS)?;
    let Load { bytes, messages } = load;
    println!("\n### JSONL through the command, `json` to `json`\n");
    println!("{:.1} MB, {messages} messages; median of {ROUNDS} rounds.\n", bytes as f64 / 1e6);
    println!(
        "| job | time in ms | GB/s | ns a message | time, first = 1 | on cores in ms | first = 1 |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for ((name, _), Cost { wall, busy }) in commands.iter().zip(&costs) {
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} |",
            digits(wall.as_secs_f64() * 1e3),
            digits(gigabytes(bytes, *wall)),
            digits(wall.as_secs_f64() * 1e9 / messages as f64),
            digits(wall.as_secs_f64() / costs[0].wall.as_secs_f64()),
            digits(busy.as_secs_f64() * 1e3),
            digits(busy.as_secs_f64() / costs[0].busy.as_secs_f64()),
        );
    }
    Ok(())
}

fn startup(ocml: &Path) -> Result<()> {
    let mut version = Command::new(ocml);
    version.arg("--version");
    let mut commands = [("`true`", Command::new("true")), ("**`ocml --version`**", version)];
    let costs = costs(&mut commands, STARTS)?;
    println!("\n### Starting a process\n");
    println!("Median of {STARTS} rounds.\n");
    println!("| command | time in ms | on cores in ms |");
    println!("| --- | ---: | ---: |");
    for ((name, _), Cost { wall, busy }) in commands.iter().zip(&costs) {
        println!(
            "| {name} | {} | {} |",
            digits(wall.as_secs_f64() * 1e3),
            digits(busy.as_secs_f64() * 1e3),
        );
    }
    Ok(())
}

/// The cost of a process: the time from its start to its end, and the processor time of its
/// threads, which does not depend on other load.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    busy: Duration,
}

/// Runs the commands alternately and returns their median costs.
fn costs(commands: &mut [(&str, Command)], rounds: usize) -> Result<Vec<Cost>> {
    let mut all = vec![Vec::with_capacity(rounds); commands.len()];
    for round in 0..=rounds {
        for ((_, command), costs) in commands.iter_mut().zip(&mut all) {
            let (before, start) = (busy()?, Instant::now());
            let status = command.stdout(Stdio::null()).status()?;
            let wall = start.elapsed();
            if !status.success() {
                return Err(format!("{command:?}: {status}").into());
            }
            // The first round warms up.
            if round > 0 {
                costs.push(Cost { wall, busy: busy()?.saturating_sub(before) });
            }
        }
    }
    let costs = all.iter().map(|costs| Cost {
        wall: median(costs.iter().map(|cost| cost.wall).collect()),
        busy: median(costs.iter().map(|cost| cost.busy).collect()),
    });
    Ok(costs.collect())
}

/// Returns the processor time of the finished child processes.
fn busy() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros)?))
}
