//! Describes the environment of the measurements: the machine, the compiler, and the versions of
//! compared packages.

use std::fs;
use std::process::Command;

/// Prints the description as a list, with the command that produces the following tables.
pub fn describe(command: &str, packages: &[&str]) {
    println!("\n## `{command}`\n");
    println!("- Processor: {}, {} cores", processor(), cores());
    println!("- System: {}", system().unwrap_or_else(|| std::env::consts::OS.to_owned()));
    println!("- Compiler: {}", compiler().unwrap_or_else(|| "unknown".to_owned()));
    for package in packages {
        println!("- `{package}` {}", version(package).unwrap_or("of an unknown version"));
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the name of the processor with its model numbers, because virtual machines report vague
/// names.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
    };
    match (field("model name"), field("cpu family"), field("model")) {
        (Some(name), Some(family), Some(model)) => {
            format!("{name} (family {family}, model {model})")
        }
        _ => std::env::consts::ARCH.to_owned(),
    }
}

fn system() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(format!("{}, {}", name.trim_matches('"'), std::env::consts::ARCH))
}

fn compiler() -> Option<String> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(rustc).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Returns the version of a package in these benchmarks.
fn version(package: &str) -> Option<&'static str> {
    let lock = include_str!("../Cargo.lock");
    let (_, entry) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(entry.split_once('"')?.0)
}
