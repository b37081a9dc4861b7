//! JSON of Google's Gemini API: requests, responses, lists of contents, and single contents (the
//! API reference, `generateContent`).

use super::Draft;
use super::generator::Generator;
use super::json::{Json, object};
use super::openai::{self, Parameter};
use super::plan::{Act, Declared, Plan, Step};
use super::sides::{self, Api};

const PARAMETERS: &[Parameter] = &[
    Parameter::Text("model"),
    Parameter::Text("cachedContent"),
    Parameter::Object("generationConfig"),
    Parameter::Object("toolConfig"),
    Parameter::List("safetySettings"),
];

const API: Api = Api { request, response, messages: contents };

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    sides::write(generator, &API)
}

fn request(generator: &mut Generator<'_>, plan: Plan) -> Json {
    let mut request = object([]);
    if generator.one_in(2) {
        openai::parameters(generator, &mut request, PARAMETERS);
    }
    let (system, rest) = sides::split_system(&plan.steps);
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

fn contents(generator: &mut Generator<'_>, steps: &[Step]) -> Vec<Json> {
    sides::turns(steps).map(|turn| content(generator, turn)).collect()
}

fn content(generator: &mut Generator<'_>, turn: &[Step]) -> Json {
    let is_model = turn.iter().any(sides::is_model);
    let mut parts: Vec<Json> = Vec::new();
    for step in turn {
        if is_model && generator.one_in(10) {
            let code = object([("language", "PYTHON".into()), ("code", generator.datum().into())]);
            parts.push(object([("executableCode", code)]));
        }
        parts.push(part(generator, step));
    }
    if turn.first().is_some_and(|step| step.act == Act::User) && generator.one_in(8) {
        let data = object([("mimeType", "image/png".into()), ("data", generator.datum().into())]);
        parts.push(object([("inlineData", data)]));
    }
    object([("role", if is_model { "model" } else { "user" }.into()), ("parts", parts.into())])
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
