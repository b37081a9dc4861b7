//! Benchmarks `ocml data`: conversion compared with a program without chat logic, token ids compared
//! with the encoder alone, one core compared with two, memory compared with the size of the input,
//! and how often similar conversations are found. Only for Linux, because of `taskset`.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use openchatml::Format;
use openchatml_bench::clock::{digits, gigabytes, median};
use openchatml_bench::corpus::{Random, corpus, texts};
use openchatml_bench::machine;
use openchatml_tokens::{Encoding as _, O200kHarmony};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The size of the file: so large that the startup of a process is negligible.
const BYTES: usize = 200_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    machine::describe("cargo bench --bench data", &["serde_json"]);
    let ocml = build()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("corpus.jsonl");
    write(&file)?;
    let parts = std::env::args().skip(1).filter(|part| !part.starts_with('-')).collect::<Vec<_>>();
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|it| it == part);
    if wants("convert") {
        convert(&ocml, &file, folder.path())?;
    }
    if wants("tokenize") {
        tokenize(&ocml, &file, folder.path())?;
    }
    if wants("memory") {
        memory(&ocml, &file, folder.path())?;
    }
    if wants("near") {
        near(&ocml, folder.path())?;
    }
    Ok(())
}

/// Builds the command in release mode and returns its path.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .args(["build", "--release", "--locked", "--package", "openchatml-cli"])
        .args(["--no-default-features", "--features", "data"])
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
fn write(path: &Path) -> Result<()> {
    let conversations = corpus(2, BYTES, 4, 1024);
    let mut file = BufWriter::new(File::create(path)?);
    for line in &texts(&conversations, Format::JSON) {
        writeln!(file, "{line}")?;
    }
    file.flush()?;
    Ok(())
}

/// A program on these cores.
fn on(cores: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", cores]).arg(program);
    command
}

/// A command of `ocml data`, whose output is the folder `out`.
fn data(cores: &str, ocml: &Path, args: &[&str], input: &Path, folder: &Path) -> Command {
    let mut command = on(cores, ocml);
    let jobs = if cores.len() == 1 { "1" } else { "2" };
    command.args(["data", args[0]]).args(&args[1..]).arg(input);
    command.args(["--quiet", "--overwrite", "--jobs", jobs, "-o"]).arg(folder.join("out"));
    command
}

fn convert(ocml: &Path, file: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::metadata(file)?.len();
    let plain = |cores| {
        let mut command = on(cores, Path::new(env!("CARGO_BIN_EXE_plain-jsonl")));
        command.arg(file);
        command
    };
    let args = ["convert", "-f", "json", "-t", "json"];
    let gzip = ["convert", "-f", "json", "-t", "json", "--output-format", "jsonl.gz"];
    let parquet = ["convert", "-f", "json", "-t", "json", "--output-format", "parquet"];
    let mut commands = [
        ("`serde_json`, plain structs, one core", plain("0")),
        ("**JSONL to JSONL**, one core", data("0", ocml, &args, file, folder)),
        ("**JSONL to JSONL**, two cores", data("0,1", ocml, &args, file, folder)),
        ("**JSONL to JSONL with gzip**, one core", data("0", ocml, &gzip, file, folder)),
        ("**JSONL to JSONL with gzip**, two cores", data("0,1", ocml, &gzip, file, folder)),
        ("**JSONL to Parquet**, one core", data("0", ocml, &parquet, file, folder)),
        ("**JSONL to Parquet**, two cores", data("0,1", ocml, &parquet, file, folder)),
    ];
    println!("\n### `ocml data convert`, `json` to `json`\n");
    table(&mut commands, bytes, folder)
}

fn tokenize(ocml: &Path, file: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::metadata(file)?.len();
    let args = ["tokenize", "-f", "json", "-t", "harmony", "--output-format", "parquet"];
    let lines = ["tokenize", "-f", "json", "-t", "harmony"];
    let mut commands = [
        ("**JSONL to ids in Parquet**, one core", data("0", ocml, &args, file, folder)),
        ("**JSONL to ids in Parquet**, two cores", data("0,1", ocml, &args, file, folder)),
        ("**JSONL to ids in JSONL**, one core", data("0", ocml, &lines, file, folder)),
        ("**JSONL to ids in JSONL**, two cores", data("0,1", ocml, &lines, file, folder)),
    ];
    println!("\n### `ocml data tokenize`, to Harmony in `o200k_harmony`\n");
    let alone = encoder(file)?;
    println!("The encoder alone, for all texts of the messages: {} ms.\n", digits(alone));
    table(&mut commands, bytes, folder)
}

/// Returns the time that the encoder takes for the bodies of all messages, in milliseconds.
fn encoder(file: &Path) -> Result<f64> {
    let mut text = String::new();
    File::open(file)?.read_to_string(&mut text)?;
    let mut bodies = Vec::new();
    for line in text.lines() {
        let read = openchatml::parse(line, Format::JSON, &Default::default()).into_conversation();
        bodies.extend(read.messages.iter().map(|message| message.body.text().into_owned()));
    }
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let encoding = O200kHarmony::default();
        let mut ids = Vec::new();
        let start = Instant::now();
        for body in &bodies {
            ids.clear();
            encoding.encode(body, &mut ids);
        }
        times.push(start.elapsed());
    }
    Ok(median(times).as_secs_f64() * 1e3)
}

