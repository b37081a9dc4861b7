//! Laws of conversions between two formats: no loss is reported if and only if the way back gives
//! the same document.

use openchatml::convert::{Channels, Conversion, Lost, convert};
use openchatml::{
    Carrier, Channel, Conversation, Data, Document, End, Format, RenderOptions, Role, Tool, Value,
    parse,
};

use super::{Broken, Case, Verdict, brief, lenient, read};
use crate::grammar::json;

/// Converts to the other format and back.
pub(crate) fn pairs(case: &Case<'_>) -> Verdict {
    let parsed = case.parse();
    let options = RenderOptions::default();
    let is_template = case.from.carries().channels == Channels::Sections;
    if parsed.has_errors() || case.from == case.to {
        return Ok(());
    }
    // The own format cannot write marks of recovery and adds a required header, so these
    // differences are expected.
    let own = match convert(&parsed.document, case.from, &options) {
        Ok(own) if own.losses.is_empty() => own.output,
        _ => return Ok(()),
    };
    let origin = read(&own, case.from).document;
    if origin.as_conversation().is_some_and(|it| *it == Conversation::default()) {
        return Ok(());
    }
    let Ok(Conversion { output, mut losses, .. }) = convert(&origin, case.to, &options) else {
        return Ok(());
    };
    losses.retain(|loss| is_certain(loss.lost, case.from));
    let there = parse(&output, case.to, &lenient());
    let back = match convert(&there.document, case.from, &options) {
        Ok(back) => back,
        // The template of Apertus requires a date if there is no system message.
        Err(error) if losses.is_empty() && !is_template => {
            let detail = format!("{output:?}: {error}");
            return Err(Broken::new("no loss is named, and there is no way back", detail));
        }
        Err(_) => return Ok(()),
    };
    // The template cannot write everything that its reader reads, and reports the loss.
    let is_lost_back = is_template && !back.losses.is_empty();
    let is_named_back = back.losses.iter().any(|loss| is_lost_on_way_back(loss.lost));
    let back = back.output;
    let again = read(&back, case.from).document;
    let [one, two] = [origin.clone(), again.clone()].map(without_defaults);
    let mut fields = differences(&one, &two);
    if !lacking(&own, &back).is_empty() {
        fields.push("data");
    }
    fields.sort_unstable();
    // An added or dropped message changes the index of all later ones.
    if let Some(first) = ["tools", "count"].into_iter().find(|name| fields.contains(name)) {
        fields = vec![first];
    }
    let mut kinds: Vec<_> = losses.iter().map(|loss| loss.lost.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // Empty parts may be lost as well.
    let is_same_text = case.from.carrier() == Carrier::Text || own == back;
    let is_same = origin == again && fields.is_empty() && is_same_text;
    // A format whose arguments are JSON spells them anew, whatever they were in between.
    let is_only_spelling = losses.iter().all(|loss| loss.lost == Lost::Arguments);
    let (what, cause) = match losses.is_empty() {
        true if !fields.is_empty() && !is_lost_back && !is_named_back => {
            ("no loss is named", format!("{} {}", case.to, fields.join(" ")))
        }
        false if is_same && !is_named_back && !is_only_spelling => {
            ("a loss is named, and nothing is lost", format!("{} {kinds:?}", case.to))
        }
        _ => return Ok(()),
    };
    let documents = [&origin, &there.document, &again].map(brief).join("\n  ");
    let lacking = lacking(&own, &back);
    let detail =
        format!("{output:?}, and back {back:?}, without {lacking:?}; {kinds:?}\n  {documents}");
    Err(Broken { what, cause, detail })
}

/// Whether a loss can be the only one, on the way back. A conversion to records gives earlier answers
/// a weight, which another format may have dropped. An incomplete call can have the id of another one
/// only in its own format.
fn is_lost_on_way_back(lost: Lost) -> bool {
    matches!(lost, Lost::Context | Lost::CallIdChanged)
}

/// Whether a loss is visible after the way back. What a service does not accept is written
/// nevertheless. A format without weights says nothing of training, and takes no weights back.
fn is_certain(lost: Lost, from: Format) -> bool {
    match lost {
        Lost::Unaccepted => false,
        Lost::Context => from.carries().weights,
        _ => true,
    }
}

/// Removes what formats add by default: a header with only the version, the channel `final` (2.2
/// §5), the channel and the recipient of replies (2.2 §8.1), call ids (decision 10), and the system
/// messages of the templates of Apertus and Kimi.
fn without_defaults(mut document: Document<'_>) -> Document<'_> {
    if let Document::Pair(pair) = &mut document {
        for one in [&mut pair.chosen, &mut pair.rejected] {
            one.tools = plain(&one.tools);
        }
    }
    let Document::Conversation(conversation) = &mut document else { return document };
    if conversation.header.as_ref().is_some_and(|header| header.fields().len() <= 1) {
        conversation.header = None;
    }
    conversation.messages.retain(|message| {
        let is_told = matches!(message.role, Role::System | Role::Developer);
        let defaults = ["Deliberation: ", "You are Kimi, "];
        !(is_told && defaults.iter().any(|it| message.body.text().starts_with(it)))
    });
    // An open message of the assistant without text is a prompt.
    if let Some(last) = conversation.messages.last_mut()
        && last.role == Role::Assistant
        && last.end == End::Open
        && last.body.is_empty()
        && !last.is_call()
        && !last.is_reasoning()
    {
        last.end = End::Prompt;
    }
    for message in &mut conversation.messages {
        if message.role == Role::Tool {
            let to_assistant = message.recipient.as_deref() == Some("assistant");
            message.recipient = message.recipient.take().filter(|_| !to_assistant);
            message.channel = message.channel.filter(|it| *it != Channel::Commentary);
        }
        message.channel = message.channel.filter(|it| *it != Channel::Final);
        let is_default = |id: &str| id.starts_with("call_") || id.starts_with("functions.");
        message.call_id = message.call_id.take().filter(|id| !is_default(id));
    }
    document
}

/// Returns the values in a JSON text that are missing in another one, under any key.
fn lacking(before: &str, after: &str) -> Vec<String> {
    let (Some((before, _)), Some((after, _))) = (json::read(before), json::read(after)) else {
        return Vec::new();
    };
    let mut lacking = before.scalars();
    let after = after.scalars();
    for scalar in &after {
        if let Some(at) = lacking.iter().position(|it| it == scalar) {
            lacking.swap_remove(at);
        }
    }
    // Defaults that a format adds need not be in the other text.
    lacking.retain(|it| !["final", "commentary", "assistant"].contains(&it.as_str()));
    // A text may be split differently, and a word of a declaration may be part of a text.
    let all = after.concat().to_lowercase();
    lacking.retain(|it| it.parse::<f64>().is_ok() || !all.contains(&it.to_lowercase()));
    lacking
}

/// Returns the fields in which two documents differ.
fn differences(one: &Document<'_>, two: &Document<'_>) -> Vec<&'static str> {
    let (Document::Conversation(one), Document::Conversation(two)) = (one, two) else {
        return if one == two { Vec::new() } else { vec!["kind"] };
    };
    let mut names = Vec::new();
    let mut add = |name, differs| {
        if differs && !names.contains(&name) {
            names.push(name);
        }
    };
    let calls = one.messages.iter().filter(|message| message.is_call());
    let calls: Vec<_> = calls.map(|it| (it.recipient.as_deref(), it.call_id.as_deref())).collect();
    add("header", one.header != two.header);
    add("tools", plain(&one.tools) != plain(&two.tools));
    add("count", one.messages.len() != two.messages.len());
    for (one, two) in one.messages.iter().zip(&two.messages) {
        add("role", one.role != two.role);
        add("channel", one.channel != two.channel);
        add("intent", one.intent != two.intent);
        add("end", one.end != two.end);
        add("constrained", one.constrained != two.constrained);
        add("marks", (one.recovered, one.foreign) != (two.recovered, two.foreign));
        add("recipient", one.recipient != two.recipient);
        // The call of a reply determines the tool and the id.
        let has_name = || calls.iter().any(|(tool, _)| *tool == two.name.as_deref());
        let has_id = || calls.iter().any(|(_, id)| *id == two.call_id.as_deref());
        add("name", one.name != two.name && !(one.name.is_none() && has_name()));
        add("call_id", one.call_id != two.call_id && !(one.call_id.is_none() && has_id()));
        // In some formats, calls are JSON without a declaration.
        let is_typed = one.is_call() && one.content_type.is_none();
        let is_typed = is_typed && two.content_type.as_deref() == Some("json");
        add("content_type", one.content_type != two.content_type && !is_typed);
        add("body", one.body != two.body);
    }
    names
}

/// The output declares the declared tools, or their loss is reported.
pub(crate) fn tools(case: &Case<'_>) -> Verdict {
    let parsed = case.parse();
    let Some(conversation) = parsed.document.as_conversation() else { return Ok(()) };
    if conversation.tools.is_empty() {
        return Ok(());
    }
    let converted = convert(&parsed.document, case.to, &RenderOptions::default());
    let Ok(Conversion { output, losses, .. }) = converted else { return Ok(()) };
    let there = parse(&output, case.to, &lenient());
    let nothing = Vec::new();
    let tools = there.document.as_conversation().map_or(&nothing, |it| &it.tools);
    let is_named = losses.iter().any(|loss| {
        matches!(loss.lost, Lost::Tools | Lost::Declaration | Lost::HostedTool)
            || loss.lost.as_str().contains("tool")
    });
    if plain(tools) == plain(&conversation.tools) || is_named {
        return Ok(());
    }
    let detail = format!("{output:?}\n  {:?}\n  {tools:?}", conversation.tools);
    Err(Broken { what: "tools are lost without a name", cause: case.to.to_string(), detail })
}

/// Returns tools without `strict: false`, which says what its absence says. One format needs it.
fn plain(tools: &[Tool<'_>]) -> Vec<Tool<'static>> {
    let is_nothing =
        |key: &str, value: &Value<'_>| key == "strict" && value.data == Data::Bool(false);
    let mut tools: Vec<_> = tools.iter().map(|tool| tool.clone().into_owned()).collect();
    for tool in &mut tools {
        tool.extra.retain(|(key, value)| !is_nothing(key, value));
    }
    tools
}
