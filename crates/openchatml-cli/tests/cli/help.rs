//! Help, manual pages, completions, colours.

use crate::support::{BAD, command, ocml, ocml_with, run};

const COMMANDS: [&str; 15] = [
    "parse",
    "render",
    "convert",
    "check",
    "fmt",
    "show",
    "stream",
    "data",
    "grammar",
    "run",
    "tools",
    "detect",
    "explain",
    "completions",
    "man",
];

#[test]
fn every_command_has_help() {
    let help = ocml(["--help"]).silent().stdout;
    for name in COMMANDS {
        assert!(help.contains(&format!("\n  {name} ")), "{name}");
        for flag in ["-h", "--help"] {
            let help = ocml([name, flag]).silent().stdout;
            assert!(help.contains("Usage: ocml") && help.contains("Examples:"), "{name} {flag}");
        }
    }
    let help = ocml(["convert", "--help"]).silent().stdout;
    assert!(help.contains("A refused line is dropped; --rejects FILE keeps it"), "{help}");
    assert!(ocml(["--version"]).silent().stdout.starts_with("ocml "));
}

#[test]
fn wrong_usage_is_reported() {
    for args in [&[][..], &["nonsense"], &["check", "--nonsense"], &["convert", "file"]] {
        let ran = ocml(args).exits(2);
        assert_eq!(ran.stdout, "");
        assert!(!ran.stderr.is_empty());
    }
}

#[test]
fn every_command_has_a_manual_page() {
    assert!(ocml(["man"]).silent().stdout.contains(".TH ocml 1"));
    for name in COMMANDS {
        let page = ocml(["man", name]).silent().stdout;
        assert!(page.contains(&format!(".TH ocml-{name} 1")), "{name}: {page}");
    }
    ocml(["man", "nonsense"]).says_one_line(2);
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = ocml(["completions", shell]).silent().stdout;
        for word in ["explain", "generation-prompt"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    ocml(["completions", "nonsense"]).exits(2);
}

#[test]
fn colours_depend_on_flags_and_environment() {
    let has_colors = |flags: &[&str], variables: &[(&str, &str)]| {
        let mut check = command(["check"].iter().chain(flags));
        check.envs(variables.iter().copied());
        run(&mut check, BAD).exits(1).stderr.contains('\u{1b}')
    };
    assert!(!has_colors(&[], &[]));
    assert!(!has_colors(&[], &[("NO_COLOR", "1")]));
    assert!(has_colors(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(has_colors(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!has_colors(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colors(&["--color=auto"], &[]));
}

#[test]
fn quiet_and_verbose_conflict() {
    ocml_with(["check", "-q", "-v"], BAD).exits(2);
    ocml_with(["-q", "check", "--lenient"], BAD).exits(1);
}
