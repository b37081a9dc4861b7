//! Completions in any format.

use openchatml::convert::convert;
use openchatml::dialects::Completion;
use openchatml::{
    Channel, Control, Conversation, End, Format, Message, RenderOptions, Role, Section,
};

/// Returns the completion after which `said` follows `before`: the rest of a transcript of all
/// messages after the prompt. If the prompt disables reasoning, the completion has none.
///
/// # Panics
///
/// The format cannot represent the messages, or the transcript does not continue the prompt.
///
/// ```
/// use openchatml::{Message, Role};
/// use openchatml_testkit::completion::{answer, completion};
///
/// let question = Message::new(Role::User, "Go.");
/// let said = completion(&[question], &[answer("Done.")], "harmony".parse()?);
/// assert_eq!(said, "<|channel|>final<|message|>Done.<|return|>");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
pub fn completion(before: &[Message<'_>], said: &[Message<'_>], format: Format) -> String {
    // Prompts of some models that think say so, unless the model decides. Others say that the model does not think, and a
    // transcript says it only if it is asked to.
    let thinks = match format.dialect().completion() {
        Some(Completion::Sections(sections)) => {
            sections.prompts.thinks && sections.prompts.undecided.is_none()
        }
        _ => false,
    };
    let completion = behind_prompt(before, said, format, thinks.then_some(true));
    let completion = completion.or_else(|_| behind_prompt(before, said, format, Some(false)));
    completion.unwrap_or_else(|text| panic!("{text}"))
}

/// Returns what a transcript has behind its prompt, or what does not fit together.
fn behind_prompt(
    before: &[Message<'_>],
    said: &[Message<'_>],
    format: Format,
    thinking: Option<bool>,
) -> Result<String, String> {
    let mut options = RenderOptions::default();
    // A template may write the date if there is no system message.
    options.date = Some("2026-01-01".into());
    options.thinking = thinking;
    let write = |messages: Vec<Message<'_>>, options: &RenderOptions| {
        let conversation = Conversation::from_messages(messages);
        let written = convert(&conversation.into(), format, options);
        written.map(|it| it.output).map_err(|error| format!("{format}: {error}"))
    };
    let mut prompting = options.clone();
    prompting.generation_prompt = Some(Role::Assistant);
    let prompt = write(before.to_vec(), &prompting)?;
    // It can end in empty reasoning, which a turn without reasoning does not have.
    let prompts = [Some(prompt.as_str()), without_reasoning(&prompt, format)];
    let behind = |said: &[Message<'_>]| {
        let all = write([before, said].concat(), &options)?;
        let rest = prompts.iter().flatten().find_map(|prompt| all.strip_prefix(prompt));
        let rest = rest.map(str::to_owned).or_else(|| {
            // It can open reasoning, which a turn without reasoning closes at once.
            let open = spelling(format, Control::OpenSection(Section::Reasoning))?;
            let close = spelling(format, Control::CloseSection(Section::Reasoning))?;
            let rest = all.strip_prefix(prompt.trim_end().strip_suffix(open)?)?;
            let is_said = rest.starts_with(open) || rest.starts_with(close);
            let close = if is_said { "" } else { close };
            Some([close, rest.strip_prefix(open).unwrap_or(rest)].concat())
        });
        rest.map(|rest| rest.trim_end().to_owned())
            .ok_or_else(|| format!("{format}: {prompt}\n{all}"))
    };
    let unreasoned: Vec<_> = said.iter().filter(|it| !it.is_reasoning()).cloned().collect();
    behind(said).or_else(|_| behind(&unreasoned))
}

/// Returns a prompt without the empty reasoning at its end.
fn without_reasoning(prompt: &str, format: Format) -> Option<&str> {
    let close = spelling(format, Control::CloseSection(Section::Reasoning))?;
    let open = spelling(format, Control::OpenSection(Section::Reasoning))?;
    prompt.trim_end().strip_suffix(close)?.trim_end().strip_suffix(open)
}

fn spelling(format: Format, control: Control) -> Option<&'static str> {
    format.dialect().controls.spelling(control)
}

/// Returns an answer that ends a completion.
pub fn answer(text: &str) -> Message<'static> {
    let mut answer = Message::answer(text.to_owned());
    answer.end = End::Return;
    answer
}

/// Returns a call that ends a completion, with all fields that the format can represent.
pub fn call(name: &str, id: &str, arguments: &str, format: Format) -> Message<'static> {
    let mut call = Message::new(Role::Assistant, arguments.to_owned());
    call.recipient = Some(format!("functions.{name}").into());
    call.channel = Some(Channel::Commentary);
    call.end = End::Call;
    call.content_type = Some("json".into());
    let carries = format.carries();
    let digits: String = id.chars().filter(char::is_ascii_digit).collect();
    let id = match crate::sections::with_ids(format) {
        Some(calls) => format!("{}.{name}:0{digits}", calls.namespace),
        None => id.to_owned(),
    };
    call.call_id = carries.call_ids.then(|| id.into());
    call.constrained = (carries.content_types)(&call);
    call.content_type = call.content_type.filter(|_| call.constrained);
    call
}
