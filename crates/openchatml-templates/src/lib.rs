//! Renders conversations with the chat templates of published models.
//!
//! A chat template is a Jinja template that writes a list of messages as the prompt of one model.
//! [`Template`] gives the same output as the Python library `transformers`, byte for byte. It runs
//! in a sandbox: it reads no file and no clock, and [`Limits`] bound its work. A template can only
//! write; it cannot read a prompt.
//!
//! A [`ResponseTemplate`] does the reverse: it reads what a model generated.
//!
//! Text of a user never becomes structure: [`Template::render`] rejects content that contains the
//! spelling of a control token. [`Template::render_pieces`] separates the control tokens of the
//! template from content, so that [token ids](Rendered::ids) of content are ids of ordinary text.
//!
//! ```
//! use openchatml::{Conversation, Message, Role};
//! use openchatml_templates::{Options, Template};
//!
//! let source = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}\
//!     {% if message.role == 'assistant' %}{% generation %}{{ message.content }}<|end|>\
//!     {% endgeneration %}{% endif %}{% endfor %}";
//! let template = Template::new(source, &Default::default())?;
//! let conversation = Conversation::from_messages([Message::answer("4.")]);
//! let rendered = template.render(&conversation, &Options::default())?;
//! assert_eq!(&rendered.text[rendered.generation[0].clone()], "4.<|end|>");
//! # Ok::<(), openchatml_templates::TemplateError>(())
//! ```

#![forbid(unsafe_code)]

mod context;
mod controls;
mod date;
mod environment;
mod error;
mod file;
mod ids;
mod limits;
mod marks;
mod messages;
mod number;
mod options;
mod pieces;
mod recognize;
mod response;
mod source;
mod template;

pub use self::date::{Date, InvalidDate};
pub use self::error::{ErrorPlace, TemplateError};
pub use self::file::TemplateFile;
pub use self::ids::Ids;
pub use self::limits::Limits;
pub use self::messages::losses;
pub use self::options::{Arguments, Options};
pub use self::pieces::{Piece, Rendered};
pub use self::recognize::{Fit, recognize};
pub use self::response::{ResponseStream, ResponseTemplate, ResponseTemplateError};
pub use self::template::Template;

/// The examples of the guides and of the README, as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/chat-templates.md")]
#[doc = include_str!("../../../docs/guide/response-templates.md")]
#[doc = include_str!("../../../docs/migrating.md")]
#[doc = include_str!("../README.md")]
mod guide {}

/// All error types can be boxed and sent to other threads.
const _: () = {
    const fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<InvalidDate>();
    is_error::<ResponseTemplateError>();
    is_error::<TemplateError>();
};
