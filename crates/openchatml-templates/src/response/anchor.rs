//! Anchors of regions: literals and patterns, as automata.

use std::sync::Arc;

use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{Compiler, Config, NFA, State};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

/// The maximum size of a compiled pattern in bytes.
const MOST_BYTES: usize = 4 << 20;

/// Where a region begins or ends: one of several literals, or a pattern.
#[derive(Clone, Debug)]
pub(super) struct Anchor(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    nfa: NFA,
    vm: PikeVM,
    /// The bytes that a match can begin with.
    first: [bool; 256],
    names: Vec<String>,
}

/// Where an anchor matches without text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// Nowhere.
    Never,
    /// At the beginning of the text.
    AtStart,
    /// At the end of the text.
    AtEnd,
    /// Also elsewhere.
    Anywhere,
}

impl Anchor {
    /// Compiles literals. The longest one that matches counts.
    pub(super) fn literals(all: &[String]) -> Result<Self, String> {
        let mut sorted: Vec<&String> = all.iter().collect();
        sorted.sort_by_key(|literal| std::cmp::Reverse(literal.len()));
        let escaped: Vec<String> = sorted.into_iter().map(|literal| escape(literal)).collect();
        Self::compile(&escaped.join("|"))
    }

    /// Compiles a pattern with the rules of Python: `.` also matches line breaks, and `^` and `$`
    /// match only at the ends of the text.
    pub(super) fn pattern(source: &str) -> Result<Self, String> {
        if let Some(what) = unsupported(source) {
            return Err(format!(
                "{what} is not supported: patterns must match in linear time without backtracking"
            ));
        }
        Self::compile(&with_rust_end(source))
    }

    fn compile(source: &str) -> Result<Self, String> {
        let rules = syntax::Config::new().dot_matches_new_line(true);
        let config = Config::new().nfa_size_limit(Some(MOST_BYTES));
        let nfa = Compiler::new().syntax(rules).configure(config).build(source);
        let nfa = nfa.map_err(|error| {
            let error = std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), ToString::to_string);
            format!("invalid pattern: {}", error.lines().last().unwrap_or_default().trim())
        })?;
        let looks = nfa.look_set_any().remove(Look::Start).remove(Look::End);
        if !looks.is_empty() {
            return Err("word boundaries and line anchors are not supported".to_owned());
        }
        let vm = PikeVM::new_from_nfa(nfa.clone()).map_err(|error| error.to_string())?;
        let names = nfa.group_info().pattern_names(regex_automata::PatternID::ZERO);
        let names = names.flatten().map(str::to_owned).collect();
        let first = first_bytes(&nfa);
        Ok(Self(Arc::new(Compiled { nfa, vm, first, names })))
    }

    pub(super) fn nfa(&self) -> &NFA {
        &self.0.nfa
    }

    /// Whether a match can begin with this byte.
    pub(super) fn begins_with(&self, byte: u8) -> bool {
        self.0.first[usize::from(byte)]
    }

    /// The names of the groups.
    pub(super) fn names(&self) -> &[String] {
        &self.0.names
    }

    /// Where the anchor matches without text.
    pub(super) fn empty(&self) -> Empty {
        let reaches = |at_start: bool, at_end: bool| {
            let mut is_match = false;
            let mut look = |state: &State| is_match |= matches!(state, State::Match { .. });
            walk(&self.0.nfa, at_start, at_end, &mut look);
            is_match
        };
        match (reaches(true, false), reaches(false, true)) {
            (false, false) => Empty::Never,
            (false, true) => Empty::AtEnd,
            (true, false) => Empty::AtStart,
            (true, true) => Empty::Anywhere,
        }
    }

    /// Returns the named groups of a match: all of `text`.
    pub(super) fn captures(&self, text: &str) -> Vec<(String, String)> {
        if self.0.names.is_empty() {
            return Vec::new();
        }
        let groups = self.matches(text, true).into_iter().next().unwrap_or_default();
        groups.into_iter().filter_map(|(name, found)| Some((name, found?))).collect()
    }

    /// Returns the named groups of all matches in a text, one after the other. A group that is in no
    /// part of the match is `None`.
    pub(super) fn all_captures(&self, text: &str) -> Vec<Vec<(String, Option<String>)>> {
        self.matches(text, false)
    }

    /// Whether a text consists of matches and white space.
    pub(super) fn is_all_of(&self, text: &str) -> bool {
        let mut at = 0;
        for found in self.0.vm.find_iter(&mut self.0.vm.create_cache(), text) {
            if !text[at..found.start()].trim().is_empty() {
                return false;
            }
            at = found.end();
        }
        text[at..].trim().is_empty()
    }

    fn matches(&self, text: &str, is_anchored: bool) -> Vec<Vec<(String, Option<String>)>> {
        let vm = &self.0.vm;
        let (mut cache, mut found) = (vm.create_cache(), vm.create_captures());
        let anchored = if is_anchored { Anchored::Yes } else { Anchored::No };
        let mut at = 0;
        let mut all = Vec::new();
        while at <= text.len() {
            let input = Input::new(text).span(at..text.len()).anchored(anchored);
            vm.captures(&mut cache, input, &mut found);
            let Some(whole) = found.get_match() else { break };
            let groups = self.0.names.iter().map(|name| {
                let span = found.get_group_by_name(name);
                (name.clone(), span.map(|span| text[span.range()].to_owned()))
            });
            all.push(groups.collect());
            if is_anchored {
                break;
            }
            // A match without text moves on by one character.
            let step = text[whole.end()..].chars().next().map_or(1, char::len_utf8);
            at = whole.end() + if whole.is_empty() { step } else { 0 };
        }
        all
    }
}

