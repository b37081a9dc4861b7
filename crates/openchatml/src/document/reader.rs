//! What all readers of JSON formats share: diagnostics with places and pointers, and typed fields.

use std::borrow::Cow;
use std::collections::HashSet;

use super::keys::{Key, Keys, Others, is_harmless, may_hide, may_hide_twice};
use crate::check::{CheckRules, Checker};
use crate::diagnostic::{did_you_mean, quote};
use crate::json::{Json, JsonError, Repair};
use crate::lex::TokenTable;
use crate::model::{Conversation, Document, Weight};
use crate::options::{Mode, ReadOptions};
use crate::reading::{Findings, Parsed};
use crate::{Code, Diagnostic, Dropped, Severity, Span};

/// Whether a weight has exactly the spelled value.
fn says_same(number: &str, weight: Weight) -> bool {
    // Digits and exponent, without leading and trailing zeros.
    let parts = |text: &str| {
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = [whole, fraction].concat();
        let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX / 2);
        let places = i64::try_from(fraction.len()).unwrap_or(i64::MAX / 2);
        let significant = all.trim_start_matches(['-', '0']).trim_end_matches('0').to_owned();
        let zeros = all.len() - all.trim_end_matches('0').len();
        let zeros = i64::try_from(zeros).unwrap_or_default();
        let exponent = if significant.is_empty() { 0 } else { exponent - places + zeros };
        (significant, exponent)
    };
    parts(number) == parts(&weight.to_string())
}

/// The diagnostics of a JSON document while it is read.
pub(crate) struct DocumentReader<'o> {
    pub(crate) options: &'o ReadOptions,
    found: Vec<Diagnostic>,
    findings: Findings,
    /// The path from the root to the current value.
    path: Vec<Step>,
    /// The keys on this path that are in no list of keys.
    names: Vec<String>,
    /// Whether a part of the current message was dropped that could have hidden it.
    pub(crate) may_be_hidden: bool,
    /// The control tokens of the text form, if everything must be reported that it cannot express.
    pub(crate) header: Option<&'static TokenTable>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Key(&'static str),
    /// The next item of `names`.
    Name,
    Index(usize),
}

type Result<T> = std::result::Result<T, JsonError>;

impl<'o> DocumentReader<'o> {
    pub(crate) fn new(options: &'o ReadOptions) -> Self {
        Self {
            options,
            found: Vec::new(),
            findings: Findings::default(),
            path: Vec::new(),
            names: Vec::new(),
            may_be_hidden: false,
            header: None,
        }
    }

