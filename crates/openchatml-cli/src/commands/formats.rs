//! `formats`: lists the formats, and shows one of them.

use clap::Args;
use openchatml::convert::convert;
use openchatml::{Carrier, Conversation, Dialect, Document, Format, Message, Role, dialects};

use crate::failure::{Failure, Status};
use crate::output::{Target, escape};

/// List the formats, or show one of them with an example
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml formats
  ocml formats harmony")]
pub(crate) struct FormatsArgs {
    /// The format to show
    #[arg(value_parser = dialect)]
    format: Option<&'static Dialect>,
    /// Write one JSON object for each format
    #[arg(long)]
    json: bool,
}

/// Runs `formats`.
pub(crate) fn run(args: &FormatsArgs) -> Result<Status, Failure> {
    let listed = args.format.as_slice();
    let listed = if listed.is_empty() { dialects::ALL } else { listed };
    let mut out = String::new();
    match (args.json, args.format) {
        (true, _) => listed.iter().for_each(|dialect| out.push_str(&json(dialect))),
        (false, Some(dialect)) => out.push_str(&details(dialect)),
        (false, None) => out.push_str(&table()),
    }
    Target::stdout().write(out.as_bytes())?;
    Ok(Status::Fine)
}

/// Parses the name of a format. The carrier does not matter.
fn dialect(name: &str) -> Result<&'static Dialect, String> {
    let (name, is_tokens) = match name.strip_suffix(":tokens") {
        Some(name) => (name, true),
        None => (name, false),
    };
    match name.parse::<Format>() {
        Ok(format) if is_tokens && format.dialect().carriers().all(|it| it != Carrier::Text) => {
            Err(format!("`{name}` has no tokens, because it has no text form"))
        }
        Ok(format) => Ok(format.dialect()),
        Err(error) => Err(format!("{error}\n\n  `ocml formats` lists all formats")),
    }
}

/// Returns the carriers of a dialect, the default one first.
fn carriers(dialect: &'static Dialect) -> Vec<&'static str> {
    let mut carriers: Vec<_> = dialect.carriers().map(Carrier::as_str).collect();
    if dialect.carriers().any(|carrier| carrier == Carrier::Text) {
        carriers.push("tokens");
    }
    carriers
}

/// Lists all formats, one in each line.
fn table() -> String {
    let rows: Vec<_> = dialects::ALL.iter().map(|it| (it.id, carriers(it).join(", "))).collect();
    let width = |of: fn(&(&str, String)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (names, forms) = (width(|row| row.0.len()), width(|row| row.1.len()));
    let mut out = String::new();
    for ((id, carriers), dialect) in rows.iter().zip(dialects::ALL) {
        out.push_str(&format!("{id:names$}  {carriers:forms$}  {}\n", dialect.used_by));
    }
    out.push_str("\nA carrier other than the first is named behind a colon: harmony:tokens. ");
    out.push_str("`ocml formats NAME` shows an example.\n");
    out
}

/// Shows a format with an example.
fn details(dialect: &'static Dialect) -> String {
    let mut out = format!("{}: {}\n", dialect.id, dialect.title);
    if !dialect.aliases.is_empty() {
        out.push_str(&format!("  also named: {}\n", dialect.aliases.join(", ")));
    }
    out.push_str(&format!("  carriers:   {}\n", carriers(dialect).join(", ")));
    out.push_str(&format!("  used by:    {}\n", dialect.used_by));
    let spellings: Vec<_> = dialect.controls.entries().iter().map(|it| it.1).collect();
    if !spellings.is_empty() {
        out.push_str(&format!("  control tokens: {}\n", spellings.join(" ")));
    }
    out.push_str("\nExample:\n");
    for line in example(dialect).lines() {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

fn json(dialect: &'static Dialect) -> String {
    let list = |words: &[&str]| {
        let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        format!("[{}]", quoted.join(","))
    };
    let mut out = format!("{{\"id\":\"{}\",\"aliases\":{}", dialect.id, list(dialect.aliases));
    out.push_str(&format!(",\"carriers\":{}", list(&carriers(dialect))));
    let example = example(dialect);
    let texts = [("title", dialect.title), ("used_by", dialect.used_by), ("example", &example)];
    for (key, text) in texts {
        out.push_str(&format!(",\"{key}\":\""));
        escape(text, &mut out);
        out.push('"');
    }
    out + "}\n"
}

/// Returns a short conversation in the default carrier of the format.
fn example(dialect: &'static Dialect) -> String {
    let messages = [
        Message::new(Role::System, "Be brief."),
        Message::user("What is 2 + 2?"),
        Message::reasoning("Easy."),
        Message::answer("4."),
    ];
    let document: Document<'_> = Conversation::from_messages(messages).into();
    let format = Format::new(dialect, dialect.carrier);
    let written = format.ok().and_then(|it| convert(&document, it, &Default::default()).ok());
    written.map_or_else(String::new, |written| written.output)
}
