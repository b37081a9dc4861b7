//! Rewrites the source for the engine.
//!
//! Features that the engine lacks become function calls: `{% generation %}` blocks, limits on the
//! values of variables, and limits on operators that convert to text or compare. Only tags change.
//! Positions in the rewritten source can be mapped back to the original.

use std::collections::BTreeSet;
use std::ops::Range;

use super::operands::{Operands, Operator};
use super::scan::{Tag, TemplatePart, TokenKind, scan};

/// The names of the called functions, which do not occur in the source.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Marks the output of a generation block.
    pub(crate) generation: String,
    /// Accepts any values and ignores them.
    pub(crate) see: String,
    /// Returns a value that may be stored.
    pub(crate) keep: String,
    /// Returns the text of a value.
    pub(crate) text: String,
    /// Returns a value that may be compared.
    pub(crate) bounded: String,
}

/// Words that are not names of variables.
const KEY_WORDS: &[&str] = &[
    "and",
    "else",
    "false",
    "False",
    "if",
    "in",
    "is",
    "none",
    "None",
    "not",
    "or",
    "recursive",
    "true",
    "True",
];

/// A rewritten source.
#[derive(Clone, Debug)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    pub(crate) names: Names,
    /// The differences from the original source.
    edits: Vec<Edit>,
}

#[derive(Clone, Debug)]
struct Edit {
    /// The replaced range of the source.
    span: Range<usize>,
    text: String,
}

/// Tokens to wrap in a call.
struct Wrap {
    range: Range<usize>,
    /// The text before the tokens.
    call: String,
    /// The text after the tokens.
    end: String,
}

/// Rewrites the source for the engine.
pub(crate) fn rewrite(source: &str) -> Rewritten {
    let names = Names::unused_in(source);
    let mut edits = Vec::new();
    let tags: Vec<Tag> = scan(source)
        .into_iter()
        .filter_map(|part| match part {
            TemplatePart::Tag(tag) => Some(tag),
            TemplatePart::Text(_) => None,
        })
        .collect();
    for (at, tag) in tags.iter().enumerate() {
        match block_of(source, tag) {
            Some(true) => edits.push(opening(source, &tags[at..], &names)),
            Some(false) => {
                let span = tag.tokens[0].span.clone();
                edits.push(Edit { span, text: "endcall".to_owned() });
            }
            None => edit(source, tag, &names, &mut edits),
        }
    }
    // Jinja normalizes line breaks.
    for (at, _) in source.match_indices('\r') {
        let text = if source[at + 1..].starts_with('\n') { "" } else { "\n" }.to_owned();
        edits.push(Edit { span: at..at + 1, text });
    }
    edits.sort_by_key(|edit| edit.span.start);
    let mut text = String::with_capacity(source.len() + edits.len() * 16);
    let mut at = 0;
    for Edit { span, text: new } in &edits {
        text.push_str(&source[at..span.start]);
        text.push_str(new);
        at = span.end;
    }
    text.push_str(&source[at..]);
    Rewritten { text, names, edits }
}

impl Names {
    fn unused_in(source: &str) -> Self {
        let mut prefix = "ocml".to_owned();
        while source.contains(&prefix) {
            prefix.push('_');
        }
        let name = |word: &str| format!("{prefix}_{word}");
        Self {
            generation: name("generation"),
            see: name("see"),
            keep: name("keep"),
            text: name("text"),
            bounded: name("bounded"),
        }
    }
}

impl Rewritten {
    /// Maps a position in the rewritten source to the original source.
    pub(crate) fn place(&self, at: usize) -> usize {
        // The difference of the positions after the edits so far.
        let (mut added, mut removed) = (0, 0);
        for Edit { span, text } in &self.edits {
            let start = span.start + added - removed;
            if at < start {
                break;
            }
            if at < start + text.len() {
                return span.start;
            }
            added += text.len();
            removed += span.len();
        }
        at + removed - added
    }
}