/// Escapes a literal for a pattern.
fn escape(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len() * 2);
    for c in literal.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    // `\<` and `\>` are word boundaries in the syntax of the library.
    out.replace("\\<", "<").replace("\\>", ">")
}

/// Returns the feature in a pattern that needs backtracking.
fn unsupported(source: &str) -> Option<&'static str> {
    let mut rest = source.chars();
    let mut in_class = false;
    let mut last = ' ';
    while let Some(c) = rest.next() {
        let text = rest.as_str();
        match c {
            '\\' => match rest.next() {
                Some('1'..='9') if !in_class => return Some("a back-reference"),
                Some('b' | 'B') if !in_class => return Some("a word boundary"),
                Some(_) | None => {}
            },
            '[' if !in_class => in_class = true,
            ']' if in_class => in_class = false,
            _ if in_class => {}
            '(' if ["?=", "?!", "?<=", "?<!"].iter().any(|it| text.starts_with(it)) => {
                return Some("look-around");
            }
            '(' if text.starts_with("?>") => return Some("an atomic group"),
            '(' if text.starts_with("?P=") => return Some("a back-reference"),
            '(' if text.starts_with("?(") => return Some("a conditional group"),
            '+' if matches!(last, '*' | '+' | '?' | '}') => return Some("a possessive quantifier"),
            _ => {}
        }
        last = if c == '\\' { ' ' } else { c };
    }
    None
}

/// Writes the `\Z` of Python as the `\z` of the library.
fn with_rust_end(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source.chars();
    while let Some(c) = rest.next() {
        out.push(c);
        if c == '\\'
            && let Some(next) = rest.next()
        {
            out.push(if next == 'Z' { 'z' } else { next });
        }
    }
    out
}

/// Calls `visit` with each state that is reached from the start without text.
fn walk(nfa: &NFA, at_start: bool, at_end: bool, mut visit: impl FnMut(&State)) {
    let mut seen = vec![false; nfa.states().len()];
    let mut stack: Vec<StateID> = vec![nfa.start_anchored()];
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut seen[id.as_usize()], true) {
            continue;
        }
        let state = nfa.state(id);
        visit(state);
        match state {
            State::Look { look: Look::End, .. } if !at_end => {}
            State::Look { look: Look::Start, .. } if !at_start => {}
            State::Look { next, .. } | State::Capture { next, .. } => stack.push(*next),
            State::Union { alternates } => stack.extend(alternates.iter()),
            State::BinaryUnion { alt1, alt2 } => stack.extend([*alt1, *alt2]),
            State::ByteRange { .. }
            | State::Sparse(_)
            | State::Dense(_)
            | State::Fail
            | State::Match { .. } => {}
        }
    }
}

/// Returns the bytes that a match can begin with.
fn first_bytes(nfa: &NFA) -> [bool; 256] {
    let mut first = [false; 256];
    walk(nfa, true, false, |state| {
        for (byte, begins) in (0..=u8::MAX).zip(&mut first) {
            *begins |= next(state, byte).is_some();
        }
    });
    first
}

/// Returns the state after a byte.
pub(super) fn next(state: &State, byte: u8) -> Option<StateID> {
    match state {
        State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
        State::Sparse(sparse) => sparse.matches_byte(byte),
        State::Dense(dense) => dense.matches_byte(byte),
        State::Look { .. }
        | State::Union { .. }
        | State::BinaryUnion { .. }
        | State::Capture { .. }
        | State::Fail
        | State::Match { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Anchor, Empty};

    #[test]
    fn what_needs_backtracking_is_refused() {
        let bad = [
            ("(?=a)b", "look-around"),
            ("a(?!b)", "look-around"),
            ("(?<=a)b", "look-around"),
            ("(?<!a)b", "look-around"),
            (r"(a)\1", "back-reference"),
            ("(?P<n>a)(?P=n)", "back-reference"),
            ("(?>a)", "atomic"),
            ("a++", "possessive"),
            (r"\bword", "word boundary"),
            ("(?m)^a", "line anchors"),
            ("(", "invalid pattern"),
            (r"\w{1000000}", "invalid pattern"),
        ];
        for (source, words) in bad {
            let error = Anchor::pattern(source).unwrap_err();
            assert!(error.contains(words), "{source}: {error}");
        }
        for good in [r"a+?b", r"[?=b(]", r"(?P<name>\w+)", r"a\Z", r"\(?=", "(?i:A)", r"\p{L}"] {
            assert!(Anchor::pattern(good).is_ok(), "{good}: {:?}", Anchor::pattern(good));
        }
    }

    #[test]
    fn empty_matches_are_known() {
        let empty = |source| Anchor::pattern(source).unwrap().empty();
        assert_eq!(empty("a"), Empty::Never);
        assert_eq!(empty(r"a|\Z"), Empty::AtEnd);
        assert_eq!(empty("a*"), Empty::Anywhere);
        assert_eq!(empty("^"), Empty::AtStart);
        assert_eq!(empty(r"(?:^|<a>\s*)"), Empty::AtStart);
        assert_eq!(empty(r"^\Z"), Empty::Never);
        assert_eq!(empty(r"a\Z"), Empty::Never);
    }

    #[test]
    fn literals_are_no_patterns() {
        let literal = "<|a.b|>\\é [x]#-&~";
        let anchor = Anchor::literals(&[literal.to_owned()]).unwrap();
        assert_eq!(anchor.all_captures(&format!("{literal}{literal}")).len(), 2);
        assert!(anchor.all_captures("<|axb|>\\é [x]#-&~").is_empty());
    }
}
