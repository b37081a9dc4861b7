//! Declares tools as the encoders do.

use crate::declare::whole_function;
use crate::grammar::sections::{BETWEEN, Rules};
use crate::json::python;
use crate::model::Tool;
use crate::{Control, Section};

/// Returns the system message of a conversation with tools, in V3.2.
pub(super) fn v3_2(system: &str, tools: &[Tool<'_>]) -> String {
    let tag = "｜DSML｜";
    let mut text = [system, BETWEEN].concat();
    text.push_str(&format!(
        "## Tools\nYou have access to a set of tools you can use to answer the user's question.\n\
         You can invoke functions by writing a \"<{tag}function_calls>\" block like the following as \
         part of your reply to the user:\n\
         <{tag}function_calls>\n<{tag}invoke name=\"$FUNCTION_NAME\">\n\
         <{tag}parameter name=\"$PARAMETER_NAME\" string=\"true|false\">$PARAMETER_VALUE</{tag}parameter>\n\
         ...\n</{tag}invoke>\n<{tag}invoke name=\"$FUNCTION_NAME2\">\n...\n</{tag}invoke>\n\
         </{tag}function_calls>\n\
         String and scalar parameters should be specified as is without any escaping or quotes, while \
         lists and objects should use JSON format. The \"string\" attribute should be set to \"true\" for \
         string type parameters and \"false\" for other types (numbers, booleans, arrays, objects).\n\
         If the thinking_mode is enabled, then after function results you should strongly consider \
         outputting a thinking block. Here is an example:\n\
         <{tag}function_calls>\n...\n</{tag}function_calls>\n\
         <function_results>\n...\n</function_results>\n\
         <think>...thinking about results</think>\n\
         Here are the functions available in JSONSchema format:\n<functions>\n"
    ));
    schemas(&mut text, tools);
    text.push_str("\n</functions>\n");
    text
}

/// The same in V4 and V4.1, which differ in their tags.
pub(super) fn v4(system: &str, tools: &[Tool<'_>], rules: &Rules) -> String {
    let spell = |control| rules.controls.spelling(control).unwrap_or_default();
    let [calls, end_calls] =
        [Control::OpenSection, Control::CloseSection].map(|it| spell(it(Section::Calls)));
    let [call, end_call] =
        [Control::OpenSection, Control::CloseSection].map(|it| spell(it(Section::Call)));
    let key = spell(Control::OpenSection(Section::Key));
    let end_value = spell(Control::CloseSection(Section::Value));
    let mut text = [system, BETWEEN].concat();
    text.push_str(&format!(
        "## Tools\n\nYou have access to a set of tools to help answer the user's question. You can \
         invoke tools by writing a \"{calls}\" block like the following:\n\n\
         {calls}\n{call}$TOOL_NAME\">\n\
         {key}$PARAMETER_NAME\" string=\"true|false\">$PARAMETER_VALUE{end_value}\n\
         ...\n{end_call}\n{call}$TOOL_NAME2\">\n...\n{end_call}\n{end_calls}\n\n\
         String parameters should be specified as is and set `string=\"true\"`. For all other types \
         (numbers, booleans, arrays, objects), pass the value in JSON format and set \
         `string=\"false\"`.\n\n\
         If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning \
         inside <think>...</think> BEFORE any tool calls or final response.\n\n\
         Otherwise, output directly after </think> with tool calls or final response.\n\n\
         ### Available Tool Schemas\n\n"
    ));
    schemas(&mut text, tools);
    text.push_str(
        "\n\nYou MUST strictly follow the above defined tool name and parameter schemas to invoke tool \
         calls.\n",
    );
    text
}

/// Adds a line for each tool.
fn schemas(text: &mut String, tools: &[Tool<'_>]) {
    for (index, tool) in tools.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "\n" });
        let function = whole_function(tool);
        python::to_json(text, function.get("function").unwrap_or(&function));
    }
}
