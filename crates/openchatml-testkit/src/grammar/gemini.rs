//! JSON of Google's Gemini API: requests, responses, lists of contents, and single contents (the
//! API reference, `generateContent`).

use super::generator::Generator;
use super::json::{Json, object};
use super::openai::{self, Parameter};
use super::plan::{Act, Declared, Plan, Step, plan};
use super::{Draft, ExpectedMessage, canonical};

const ACTS: &[Act] =
    &[Act::System, Act::User, Act::Thought, Act::Preamble, Act::Call, Act::Reply, Act::Answer];

const PARAMETERS: &[Parameter] = &[
    Parameter::Text("model"),
    Parameter::Text("cachedContent"),
    Parameter::Object("generationConfig"),
    Parameter::Object("toolConfig"),
    Parameter::List("safetySettings"),
];

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let mut plan = plan(generator, ACTS);
    // The API has no names.
    plan.steps.iter_mut().for_each(|step| step.name = None);
    let said = |steps: &[Step]| steps.iter().map(ExpectedMessage::of).collect::<Vec<_>>();
    let (document, said) = match generator.upto(5) {
        0 => {
            let step: Vec<_> = plan.steps.last().cloned().into_iter().collect();
            let content = contents(generator, &step).pop().unwrap_or(object([]));
            (response(generator, content), said(&step))
        }
        1 if plan.tools.is_empty() => {
            let steps: Vec<_> =
                plan.steps.iter().filter(|step| step.act != Act::System).cloned().collect();
            (contents(generator, &steps).into(), said(&steps))
        }
        _ => {
            let said = said(&plan.steps);
            (request(generator, plan), said)
        }
    };
    canonical::draft(generator, document, said)
}

fn request(generator: &mut Generator<'_>, plan: Plan) -> Json {
    let mut request = object([]);
    if generator.one_in(2) {
        openai::parameters(generator, &mut request, PARAMETERS);
    }
    let count = plan.steps.iter().take_while(|step| step.act == Act::System).count();
    let (system, rest) = plan.steps.split_at(count);
    if !system.is_empty() {
        let parts: Vec<_> = system.iter().map(|step| text(&step.text)).collect();
        let key = generator.pick(&["systemInstruction", "system_instruction"]);
        request.set(key, object([("parts", parts.into())]));
    }
    request.set("contents", contents(generator, rest));
    if !plan.tools.is_empty() {
        let declared = plan.tools.iter().map(declared).collect();
        let key = generator.pick(&["functionDeclarations", "function_declarations"]);
        let mut tools = vec![object([(key, Json::List(declared))])];
        if generator.one_in(4) {
            tools.push(object([("googleSearch", object([("x", generator.datum().into())]))]));
        }
        request.set("tools", tools);
    }
    request
}

fn declared(tool: &Declared) -> Json {
    let mut properties = object([]);
    properties.set(&tool.property, object([("type", "STRING".into())]));
    object([
        ("name", tool.name.as_str().into()),
        ("description", tool.description.as_str().into()),
        ("parameters", object([("type", "OBJECT".into()), ("properties", properties)])),
    ])
}

/// What the service answers.
fn response(generator: &mut Generator<'_>, content: Json) -> Json {
    let candidate = object([
        ("content", content),
        ("finishReason", "STOP".into()),
        ("index", Json::Number("0".to_owned())),
    ]);
    object([
        ("candidates", vec![candidate].into()),
        ("usageMetadata", object([("totalTokenCount", Json::Number(generator.number()))])),
        ("modelVersion", generator.datum().into()),
        ("responseId", generator.datum().into()),
    ])
}

/// The contents that say these steps: all that one side says in a row may share one.
fn contents(generator: &mut Generator<'_>, steps: &[Step]) -> Vec<Json> {
    let mut objects = Vec::new();
    let mut rest = steps;
    while let Some(first) = rest.first() {
        let role = role(first.act);
        let run = rest.iter().take_while(|step| self::role(step.act) == role).count();
        let count = match role {
            "user" => {
                let results = rest.iter().take_while(|step| step.act == Act::Reply).count();
                let is_user = rest.get(results).is_some_and(|step| step.act == Act::User);
                results + usize::from(is_user)
            }
            _ => of_model(rest, run),
        };
        let (turn, others) = rest.split_at(count.max(1));
        rest = others;
        let mut parts: Vec<Json> = Vec::new();
        for step in turn {
            if role == "model" && generator.one_in(10) {
                let code =
                    object([("language", "PYTHON".into()), ("code", generator.datum().into())]);
                parts.push(object([("executableCode", code)]));
            }
            parts.push(part(generator, step));
        }
        if role == "user" && first.act == Act::User && generator.one_in(8) {
            let data =
                object([("mimeType", "image/png".into()), ("data", generator.datum().into())]);
            parts.push(object([("inlineData", data)]));
        }
        objects.push(object([("role", role.into()), ("parts", parts.into())]));
    }
    objects
}

fn role(act: Act) -> &'static str {
    match act.role() {
        "assistant" => "model",
        _ => "user",
    }
}

/// How many steps can share a content: text next to text would be one, and an answer before a call a
/// preamble.
fn of_model(steps: &[Step], count: usize) -> usize {
    let is_text = |step: &Step| matches!(step.act, Act::Answer | Act::Preamble);
    let ends = |at: &usize| {
        let (one, two) = (&steps[at - 1], &steps[*at]);
        is_text(one) && is_text(two) || one.act == Act::Answer && two.act == Act::Call
    };
    (1..count).find(ends).unwrap_or(count)
}

fn text(text: &str) -> Json {
    object([("text", text.into())])
}

fn part(generator: &mut Generator<'_>, step: &Step) -> Json {
    let mut part = match step.act {
        Act::Thought => {
            object([("text", step.text.as_str().into()), ("thought", Json::Word("true"))])
        }
        Act::Call => {
            let call = object([
                ("name", step.tool.as_str().into()),
                ("args", Json::Raw(step.text.clone())),
                ("id", step.id.as_str().into()),
            ]);
            object([(generator.pick(&["functionCall", "function_call"]), call)])
        }
        Act::Reply => {
            let is_object = step.text.starts_with("{\"ok\"");
            let response = match is_object {
                true => Json::Raw(step.text.clone()),
                false => object([("output", step.text.as_str().into())]),
            };
            let result = object([
                ("name", step.tool.as_str().into()),
                ("id", step.id.as_str().into()),
                ("response", response),
            ]);
            object([(generator.pick(&["functionResponse", "function_response"]), result)])
        }
        _ => text(&step.text),
    };
    if step.act.role() == "assistant" && generator.one_in(6) {
        part.set("thoughtSignature", generator.datum());
    }
    part
}