/// Runs the commands alternately, and prints their median costs.
fn table(commands: &mut [(&str, Command)], bytes: u64, folder: &Path) -> Result<()> {
    let mut all = vec![Vec::new(); commands.len()];
    let mut cores = vec![Vec::new(); commands.len()];
    for round in 0..=ROUNDS {
        for (at, (_, command)) in commands.iter_mut().enumerate() {
            let (before, start) = (busy()?, Instant::now());
            let status = command.stdout(File::create(folder.join("plain.jsonl"))?).status()?;
            let wall = start.elapsed();
            if !status.success() {
                return Err(format!("{command:?}: {status}").into());
            }
            if round > 0 {
                all[at].push(wall);
                cores[at].push(busy()?.saturating_sub(before));
            }
        }
    }
    println!("{:.1} MB; median of {ROUNDS} rounds.\n", bytes as f64 / 1e6);
    println!("| job | time in ms | GB/s | time, first = 1 | on cores in ms | first = 1 |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let walls: Vec<Duration> = all.into_iter().map(median).collect();
    let cores: Vec<Duration> = cores.into_iter().map(median).collect();
    for (((name, _), wall), busy) in commands.iter().zip(&walls).zip(&cores) {
        println!(
            "| {name} | {} | {} | {} | {} | {} |",
            digits(wall.as_secs_f64() * 1e3),
            digits(gigabytes(usize::try_from(bytes)?, *wall)),
            digits(wall.as_secs_f64() / walls[0].as_secs_f64()),
            digits(busy.as_secs_f64() * 1e3),
            digits(busy.as_secs_f64() / cores[0].as_secs_f64()),
        );
    }
    Ok(())
}

/// Returns the processor time of the finished child processes.
fn busy() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros)?))
}

/// Compares the peak memory of inputs of different sizes.
fn memory(ocml: &Path, file: &Path, folder: &Path) -> Result<()> {
    println!("\n### Peak memory\n");
    println!("With `--memory 256M`, two cores.\n");
    println!("| input in MB | convert | convert to Parquet | tokenize to Parquet |");
    println!("| ---: | ---: | ---: | ---: |");
    let whole = fs::read(file)?;
    let end = whole[..50_000_000].iter().rposition(|byte| *byte == b'\n').unwrap_or(0) + 1;
    let part = folder.join("part.jsonl");
    fs::write(&part, &whole[..end])?;
    let repeats = std::env::var("BENCH_REPEATS").map_or(Ok(20), |it| it.parse())?;
    for repeats in [1, 10, repeats * 5] {
        // The same file under many names.
        let many = folder.join(format!("many{repeats}"));
        fs::create_dir(&many)?;
        for number in 0..repeats {
            fs::hard_link(&part, many.join(format!("{number:03}.jsonl")))?;
        }
        let peak = |args: &[&str]| peak(data("0,1", ocml, args, &many, folder).args(["--memory", "256M"]));
        println!(
            "| {} | {} | {} | {} |",
            end * repeats / 1_000_000,
            peak(&["convert", "-f", "json", "-t", "json"])?,
            peak(&["convert", "-f", "json", "-t", "json", "--output-format", "parquet"])?,
            peak(&["tokenize", "-f", "json", "-t", "harmony", "--output-format", "parquet"])?,
        );
    }
    Ok(())
}

/// Runs a command, and returns its peak memory in MiB.
fn peak(command: &mut Command) -> Result<String> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or_default());
        std::thread::sleep(Duration::from_millis(5));
    }
    match child.wait()?.success() {
        true => Ok(format!("{} MiB", peak >> 10)),
        false => Err("the command failed".into()),
    }
}

/// The number of pairs of conversations for each similarity.
const PAIRS: usize = 1000;

/// Measures how many pairs of each similarity `dedup --near 0.8` finds.
fn near(ocml: &Path, folder: &Path) -> Result<()> {
    println!("\n### Deduplication\n");
    println!("Pairs of conversations of 400 random words, of which some words are changed; {PAIRS} pairs in each row. The similarity is that of their three-word sequences, counted exactly. `dedup --near 0.8` drops the second one of a pair if it finds the pair.\n");
    println!("| similarity | dropped |");
    println!("| --- | ---: |");
    for wanted in [0.60, 0.65, 0.70, 0.75, 0.78, 0.80, 0.82, 0.85, 0.90, 0.95] {
        let file = folder.join("pairs.jsonl");
        let mut out = BufWriter::new(File::create(&file)?);
        let mut random = Random::new(7);
        let mut exact = Vec::new();
        for pair in 0..PAIRS {
            let words: Vec<String> = (0..400).map(|at| format!("w{pair}x{at}")).collect();
            let mut other = words.clone();
            while similarity(&words, &other) > wanted {
                let at = random.below(400);
                other[at] = format!("n{pair}x{at}");
            }
            exact.push(similarity(&words, &other));
            for words in [&words, &other] {
                writeln!(out, r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#, words.join(" "))?;
            }
        }
        out.flush()?;
        let mut command = data("0,1", ocml, &["dedup", "--near", "0.8"], &file, folder);
        if !command.stdout(Stdio::null()).status()?.success() {
            return Err("dedup failed".into());
        }
        let found = fs::read_to_string(folder.join("out/_duplicates-00000.jsonl")).unwrap_or_default();
        let dropped = found.lines().count() as f64 / PAIRS as f64;
        let mean = exact.iter().sum::<f64>() / exact.len() as f64;
        println!("| {mean:.3} | {:.1} % |", dropped * 100.0);
    }
    Ok(())
}

/// The Jaccard similarity of the three-word sequences of two texts. The role is their first word.
fn similarity(one: &[String], two: &[String]) -> f64 {
    // All words are different, so a sequence is in both if it is at the same place.
    let same = one.windows(3).zip(two.windows(3)).filter(|(one, two)| one == two).count() + 1;
    let all = 2 * (one.len() - 1) - same;
    same as f64 / all as f64
}
