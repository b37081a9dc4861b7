//! Any chat template writes any conversation or returns an error.

use openchatml_templates::{Limits, Options, Template};
use openchatml_testkit::{Source, document, one_in};

/// Runs a template. After a zero byte, the input determines the conversation.
pub(crate) fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (text, rest) = data.split_at(end);
    let text = String::from_utf8_lossy(text);
    let mut source = Source::new(rest);
    let format = "openchatml-2.2".parse().expect("a format");
    let conversation = document::conversation(&mut source, format);
    let mut options = Options::default();
    options.generation_prompt = one_in(&mut source, 2);
    options.date = one_in(&mut source, 2).then(|| "2025-06-28".parse().expect("a date"));
    let mut limits = Limits::default();
    limits.output_bytes = 1 << 20;
    limits.value_bytes = 1 << 20;
    limits.value_items = 1 << 12;
    limits.steps = 1 << 14;
    // Unchanged, and surrounded by keywords of the language.
    for template in [
        text.to_string(),
        format!("{{{{ {text} }}}}"),
        format!("{{% set x = {text} %}}{{{{ x }}}}"),
    ] {
        let Ok(template) = Template::new(&template, &limits) else { continue };
        let Ok(rendered) = template.render_pieces(&conversation, &options) else { continue };
        let mut at = 0;
        for piece in &rendered.pieces {
            assert!(piece.span.start == at && piece.span.end > at);
            at = piece.span.end;
        }
        assert_eq!(at, rendered.text.len());
        for range in &rendered.generation {
            assert!(rendered.text.get(range.clone()).is_some());
        }
        if let Ok(text) = template.render(&conversation, &options) {
            assert_eq!(text, rendered);
        }
    }
}
