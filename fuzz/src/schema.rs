//! Uses any JSON as the schema of a tool: as TypeScript, and as a grammar.

use openchatml::Tool;
use openchatml::harmony::Namespace;
use openchatml_grammars::{GrammarError, Language, Options, grammar};
use openchatml_testkit::run;

/// Declares a schema, and writes its grammar.
pub(crate) fn run(text: &str) {
    let Some(schema) = run::schema(text) else { return };
    run::declares(&schema);
    let tool = Tool::new("f").with_parameters(schema.clone());
    let tools = [Namespace::functions(vec![tool])];
    let mut answers = Options::default();
    answers.answer = Some(schema);
    let harmony = "harmony".parse().expect("a format");
    for language in Language::ALL {
        grammar(harmony, &tools, language, &Options::default()).expect("a tool can be called");
        match grammar(harmony, &[], language, &answers) {
            Ok(_) | Err(GrammarError::Nothing) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
