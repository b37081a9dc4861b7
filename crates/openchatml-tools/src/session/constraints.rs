//! Constraints of the completions of a model.

use openchatml::harmony::Namespace;
use openchatml::{Control, TextFormat};
use openchatml_grammars::{
    Choice, GrammarError, Language, Options, Requirement, Unenforced, grammar,
};
use openchatml_tokens::{Encoding, Tokenizer};

use crate::{Constraint, GrammarSupport};

/// Constrains the completions of a model to the grammar of its format and its tools.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml_grammars::Choice;
/// use openchatml_tools::{Completions, CompletionsOptions, ConstraintOptions, Model, Toolbox};
/// use openchatml_tokens::O200kHarmony;
///
/// let tools = Toolbox::default();
/// let mut constrained = ConstraintOptions::new(tools.callable());
/// constrained.options.choice = Choice::None;
/// let upstream = Completions::new("http://localhost:8000", CompletionsOptions::default())?;
/// let model = Model::new(upstream, TextFormat::HARMONY);
/// let model = model.with_encoding(O200kHarmony::default()).with_constraints(constrained);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConstraintOptions {
    /// The tools that the model may call.
    pub tools: Vec<Namespace<'static>>,
    /// The language of the grammars. `None`: the language that the upstream accepts.
    pub language: Option<Language>,
    /// The options of the grammars. A required call ([`Choice::Required`], [`Choice::Named`]) is
    /// made in the first completion of a run; later completions may be answers. The vocabulary and
    /// the stop tokens are determined automatically if they are not given.
    pub options: Options,
}

impl ConstraintOptions {
    /// Allows any completion of the format with calls of these tools.
    pub fn new(tools: Vec<Namespace<'static>>) -> Self {
        let mut options = Options::default();
        // llguidance has several versions, and servers do not report theirs.
        options.unicode_escapes = false;
        Self { tools, language: None, options }
    }

    /// Returns the constraint of a completion, and the requirements that it does not enforce.
    /// `is_first` is true for the first completion of a run, `in_reasoning` if it begins inside of
    /// reasoning.
    pub(super) fn constraint<E: Encoding>(
        &self,
        format: TextFormat,
        tokenizer: Option<&Tokenizer<E>>,
        takes: GrammarSupport,
        is_first: bool,
        in_reasoning: bool,
    ) -> Result<(Constraint, Vec<Unenforced>), GrammarError> {
        let mut options = self.options.clone();
        options.in_reasoning |= in_reasoning;
        let GrammarSupport { language, stops } = takes;
        options.stops = options.stops.or(stops);
        if !is_first && matches!(options.choice, Choice::Required | Choice::Named(_)) {
            options.choice = Choice::Auto;
        }
        if let Some(tokenizer) = tokenizer.filter(|_| options.vocabulary.is_empty()) {
            options.vocabulary = vocabulary(tokenizer);
        }
        let found = grammar(format, &self.tools, language, &options)?;
        let controls = format.controls();
        let foreign = options.vocabulary.iter().filter(|it| controls.control(&it.0).is_none());
        let mut banned_ids: Vec<u32> = foreign.map(|(_, id)| *id).collect();
        let wrong = [Control::Return, Control::Call];
        let wrong = wrong.iter().filter(|end| !found.ends.contains(end));
        banned_ids.extend(wrong.filter_map(|end| tokenizer?.id(*end)));
        let mut constraint = Constraint::new(language, found.text);
        constraint.banned_ids = banned_ids;
        let mut unenforced = found.unenforced;
        constraint.any_end = unenforced.iter().any(|it| it.requirement == Requirement::Stop);
        if tokenizer.is_some() {
            // With ids, the message determines its end token, and wrong end tokens are banned.
            unenforced.retain(|it| it.requirement != Requirement::Stop);
        }
        Ok((constraint, unenforced))
    }
}

/// Returns the special tokens of the encoding and the control tokens of the format.
fn vocabulary<E: Encoding>(tokenizer: &Tokenizer<E>) -> Vec<(String, u32)> {
    let controls = tokenizer.encoding().controls();
    let mut all: Vec<_> = controls.into_iter().map(|(it, id)| (it.to_owned(), id)).collect();
    for (control, spelling) in tokenizer.format().controls().entries() {
        if let Some(id) = tokenizer.id(*control)
            && !all.iter().any(|known| known.1 == id)
        {
            all.push(((*spelling).to_owned(), id));
        }
    }
    all
}
