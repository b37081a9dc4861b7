//! Finds the operands of operators.

use std::ops::Range;

use super::scan::{Tag, Token, TokenKind};

/// The comparison operators.
const COMPARISONS: &[&str] = &["==", "!=", "<", ">", "<=", ">="];

/// Words with lower precedence than these operators. They end an operand.
const LOOSE: &[&str] =
    &["and", "or", "not", "if", "else", "in", "elif", "set", "for", "with", "do", "print", "call"];

/// An operator with limited operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `~`, which converts its operands to text.
    Concatenation,
    /// `==` and similar operators, and `in`.
    Comparison,
}

/// The analyzed tokens of a tag.
pub(super) struct Operands<'s> {
    source: &'s str,
    tokens: &'s [Token],
    /// The first token that can start an operand: a statement begins with its name.
    first: usize,
}

impl<'s> Operands<'s> {
    pub(super) fn new(source: &'s str, tag: &'s Tag) -> Self {
        Self { source, tokens: &tag.tokens, first: usize::from(tag.is_block) }
    }

    fn text(&self, at: usize) -> &'s str {
        self.tokens[at].text(self.source)
    }

    /// Returns the operator at a token, if it is one of these.
    pub(super) fn operator(&self, at: usize) -> Option<Operator> {
        match (self.tokens[at].kind, self.text(at)) {
            (TokenKind::Sign, "~") => Some(Operator::Concatenation),
            (TokenKind::Sign, text) if COMPARISONS.contains(&text) => Some(Operator::Comparison),
            (TokenKind::Name, "in") if !self.is_test(at) && !self.is_of_loop(at) => {
                Some(Operator::Comparison)
            }
            _ => None,
        }
    }

    /// Whether a word is the name of a test, an attribute or a filter.
    fn is_test(&self, at: usize) -> bool {
        let before = |steps: usize| at.checked_sub(steps).map(|at| self.text(at));
        matches!(before(1), Some("is" | "." | "|"))
            || (before(1) == Some("not") && before(2) == Some("is"))
    }

    /// Whether an `in` is that of `for x in`.
    fn is_of_loop(&self, at: usize) -> bool {
        let is_for =
            |at: &usize| self.tokens[*at].kind == TokenKind::Name && self.text(*at) == "for";
        let mut before = (0..at).rev();
        // Only names are between the two words.
        let found = before.find(|at| {
            is_for(at)
                || !(self.tokens[*at].kind == TokenKind::Name
                    || matches!(self.text(*at), "," | "(" | ")"))
        });
        found.is_some_and(|at| is_for(&at))
    }

    /// Returns the tokens of both operands of the operator at `at`.
    pub(super) fn of(&self, at: usize, operator: Operator) -> [Range<usize>; 2] {
        let mut before = at;
        // `not in` is one operator.
        if self.text(at) == "in" && at > 0 && self.text(at - 1) == "not" {
            before = at - 1;
        }
        [self.start(before, operator)..before, at + 1..self.end(at + 1, operator)]
    }

    fn start(&self, end: usize, operator: Operator) -> usize {
        let mut depth = 0usize;
        for at in (self.first..end).rev() {
            match self.text(at) {
                _ if self.tokens[at].kind == TokenKind::String => {}
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" if depth == 0 => return at + 1,
                "(" | "[" | "{" => depth -= 1,
                _ if depth == 0 && self.ends_operand(at, operator) => return at + 1,
                _ => {}
            }
        }
        self.first.min(end)
    }

    fn end(&self, start: usize, operator: Operator) -> usize {
        let mut depth = 0usize;
        for at in start..self.tokens.len() {
            match self.text(at) {
                _ if self.tokens[at].kind == TokenKind::String => {}
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return at,
                ")" | "]" | "}" => depth -= 1,
                _ if depth == 0 && self.ends_operand(at, operator) => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Whether the token at `at` cannot be part of an operand of this operator.
    fn ends_operand(&self, at: usize, operator: Operator) -> bool {
        let text = self.text(at);
        if self.tokens[at].kind == TokenKind::Name {
            return LOOSE.contains(&text) && !self.is_test(at) && !self.is_negated_test(at);
        }
        let is_loose = COMPARISONS.contains(&text) || matches!(text, "," | ":" | "=");
        let is_sum = matches!(text, "+" | "-") && self.is_binary(at);
        is_loose || operator == Operator::Concatenation && (text == "~" || is_sum)
    }

    /// Whether a `not` belongs to `is not`.
    fn is_negated_test(&self, at: usize) -> bool {
        self.text(at) == "not" && at > 0 && self.text(at - 1) == "is"
    }

    /// Whether a sign is a binary operator.
    fn is_binary(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        match self.tokens[before].kind {
            TokenKind::String | TokenKind::Number => true,
            TokenKind::Name => !LOOSE.contains(&self.text(before)),
            TokenKind::Sign => matches!(self.text(before), ")" | "]" | "}"),
        }
    }
}
