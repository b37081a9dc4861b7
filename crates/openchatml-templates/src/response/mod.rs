//! Response templates: declarative JSON that describes the output of a model.

mod anchor;
mod argument;
mod assemble;
mod call_list;
mod calls;
mod content;
mod emit;
mod error;
mod lax_json;
mod load;
mod python;
mod read;
mod regions;
mod scan;
mod spec;
mod stream;
mod template;
mod transform;
mod value;

pub use self::error::ResponseTemplateError;
pub use self::stream::ResponseStream;
pub use self::template::ResponseTemplate;