/// Returns whether a tag opens (`true`) or closes a generation block, or `None` for other tags.
fn block_of(source: &str, tag: &Tag) -> Option<bool> {
    match (tag.tokens.as_slice(), tag.is_block) {
        ([word], true) => match word.text(source) {
            "generation" => Some(true),
            "endgeneration" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the edit of the first of these tags, which opens a generation block.
///
/// A block of the engine captures an outer variable only if it uses it before assigning it, and
/// does not recognize all uses. Therefore all names are used at the beginning of the block.
fn opening(source: &str, tags: &[Tag], names: &Names) -> Edit {
    let mut seen = BTreeSet::new();
    let mut depth = 0usize;
    for tag in tags {
        match block_of(source, tag) {
            Some(true) => depth += 1,
            Some(false) => depth -= 1,
            None => seen.extend(variables(source, tag)),
        }
        if depth == 0 {
            break;
        }
    }
    let seen = seen.into_iter().collect::<Vec<_>>().join(", ");
    let text = format!("call {}() %}}{{% do {}({seen})", names.generation, names.see);
    Edit { span: tags[0].tokens[0].span.clone(), text }
}

/// Returns the names in a tag that may be variables.
fn variables<'s>(source: &'s str, tag: &'s Tag) -> impl Iterator<Item = &'s str> {
    let skipped = usize::from(tag.is_block);
    tag.tokens.iter().enumerate().skip(skipped).filter_map(move |(at, token)| {
        let before = at.checked_sub(1).map(|at| tag.tokens[at].text(source));
        let word = token.text(source);
        let is_one = token.kind == TokenKind::Name
            && !KEY_WORDS.contains(&word)
            && !matches!(before, Some("." | "|" | "is"));
        is_one.then_some(word)
    })
}

/// Adds the edits of a tag, in order.
fn edit(source: &str, tag: &Tag, names: &Names, edits: &mut Vec<Edit>) {
    let tokens = &tag.tokens;
    let mut wraps: Vec<Wrap> = kept(source, tag, names).into_iter().collect();
    let operands = Operands::new(source, tag);
    for at in 0..tokens.len() {
        let Some(operator) = operands.operator(at) else { continue };
        let [left, right] = operands.of(at, operator);
        let is_plain = |range: &Range<usize>| {
            range.len() <= 1
                && range
                    .clone()
                    .all(|at| matches!(tokens[at].kind, TokenKind::String | TokenKind::Number))
        };
        let is_guarded = |range: &Range<usize>| match operator {
            Operator::Concatenation => !is_plain(range),
            // A comparison with a plain value does not examine nested values.
            Operator::Comparison => !is_plain(&left) && !is_plain(&right) && !range.is_empty(),
        };
        let call = match operator {
            Operator::Concatenation => &names.text,
            Operator::Comparison => &names.bounded,
        };
        for range in [&left, &right].into_iter().filter(|range| is_guarded(range)) {
            let call = format!("{call}(");
            if !wraps.iter().any(|wrap| wrap.range == *range && wrap.call == call) {
                wraps.push(Wrap { range: range.clone(), call, end: ")".to_owned() });
            }
        }
    }
    put(tag, wraps, edits);
}

/// Returns the tokens of the value in `{% set x = … %}`.
fn kept(source: &str, tag: &Tag, names: &Names) -> Option<Wrap> {
    let words = || tag.tokens.iter().map(|token| token.text(source));
    if !tag.is_block || words().next() != Some("set") {
        return None;
    }
    let mut depth = 0usize;
    let equals = words().position(|word| {
        match word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && word == "="
    })?;
    // Two parentheses, because `1, 2` is one value.
    let range = equals + 1..tag.tokens.len();
    // The assigned name is used as well, so that blocks capture it.
    let end = match words().collect::<Vec<_>>().get(1..3) {
        Some([namespace, "."]) => format!("), {namespace})"),
        _ => "))".to_owned(),
    };
    (!range.is_empty()).then(|| Wrap { range, call: format!("{}((", names.keep), end })
}

/// Adds the edits that wrap tokens in calls.
fn put(tag: &Tag, mut wraps: Vec<Wrap>, edits: &mut Vec<Edit>) {
    wraps.sort_by_key(|wrap| (wrap.range.start, usize::MAX - wrap.range.end));
    let mut put = Vec::new();
    for (order, Wrap { range, call, end }) in wraps.iter().enumerate() {
        let (first, last) = (&tag.tokens[range.start], &tag.tokens[range.end - 1]);
        // A call that ends at a position comes before one that starts there.
        put.push(((first.span.start, 1, order), call.clone()));
        // If several calls end together, the inner one ends first.
        put.push(((last.span.end, 0, wraps.len() - order), end.clone()));
    }
    put.sort();
    edits.extend(put.into_iter().map(|((at, ..), text)| Edit { span: at..at, text }));
}

#[cfg(test)]
mod tests {
    use super::rewrite;

    fn rewritten(source: &str) -> String {
        let rewritten = rewrite(source);
        for (at, byte) in source.bytes().enumerate() {
            // Every position maps to the same byte of the source, unless it was replaced.
            let there = rewritten.text.char_indices().find(|(to, _)| {
                rewritten.place(*to) == at && rewritten.text.as_bytes()[*to] == byte
            });
            assert!(there.is_some() || source.contains("generation"), "{source} at {at}");
        }
        rewritten.text.replace("ocml_", "@")
    }

    #[test]
    fn generation_blocks_become_calls() {
        let source =
            "{%- generation -%}{{ x.y | z }}{% set a = b is c %}{% endgeneration %}{{ d }}";
        let wanted = "{%- call @generation() %}{% do @see(a, b, x) -%}\
            {{ x.y | z }}{% set a = @keep((b is c)) %}{% endcall %}{{ d }}";
        assert_eq!(rewritten(source), wanted);
        for other in [
            "{# {% generation %} #}",
            "{% raw %}{% generation %}{% endraw %}",
            "{{ '{% generation %}' }}",
            "{% set generation %}",
        ] {
            assert_eq!(rewritten(other), other);
        }
    }

    #[test]
    fn operands_are_wrapped_completely() {
        for (source, wanted) in [
            ("{{ a ~ b }}", "{{ @text(a) ~ @text(b) }}"),
            ("{{ a ~ 'b' ~ c.d[0] }}", "{{ @text(a) ~ 'b' ~ @text(c.d[0]) }}"),
            ("{{ a + b * 2 ~ c|trim }}", "{{ a + @text(b * 2) ~ @text(c|trim) }}"),
            ("{{ (a if b ~ c else d) }}", "{{ (a if @text(b) ~ @text(c) else d) }}"),
            ("{{ f(a ~ -b, c) }}", "{{ f(@text(a) ~ @text(-b), c) }}"),
            ("{{ a == 'b' and c in d }}", "{{ a == 'b' and @bounded(c) in @bounded(d) }}"),
            ("{% if a.b not in c %}", "{% if @bounded(a.b) not in @bounded(c) %}"),
            ("{% if a is not in b %}", "{% if a is not in b %}"),
            ("{% for a, b in c ~ d %}", "{% for a, b in @text(c) ~ @text(d) %}"),
            ("{% for a in b if a == c %}", "{% for a in b if @bounded(a) == @bounded(c) %}"),
            ("{% set a = b ~ c %}", "{% set a = @keep((@text(b) ~ @text(c))) %}"),
            ("{% set a, b = 1, c %}", "{% set a, b = @keep((1, c)) %}"),
            ("{% set n.a = b < c %}", "{% set n.a = @keep((@bounded(b) < @bounded(c)), n) %}"),
            ("{% set a | f(b=1) %}", "{% set a | f(b=1) %}"),
        ] {
            assert_eq!(rewritten(source), wanted);
        }
    }

    #[test]
    fn line_breaks_are_normalized() {
        let rewritten = rewrite("a\r\n{{ b ~\r'\r\n' }}\r");
        assert_eq!(rewritten.text.replace("ocml_", "@"), "a\n{{ @text(b) ~\n'\n' }}\n");
        assert_eq!(rewritten.place(rewritten.text.rfind('}').unwrap()), 16);
    }

    #[test]
    fn generated_names_do_not_occur_in_the_source() {
        let rewritten = rewrite("{% set ocml_x = a ~ ocml__b %}");
        assert!(
            rewritten.text.contains(" = ocml____keep((ocml____text(a) ~ "),
            "{}",
            rewritten.text
        );
    }
}