    /// Creates a reader of `text` that continues after errors if possible and reports repairs.
    pub(crate) fn json<'a>(&self, text: &'a str) -> Json<'a> {
        Json::new(text, &self.options.limits).repairing()
    }

    /// Runs `read` at an item of an array.
    pub(crate) fn at_index<T>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(Step::Index(index));
        let read = read(self);
        self.path.pop();
        read
    }

    /// Runs `read` at the value of a key that is in no list of keys.
    pub(crate) fn at_key<T>(&mut self, key: String, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(Step::Name);
        self.names.push(key);
        let read = read(self);
        self.path.pop();
        self.names.pop();
        read
    }

    /// Reports a diagnostic, with a pointer to the current value.
    pub(crate) fn report(&mut self, mut diagnostic: Diagnostic) {
        if diagnostic.dropped.is_some() {
            self.may_be_hidden |= match (self.path.last(), self.names.last()) {
                (Some(Step::Key(key)), _) => may_hide(key),
                (Some(Step::Name), Some(key)) => may_hide(key),
                _ => false,
            };
        }
        if diagnostic.pointer.is_none() && self.findings.has_room(&self.options.limits) {
            diagnostic.pointer = Some(self.pointer());
        }
        self.pass(diagnostic);
    }

    /// Reports a diagnostic unchanged.
    pub(crate) fn pass(&mut self, diagnostic: Diagnostic) {
        self.found.extend(self.findings.report(diagnostic, &self.options.limits));
    }

    /// Reports an error in strict mode, a warning in lenient mode.
    pub(crate) fn tolerate(&mut self, diagnostic: Diagnostic) {
        self.report(diagnostic.severity(self.tolerated()));
    }

    /// Returns the severity of tolerable errors: an error in strict mode, a warning in lenient
    /// mode.
    pub(crate) fn tolerated(&self) -> Severity {
        match self.options.mode {
            Mode::Strict => Severity::Error,
            Mode::Lenient => Severity::Warning,
        }
    }

    /// Returns the path to the current value as a JSON pointer.
    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::new();
        let mut names = self.names.iter();
        for step in &self.path {
            let place;
            let key = match step {
                Step::Key(key) => key,
                Step::Name => names.next().map_or("", String::as_str),
                Step::Index(index) => {
                    place = index.to_string();
                    &place
                }
            };
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        }
        pointer
    }

    /// Reports invalid JSON, which ends the reading.
    pub(crate) fn error(&mut self, error: JsonError) {
        let (code, dropped) = match error.limit {
            Some(_) => (Code::Limit, Dropped::Limit),
            None => (Code::ParseJson, Dropped::Record),
        };
        self.report(code.at(error.span, error.message.into_owned()).drops(dropped));
    }

    /// Reports a repair of the JSON reader, with `inside` before the message.
    pub(crate) fn repaired(&mut self, span: Span, repair: Repair, inside: &str) {
        let text = format!("{inside}{}", repair.as_str());
        match repair {
            Repair::HalfPair => {
                let found = Code::ParseJson.at(span, text).drops(Dropped::Value);
                self.report(found.help("U+FFFD replaces it"));
            }
            Repair::Control | Repair::Comma => self.tolerate(Code::ParseJson.at(span, text)),
        }
    }

    /// Reports an unknown key, and drops it with its value.
    fn unknown(
        &mut self,
        json: &mut Json<'_>,
        key: &str,
        known: &[&str],
        span: Span,
    ) -> Result<()> {
        let may_be_hidden = self.may_be_hidden;
        self.unknown_key(key, known, span);
        if is_harmless(key, json.peek()) {
            self.may_be_hidden = may_be_hidden;
        }
        json.skip()
    }

    /// Reports an unknown key that is dropped.
    pub(crate) fn unknown_key(&mut self, key: &str, known: &[&str], span: Span) {
        self.may_be_hidden |= may_hide(key);
        let text = format!("unknown key {}: the key and its value will be dropped", quote(key));
        let help = did_you_mean(key, known, "");
        let found = Code::UnknownKey.at(span, text).drops(Dropped::Key);
        self.report(if help.is_empty() { found } else { found.help(help) });
    }

    /// Reports a duplicate key: the last value is used, the others are dropped.
    pub(crate) fn repeated(&mut self, key: &str, span: Span) {
        self.may_be_hidden |= may_hide_twice(key);
        let text = format!("duplicate key {}", quote(key));
        let found = Code::DuplicateKey.at(span, text).drops(Dropped::Duplicate);
        self.report(found.help("the last value is used"));
    }

    /// Reports a key with the same meaning as another key of the object.
    fn report_duplicate(&mut self, key: &str, first: &str, span: Span) {
        self.may_be_hidden |= may_hide_twice(key);
        let text = format!("keys {1} and {0} mean the same", quote(key), quote(first));
        let found = Code::DuplicateKey.at(span, text).drops(Dropped::Duplicate);
        self.report(found.help(format!("{} is used; this one will be dropped", quote(first))));
    }

    /// Reports a value without a meaning in the format, which is dropped.
    pub(crate) fn drop_value(&mut self, diagnostic: Diagnostic) {
        self.report(diagnostic.drops(Dropped::Value));
    }

    /// Reports an object without a place in the format, which is dropped.
    pub(crate) fn drop_item(&mut self, diagnostic: Diagnostic) {
        self.report(diagnostic.drops(Dropped::Item));
    }

    /// Reports that the object at byte `start` is not a conversation.
    pub(crate) fn lacks(&mut self, what: &str, start: usize) {
        self.report(Code::ParseJson.at(Span::new(start, start + 1), what).drops(Dropped::Record));
    }

    /// Reports and skips a value of the wrong type or without a meaning.
    pub(crate) fn wrong(&mut self, json: &mut Json<'_>, wanted: &'static str) -> Result<()> {
        let mut error = json.unexpected(wanted);
        let start = error.span.start;
        json.skip()?;
        error.span = Span::new(start, json.position());
        self.drop_value(Code::ParseJson.at(error.span, error.message.into_owned()));
        Ok(())
    }

    /// Reads a string and its place. `null` means that the value is missing.
    pub(crate) fn string<'a>(
        &mut self,
        json: &mut Json<'a>,
    ) -> Result<Option<(Cow<'a, str>, Span)>> {
        match json.peek() {
            Some(b'"') => json.string().map(Some),
            Some(b'n') => json.word().map(|_| None),
            _ => self.wrong(json, "a string").map(|()| None),
        }
    }

    /// Reads a string.
    pub(crate) fn text<'a>(&mut self, json: &mut Json<'a>) -> Result<Option<Cow<'a, str>>> {
        Ok(self.string(json)?.map(|(text, _)| text))
    }

    /// Reads one of a closed set of words.
    pub(crate) fn word<T>(
        &mut self,
        json: &mut Json<'_>,
        what: &str,
        known: &[&str],
        from_word: fn(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some((word, span)) = self.string(json)? else { return Ok(None) };
        let value = from_word(&word);
        if value.is_none() {
            let text = format!("unknown {what} {}", quote(&word));
            let help = did_you_mean(&word, known, "");
            let found = Code::ParseJson.at(span, text).drops(Dropped::Value);
            self.report(if help.is_empty() { found } else { found.help(help) });
        }
        Ok(value)
    }

    /// Reads a weight for training: a number, or `true` and `false` for 1 and 0.
    pub(crate) fn weight(&mut self, json: &mut Json<'_>) -> Result<Option<Weight>> {
        let start = json.offset();
        let weight = match json.peek() {
            Some(b'0'..=b'9' | b'-') => {
                let number = json.number()?;
                let weight = number.parse().ok().and_then(Weight::new);
                // A nonzero number that is too small for a weight would become zero.
                let digits = number.split(['e', 'E']).next().unwrap_or_default();
                let is_zero = !digits.contains(|c: char| matches!(c, '1'..='9'));
                let weight = weight.filter(|weight| weight.is_trained() || is_zero);
                if weight.is_some_and(|weight| !says_same(number, weight)) {
                    let span = Span::new(start, json.position());
                    let found =
                        Code::ParseJson.at(span, "the weight has more digits than can be stored");
                    self.tolerate(
                        found.help("it is rounded to the nearest double-precision number"),
                    );
                }
                weight
            }
            Some(b't' | b'f') => Some(if json.boolean()? { Weight::ONE } else { Weight::ZERO }),
            Some(b'n') => return json.word().map(|_| None),
            _ => return self.wrong(json, "a number").map(|()| None),
        };
        if weight.is_none() {
            let span = Span::new(start, json.position());
            let found = Code::ParseJson.at(span, "invalid weight: it will be dropped");
            self.drop_value(found.help("a weight must be a finite number, zero or greater"));
        }
        Ok(weight)
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self, json: &mut Json<'_>) -> Result<bool> {
        match json.peek() {
            Some(b't' | b'f') => json.boolean(),
            Some(b'n') => json.word().map(|_| false),
            _ => self.wrong(json, "`true` or `false`").map(|()| false),
        }
    }

    /// Reads an array. Any other value is reported and skipped.
    pub(crate) fn array<'a>(
        &mut self,
        json: &mut Json<'a>,
        mut item: impl FnMut(&mut Self, &mut Json<'a>) -> Result<()>,
    ) -> Result<()> {
        match json.peek() {
            Some(b'[') => {
                let mut index = 0;
                json.array(|json| {
                    let read = self.at_index(index, |reader| item(reader, json));
                    index += 1;
                    read
                })
                .map(|_| ())
            }
            Some(b'n') => json.word().map(|_| ()),
            _ => self.wrong(json, "an array"),
        }
    }

    /// Reads an object with the keys `known`. `entry` reads the value of one of them. Unknown and
    /// duplicate keys are reported. Any other value is reported and skipped.
    pub(crate) fn object<'a>(
        &mut self,
        json: &mut Json<'a>,
        known: &[&'static str],
        entry: impl FnMut(&mut Self, &mut Json<'a>, &'static str) -> Result<()>,
    ) -> Result<Option<Span>> {
        self.object_of(json, known, &[], entry)
    }

    /// Like [`object`](Self::object), for keys with the same meaning: of the keys in each set of
    /// `same`, the first one that is not `null` is used, and the others are reported. [`same`]
    /// creates such a set.
    pub(crate) fn object_of<'a>(
        &mut self,
        json: &mut Json<'a>,
        known: &[&'static str],
        same: &[u64],
        mut entry: impl FnMut(&mut Self, &mut Json<'a>, &'static str) -> Result<()>,
    ) -> Result<Option<Span>> {
        let keys = Keys { known, same, others: Others::None };
        self.object_with(json, &keys, |reader, json, key| match key {
            Key::Known(key) => entry(reader, json, key),
            Key::Other(_) => json.skip(),
        })
    }

    /// Like [`object_of`](Self::object_of), for objects that can have any other keys. A key that is a
    /// misspelled known key, or that can mean that a message is hidden, is reported.
    pub(crate) fn object_with<'a>(
        &mut self,
        json: &mut Json<'a>,
        keys: &Keys<'_>,
        mut entry: impl FnMut(&mut Self, &mut Json<'a>, Key<'a>) -> Result<()>,
    ) -> Result<Option<Span>> {
        let Keys { known, same, others: columns } = *keys;
        if json.peek() != Some(b'{') {
            return self.wrong(json, "an object").map(|()| None);
        }
        // Which known keys were seen, and which of them with a value.
        let (mut seen, mut given) = (0_u64, 0_u64);
        let mut others: Option<HashSet<_>> = None;
        let span = json.object(|json, key, span| {
            let Some(at) = known.iter().position(|known| *known == key) else {
                if !columns.include(&key) {
                    return self.unknown(json, &key, known, span);
                }
                if !others.get_or_insert_default().insert(key.clone()) {
                    self.repeated(&key, span);
                }
                return entry(self, json, Key::Other(key));
            };
            if let Some(set) = same.iter().find(|set| *set & (1 << at) != 0) {
                let is_null = json.peek() == Some(b'n');
                let others = given & set & !(1 << at);
                if others != 0 {
                    if !is_null {
                        let first = known.iter().zip(0..).find(|it| others & (1 << it.1) != 0);
                        self.report_duplicate(&key, first.map_or("", |it| it.0), span);
                    }
                    return json.skip();
                }
                given |= u64::from(!is_null) << at;
            }
            if seen & (1 << at) != 0 {
                self.repeated(&key, span);
            }
            seen |= 1 << at;
            self.path.push(Step::Key(known[at]));
            let read = entry(self, json, Key::Known(known[at]));
            self.path.pop();
            read
        })?;
        Ok(Some(span))
    }

    /// Ends the reading: reports repairs and duplicate keys, and checks the conversation by the
    /// rules of its `checks`, if it has one.
    pub(crate) fn finish<'a>(
        mut self,
        mut json: Json<'a>,
        read: Result<()>,
        document: Document<'a>,
        checks: impl Fn(&Conversation<'a>) -> Option<&'static CheckRules>,
    ) -> Parsed<'a> {
        if let Err(error) = read.and_then(|()| json.end()) {
            match json.text.trim_ascii().is_empty() {
                // Nothing is lost.
                true => self.report(Code::ParseJson.at(Span::at(0), "the document is empty")),
                false => self.error(error),
            }
        }
        for (key, span) in json.take_duplicates() {
            self.repeated(&key, span);
        }
        for (span, repair) in json.take_repaired() {
            self.repaired(span, repair, "");
        }
        match &document {
            Document::Conversation(conversation) => self.check(conversation, &checks),
            Document::Pair(pair) => {
                let before = self.found.len();
                self.check(&pair.chosen, &checks);
                let place = |found: &Diagnostic| (found.code, found.span);
                let told: HashSet<_> = self.found[before..].iter().map(place).collect();
                let after = self.found.len();
                self.check(&pair.rejected, &checks);
                // The sides can have messages at the same place: their prompt.
                let mut more = self.found.split_off(after);
                more.retain(|found| !told.contains(&place(found)));
                self.found.append(&mut more);
            }
            Document::Infill(_) | Document::Files(_) => {}
        }
        // Sorted by place. The diagnostic about the limit comes last.
        let shown = self.found.len().min(self.options.limits.diagnostics);
        self.found[..shown].sort_by_key(|diagnostic| diagnostic.span.start);
        Parsed { document, diagnostics: self.found }
    }

    /// Checks a conversation that was read from JSON.
    fn check<'a>(
        &mut self,
        conversation: &Conversation<'a>,
        checks: impl Fn(&Conversation<'a>) -> Option<&'static CheckRules>,
    ) {
        let Some(checks) = checks(conversation) else { return };
        let mut checker = Checker::new(checks);
        let mut found = Vec::new();
        if let Some(header) = &conversation.header {
            checker.header(header, Span::default(), &mut found);
        }
        for message in &conversation.messages {
            if checker.passes(message) {
                continue;
            }
            checker.message(message, self.options, &mut found);
            self.note(&mut found);
        }
        checker.finish(self.options, &mut found);
        self.note(&mut found);
    }

    /// Reports diagnostics. Notes are only for strict mode.
    fn note(&mut self, found: &mut Vec<Diagnostic>) {
        for diagnostic in found.drain(..) {
            if self.options.mode == Mode::Strict || diagnostic.severity > Severity::Note {
                self.pass(diagnostic);
            }
        }
    }
}
