//! The control tokens in the body of a message that are read as text.

use super::attributes::{STRING, escaped, kind_of};
use super::between::{Kind, breaks};
use super::call::tail_of_listed;
use super::parameters::{Parameter, ParameterValue, parameters};
use super::quote::Quote;
use super::{InnerCalls, Rules};
use super::{elements, tree};
use crate::Control;
use crate::grammar::python;
use crate::lex::{Lexeme, Lexer, Mode};
use crate::limits::Limits;
use crate::model::{Message, Role};
use crate::rules::{ParameterAttributes, Parameters, Tag};

/// A piece of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Text(&'t str),
    /// A token in a system message. It shows how calls are written.
    Example(Control),
    /// A token in quoted code of the assistant, or of a call in reasoning.
    Quoted(Control),
    /// Text of the framing, between the parameters of a call.
    Word(&'static str),
    /// A token of the framing.
    Token(Control),
}

impl Rules {
    /// Gives the pieces of the text of a message to `put`, each with its place. A control token that is
    /// not read as text is part of a text, which the sink refuses.
    pub(super) fn in_body<E>(
        &self,
        message: &Message<'_>,
        text: &str,
        mut put: impl FnMut(usize, Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if message.is_call()
            && (!self.sections.calls.has_json() || self.sections.calls.are_listed())
        {
            return self.in_call(message, text, put);
        }
        let is_example = matches!(message.role, Role::System | Role::Developer);
        let may_quote =
            self.reads_quotes() && matches!(self.kind(message, false), Kind::Text { .. });
        let has_calls = message.is_reasoning() && self.sections.reasoning.calls == InnerCalls::Text;
        if !is_example && !may_quote && !self.has_words() && !has_calls {
            return put(0, Piece::Text(text));
        }
        let mut quote = Quote::default();
        // The end of the text that the quote has read, and of the text that `put` has.
        let (mut read, mut done) = (0, 0);
        let mut lexer = Lexer::new(self.controls, Mode::Body, 0);
        let mut rest = text;
        while let Some(lexeme) = lexer.next(&mut rest, true) {
            let Lexeme::Control(control, span) = lexeme else { continue };
            let piece = if self.is_word_in(message, control, &text[..span.start]) {
                Piece::Quoted(control)
            } else if is_example {
                if self.ends_said(message.role, control) {
                    continue;
                }
                Piece::Example(control)
            } else if has_calls {
                if !self.is_text_in_reasoning(control) {
                    continue;
                }
                Piece::Quoted(control)
            } else if !may_quote || self.frames(control) {
                continue;
            } else {
                quote.read(&text[read..span.start]);
                read = span.start;
                if !quote.quotes(control) {
                    continue;
                }
                quote.read_token(control, &text[span.range()]);
                read = span.end;
                Piece::Quoted(control)
            };
            if done < span.start {
                put(done, Piece::Text(&text[done..span.start]))?;
            }
            put(span.start, piece)?;
            done = span.end;
        }
        if done < text.len() {
            put(done, Piece::Text(&text[done..]))?;
        }
        Ok(())
    }

    /// Gives the pieces of the arguments of a call that are not only JSON.
    fn in_call<E>(
        &self,
        message: &Message<'_>,
        text: &str,
        mut put: impl FnMut(usize, Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let calls = &self.sections.calls;
        if let Some(form) = calls.parameters() {
            return self.in_arguments(form, text, put);
        }
        if let Some(tree) = calls.tree() {
            return tree::pieces(self, tree, text, &mut put);
        }
        if let Some(form) = calls.elements() {
            return elements::pieces(self, form, text, &mut put);
        }
        if let Some(literals) = calls.python() {
            let written = python::arguments(text, literals, &Limits::default());
            return match written.as_deref().unwrap_or(text) {
                "" => Ok(()),
                written => put(0, Piece::Text(written)),
            };
        }
        put(0, Piece::Text(text))?;
        let id = message.call_id.as_deref().filter(|_| self.has_ids());
        put(text.len(), Piece::Text(&tail_of_listed(id)))
    }

    /// Whether a token in a message is read as a word. `before` is the text before it.
    fn is_word_in(&self, message: &Message<'_>, control: Control, before: &str) -> bool {
        let begins = self.replies.turn == Some(message.role) && before.trim_ascii().is_empty();
        let is_reply = message.role == Role::Tool || begins;
        self.is_word_of_calls(control) || self.is_word(control) && !is_reply
    }

    /// Gives the pieces of the arguments of a call with parameters. Text that is no JSON object is
    /// one piece, which is not read back.
    fn in_arguments<E>(
        &self,
        form: &Parameters,
        text: &str,
        mut put: impl FnMut(usize, Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(parameters) = parameters(text, &Limits::default()) else {
            return put(0, Piece::Text(text));
        };
        if parameters.is_empty() && form.empty > 0 {
            return put(0, Piece::Word(breaks(form.empty)));
        }
        for parameter in parameters {
            let at = parameter.at;
            let name_end = match (form.typed, &parameter.value) {
                (None, _) => form.name_end,
                (Some([string, _]), ParameterValue::Text(_)) => string,
                (Some([_, json]), ParameterValue::Json(_)) => json,
            };
            tag(form.open, at, &mut put)?;
            match form.attributes {
                None => self.said(&parameter.key, at, &mut put)?,
                Some(attributes) => self.attributes(attributes, &parameter, &mut put)?,
            }
            tag(name_end, at, &mut put)?;
            if let Some(value) = form.value {
                tag(value, at, &mut put)?;
            }
            self.said(parameter.value.written(form.words), at, &mut put)?;
            tag(form.close, at, &mut put)?;
        }
        Ok(())
    }

    /// Gives the attributes of a parameter to `put`.
    fn attributes<E>(
        &self,
        form: ParameterAttributes,
        parameter: &Parameter<'_>,
        put: &mut impl FnMut(usize, Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let at = parameter.at;
        let kind = match &parameter.value {
            ParameterValue::Text(_) => STRING,
            ParameterValue::Json(json) => kind_of(json),
        };
        for word in [" ", form.name, "=\""] {
            put(at, Piece::Word(word))?;
        }
        self.said(&escaped(&parameter.key), at, put)?;
        for word in ["\" ", form.kind, "=\"", kind, "\""] {
            put(at, Piece::Word(word))?;
        }
        Ok(())
    }

    /// Gives a name or a value to `put`.
    pub(super) fn said<E>(
        &self,
        text: &str,
        at: usize,
        put: &mut impl FnMut(usize, Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = 0;
        if self.has_words() {
            let mut lexer = Lexer::new(self.controls, Mode::Body, 0);
            let mut rest = text;
            while let Some(lexeme) = lexer.next(&mut rest, true) {
                let Lexeme::Control(control, span) = lexeme else { continue };
                if !self.is_word(control) {
                    continue;
                }
                if done < span.start {
                    put(at, Piece::Text(&text[done..span.start]))?;
                }
                put(at, Piece::Quoted(control))?;
                done = span.end;
            }
        }
        if done < text.len() { put(at, Piece::Text(&text[done..])) } else { Ok(()) }
    }
}

/// Gives the pieces of a tag to `put`.
fn tag<E>(
    tag: Tag,
    at: usize,
    put: &mut impl FnMut(usize, Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mark = match tag {
        Tag::Text(text) => return put(at, Piece::Word(text)),
        Tag::Token(mark) => mark,
    };
    if mark.before > 0 {
        put(at, Piece::Word(breaks(mark.before)))?;
    }
    put(at, Piece::Token(mark.control))?;
    if mark.after > 0 { put(at, Piece::Word(breaks(mark.after))) } else { Ok(()) }
}
