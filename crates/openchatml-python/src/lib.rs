//! The extension module of the Python package `openchatml`.
//!
//! Each class and function is native, so that a call costs little beside its work. Its
//! documentation is in `_openchatml.pyi` of the package, and its results without behaviour are the
//! classes of `_records.py`.

#![forbid(unsafe_code)]

mod argument;
mod cache;
mod cancellation;
mod column;
mod command;
mod consent;
mod conversation;
mod data;
mod describe;
mod document;
mod encoding;
mod error;
mod event;
mod grammar;
mod harmony_messages;
mod harmony_parser;
mod html;
mod id_writer;
mod input;
#[cfg(feature = "internals")]
mod internals;
mod kernel;
mod message;
mod message_fields;
mod options;
mod pickle;
mod python_call;
mod read;
mod record;
mod rendered;
mod router;
mod run;
mod state;
mod stream;
mod template;
mod tokenizer;
mod tool_list;
mod training;
mod upstream;
mod view;
mod wire;
mod write;

/// The module `openchatml._openchatml`.
#[pyo3::pymodule]
mod _openchatml {
    #[pymodule_export]
    use super::cache::PyPromptCache;
    #[pymodule_export]
    use super::cancellation::PyCancellation;
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::conversation::{PyConversation, restore};
    #[pymodule_export]
    use super::document::{PyParsed, restore_parsed};
    #[pymodule_export]
    use super::event::{PyEvent, restore_event};
    #[pymodule_export]
    use super::grammar::grammar;
    #[pymodule_export]
    use super::harmony_messages::conversation;
    #[pymodule_export]
    use super::harmony_parser::PyHarmonyParser;
    #[cfg(feature = "internals")]
    #[pymodule_export]
    use super::internals::{PyEmpty, empty, panic_for_test, repeat_feed, repeat_parse};
    #[pymodule_export]
    use super::kernel::{PyKernel, PyRows, PySchema};
    #[pymodule_export]
    use super::message::{PyMessage, restore_message};
    #[pymodule_export]
    use super::read::{check, detect, explain, fix, formats, parse};
    #[pymodule_export]
    use super::rendered::{PyRendered, restore_rendered};
    #[pymodule_export]
    use super::router::PyRouter;
    #[pymodule_export]
    use super::run::run;
    #[pymodule_export]
    use super::stream::PyStream;
    #[pymodule_export]
    use super::template::{PyChatTemplate, restore_template};
    #[pymodule_export]
    use super::tokenizer::{PyTokenizer, restore_tokenizer};
    #[pymodule_export]
    use super::tool_list::builtin_tools;
    #[pymodule_export]
    use super::view::PyUserView;
    #[pymodule_export]
    use super::wire::PyApiWriter;
    #[pymodule_export]
    use super::write::{convert, prompt, render};

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
