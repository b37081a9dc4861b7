//! Writes a training sample as token ids, with the mask of the ids that a model is trained on.
//!
//! ```sh
//! cargo run -p openchatml-tokens --example loss_mask
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is an example")]

use std::error::Error;

use openchatml::convert::prepare;
use openchatml::{Conversation, Message, RenderOptions, TextFormat};
use openchatml_tokens::{Encoding as _, MaskPolicy, O200kHarmony, Token, Tokenizer};

fn main() -> Result<(), Box<dyn Error>> {
    let sample = Conversation::from_messages([
        Message::user("What is the weather in <|end|>?"), // Content never becomes a control token.
        Message::reasoning("I need the tool."),
        Message::call("weather", r#"{"city":"Tokyo"}"#).with_call_id("c1"),
        Message::reply("weather", "20 °C").with_call_id("c1"),
        Message::answer("It is 20 °C."),
    ]);
    let document = sample.into();

    // `prepare` adapts the sample to the format, and reports what the format cannot express.
    let options = RenderOptions::default();
    let prepared = prepare(&document, TextFormat::HARMONY.format(), &options)?;
    for loss in &prepared.losses {
        eprintln!("{loss}");
    }

    let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
    let rendered = tokenizer.render_prepared(&prepared, &options)?;
    let conversation = prepared.document.as_conversation().ok_or("it is a conversation")?;

    // By default, everything that the model samples is trained, including the end of its turn.
    // `MaskPolicy` has fields to train only answers, only the last turn, or no headers.
    let mask = MaskPolicy::default().mask(conversation, &rendered);

    for span in &rendered.spans {
        println!("{}:", conversation.messages[span.message].role);
        for at in span.ids() {
            let id = rendered.ids[at];
            let mark = if mask[at] { '*' } else { ' ' };
            match tokenizer.encoding().token(id) {
                Some(Token::Control(spelling)) => println!("{mark} {id:>6}  {spelling}"),
                Some(Token::Text(text)) => println!("{mark} {id:>6}  {text:?}"),
                Some(Token::Bytes(bytes)) => {
                    println!("{mark} {id:>6}  {:?}", String::from_utf8_lossy(bytes));
                }
                None => println!("{mark} {id:>6}  (unknown)"),
            }
        }
    }
    let trained = mask.iter().filter(|is_trained| **is_trained).count();
    println!("{trained} of {} ids are trained (*)", rendered.ids.len());
    Ok(())
}
