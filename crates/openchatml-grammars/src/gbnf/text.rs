//! Rules for text that does not spell control tokens.
//!
//! GBNF matches characters, including those in the spelling of a control token: an engine would
//! accept the token where the grammar allows text. Therefore an automaton matches text and never
//! completes a spelling.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::rules::{Rules, class};
use crate::tokens::{Region, Tokens};

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A body. `ends` says that a spelled control token follows it.
    Body { region: Region, ends: bool },
    /// The rest of a JSON string, including its closing quote.
    JsonString(Region),
}

/// The state of the automaton: the end of the matched text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// A prefix of a spelling.
    prefix: String,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Plain,
    /// A `<` precedes the prefix, so it is escaped.
    Escaped,
    /// Inside a literal block.
    Literal,
}

impl State {
    const FIRST: Self = Self { prefix: String::new(), mode: Mode::Plain };
}

struct Automaton<'o> {
    kind: Kind,
    /// The spellings that must never be complete.
    tokens: Vec<&'o str>,
    /// The spellings that may be complete only if they are escaped.
    spelled: Vec<&'o str>,
    escapes: bool,
    literal: Option<[&'static str; 2]>,
}

/// Adds the rules of a text. Returns the name of the first rule.
pub(super) fn text(rules: &mut Rules, kind: Kind, tokens: Tokens<'_>) -> String {
    let (name, region) = match kind {
        Kind::Body { region, ends: false } => ("text", region),
        Kind::Body { region, ends: true } => ("text-to-end", region),
        Kind::JsonString(region) => ("string", region),
    };
    let region = tokens.region(region);
    let name = named(name, region);
    if rules.has(&name) {
        return name;
    }
    automaton(kind, tokens).write(rules, &name);
    name
}

fn automaton<'o>(kind: Kind, tokens: Tokens<'o>) -> Automaton<'o> {
    let (Kind::Body { region, .. } | Kind::JsonString(region)) = kind;
    let mut known: Vec<&'o str> = tokens.others().into_iter().collect();
    for token in tokens.tokens() {
        known.push(token);
    }
    Automaton {
        kind,
        tokens: known,
        spelled: tokens.spelled(tokens.region(region)).collect(),
        escapes: tokens.escapes(),
        literal: tokens.literal().filter(|_| matches!(kind, Kind::Body { .. })),
    }
}

/// Returns the name of the rule of a state.
fn numbered(name: &str, number: usize) -> String {
    match number {
        0 => name.to_owned(),
        number => format!("{name}-{number}"),
    }
}

/// Returns the first characters of control tokens in the rest of a JSON string, each with the rule
/// for the text after it, or none for a token of one character. `name` is the rule for the rest.
pub(super) fn first_characters(
    region: Region,
    tokens: Tokens<'_>,
    name: &str,
) -> Vec<(char, Option<String>)> {
    let automaton = automaton(Kind::JsonString(region), tokens);
    let mut known = vec![State::FIRST];
    let mut number = |state: State| {
        // The same order as that of the rules.
        let at = known.iter().position(|it| *it == state).unwrap_or(known.len());
        if at == known.len() {
            known.push(state);
        }
        numbered(name, at)
    };
    let first = State::FIRST;
    let after = |c: char| (c, automaton.step(&first, c).map(&mut number));
    automaton.specials(&first).into_iter().map(after).collect()
}

/// Returns the name of a rule that differs between regions.
pub(super) fn named(name: &str, region: Region) -> String {
    match region {
        Region::Hidden => format!("hidden-{name}"),
        Region::Visible => name.to_owned(),
    }
}

impl Automaton<'_> {
    fn write(&self, rules: &mut Rules, name: &str) {
        let mut known = HashMap::from([(State::FIRST, 0_usize)]);
        let mut open = vec![State::FIRST];
        let mut at = 0;
        while let Some(state) = open.get(at).cloned() {
            let mut place = |state: State| {
                let next = open.len();
                let number = *known.entry(state.clone()).or_insert(next);
                if number == next {
                    open.push(state);
                }
                numbered(name, number)
            };
            let specials = self.specials(&state);
            let mut out = String::new();
            let other = self.other(&state);
            let excluded: String = specials.iter().collect();
            let json = matches!(self.kind, Kind::JsonString(_));
            let _ = write!(out, "[^{}{}]", class(&excluded), if json { JSON } else { "" });
            let _ = write!(out, " {}", place(other.clone()));
            for special in specials {
                if let Some(next) = self.step(&state, special) {
                    let _ = write!(out, " | [{}] {}", class(&special.to_string()), place(next));
                }
            }
            if json {
                let _ = write!(out, " | {} {}", rules.escape(), place(other));
                out.push_str(" | \"\\\"\"");
            } else if self.accepts(&state) {
                out.push_str(" | \"\"");
            }
            rules.add(&numbered(name, at), &out);
            at += 1;
        }
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        let ends = self.literal.iter().map(|literal| literal[1]);
        self.tokens.iter().chain(&self.spelled).copied().chain(ends)
    }

    /// Returns the characters that lead to a special state.
    fn specials(&self, state: &State) -> Vec<char> {
        // A character class must not be empty, even without spellings.
        let mut specials = vec!['<'];
        for begun in suffixes(&state.prefix).chain([""]) {
            let next = |spelling: &str| spelling.strip_prefix(begun)?.chars().next();
            specials.extend(self.all().filter_map(next));
        }
        specials.sort_unstable();
        specials.dedup();
        specials
    }

    /// Returns the state after a character that continues no spelling.
    fn other(&self, state: &State) -> State {
        let mode = if state.mode == Mode::Literal { Mode::Literal } else { Mode::Plain };
        State { prefix: String::new(), mode }
    }

    fn step(&self, state: &State, c: char) -> Option<State> {
        let next = format!("{}{c}", state.prefix);
        if suffixes(&next).any(|suffix| self.tokens.contains(&suffix)) {
            return None;
        }
        if let Some([opening, closing]) = self.literal {
            if state.mode == Mode::Literal && next == closing {
                return Some(State { prefix: String::new(), mode: Mode::Plain });
            }
            if state.mode == Mode::Plain && next == opening {
                return Some(State { prefix: String::new(), mode: Mode::Literal });
            }
        }
        if self.spelled.contains(&next.as_str()) {
            return (state.mode != Mode::Plain).then(|| self.other(state));
        }
        let begins = |text: &str| self.all().any(|spelling| spelling.starts_with(text));
        let Some(prefix) = suffixes(&next).find(|suffix| begins(suffix)) else {
            return Some(self.other(state));
        };
        let mode = match state.mode {
            mode if prefix == next => mode,
            Mode::Literal => Mode::Literal,
            _ if next == "<<" && self.escapes => Mode::Escaped,
            _ => Mode::Plain,
        };
        Some(State { prefix: prefix.to_owned(), mode })
    }

    fn accepts(&self, state: &State) -> bool {
        let ends = matches!(self.kind, Kind::Body { ends: true, .. });
        // A `<` would escape the following spelling.
        let escapes = ends && self.escapes && state.prefix == "<";
        state.mode != Mode::Literal && !escapes
    }
}

/// The characters that JSON strings must escape, as part of a character class.
const JSON: &str = r"\u0022\u005C\u0000-\u001F";

/// Returns all suffixes of a text, the longest first.
fn suffixes(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, _)| &text[at..])
}
