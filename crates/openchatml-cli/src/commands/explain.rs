//! `explain`: explains a diagnostic.

use anstyle::{AnsiColor, Style};
use clap::Args;
use openchatml::Code;

use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::output::Target;

/// The minimum similarity of a name and a code for a suggestion.
const ALIKE: f64 = 0.75;

/// Explain a diagnostic, with an example and its fix
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml explain                   all codes
  ocml explain E-PARSE-HEADER")]
pub(crate) struct ExplainArgs {
    /// The code of the diagnostic (default: list all codes)
    code: Option<String>,
}

/// Runs `explain`.
pub(crate) fn run(args: &ExplainArgs, console: &Console) -> Result<Status, Failure> {
    let has_colors = console.colors_output();
    let text = match &args.code {
        None => list(),
        Some(name) => {
            let code = name.parse::<Code>().map_err(|_| unknown(name))?;
            let text = explained(code);
            if has_colors { styled(&text) } else { text }
        }
    };
    Target::stdout().write(text.as_bytes())?;
    Ok(Status::Fine)
}

/// Returns the explanation of a code, and the summary for end users (OpenChatML 2.2 §14).
fn explained(code: Code) -> String {
    format!("{}\n## Summary for end users\n\n{}\n", code.explanation(), code.user_summary())
}

/// Returns all codes with their titles.
fn list() -> String {
    let wide = Code::ALL.iter().map(|code| code.as_str().len()).max().unwrap_or_default();
    Code::ALL.iter().map(|code| format!("{code:wide$}  {}\n", code.title())).collect()
}

fn unknown(name: &str) -> Failure {
    let name = name.to_uppercase();
    let mut near: Vec<(f64, Code)> = Code::ALL
        .iter()
        .map(|code| (likeness(&name, *code), *code))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    near.sort_by(|one, two| two.0.total_cmp(&one.0));
    let near: Vec<String> = near.iter().take(3).map(|(_, code)| format!("`{code}`")).collect();
    let hint = match near.as_slice() {
        [] => "`ocml explain` lists them all".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Failure::Usage(format!("unknown code `{name}`; {hint}"))
}

/// The similarity of a name and a code, from 0 to 1.
fn likeness(name: &str, code: Code) -> f64 {
    let code = code.as_str();
    // A part of a code counts as a typing error.
    let is_part = name.len() > 2 && code.contains(name);
    if is_part { 1.0 } else { strsim::normalized_damerau_levenshtein(name, code) }
}

/// Markdown for a terminal: headings in bold, code in colour.
fn styled(markdown: &str) -> String {
    let heading = Style::new().bold().underline();
    let code = AnsiColor::Cyan.on_default();
    let mut out = String::with_capacity(markdown.len() * 2);
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            out.push_str(&format!("    {code}{line}{code:#}\n"));
        } else if let Some(title) = line.strip_prefix('#') {
            let title = title.trim_start_matches('#').trim_start();
            out.push_str(&format!("{heading}{title}{heading:#}\n"));
        } else {
            inline(line, code, &mut out);
            out.push('\n');
        }
    }
    out
}

/// Formats a line of text with code between back quotes.
fn inline(line: &str, code: Style, out: &mut String) {
    for (index, part) in line.split('`').enumerate() {
        match index % 2 {
            0 => out.push_str(part),
            _ => out.push_str(&format!("{code}{part}{code:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use openchatml::Code;

    use super::{styled, unknown};

    #[test]
    fn similar_names_are_suggested() {
        let text = unknown("e-parse-heade").to_string();
        assert!(text.contains("did you mean `E-PARSE-HEADER`"), "{text}");
        assert!(unknown("utf8").to_string().contains("`E-PARSE-UTF8`"));
        assert!(unknown("nonsense").to_string().contains("lists them all"));
    }

    #[test]
    fn terminal_output_contains_the_whole_text() {
        for code in Code::ALL {
            let plain = anstream::adapter::strip_str(&styled(code.explanation())).to_string();
            for line in code.explanation().lines().filter(|line| !line.starts_with("```")) {
                let line = line.trim_start_matches(['#', ' ']).replace('`', "");
                assert!(plain.replace('`', "").contains(&line), "{code}: {line}");
            }
        }
    }
}
