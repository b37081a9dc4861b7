//! The command-line arguments that several commands share.

mod consent;
mod console;
mod files;
mod harmony;
mod late;
mod limits;
mod names;
mod protocol;
mod read;
mod template;
mod write;

#[cfg(feature = "data")]
pub(crate) use self::consent::ConsentArgs;
pub(crate) use self::console::{ConsoleArgs, Verbosity};
pub(crate) use self::files::FilesArgs;
pub(crate) use self::harmony::BareArgs;
#[cfg(feature = "run")]
pub(crate) use self::harmony::HarmonyArgs;
pub(crate) use self::limits::Bounds;
#[cfg(feature = "data")]
pub(crate) use self::limits::number;
#[cfg(any(feature = "data", feature = "run"))]
pub(crate) use self::names::choice;
pub(crate) use self::names::{Choice, Written, text_format, written};
pub(crate) use self::protocol::{Protocol, now};
#[cfg(feature = "data")]
pub(crate) use self::read::jobs;
pub(crate) use self::read::{
    DenyArgs, JsonlArgs, O200K_HARMONY, PreambleArgs, ReadArgs, ReaderArgs, ResponseArgs,
};
pub(crate) use self::template::{FormArg, TemplateArgs};
pub(crate) use self::write::{OutArgs, RenderArgs};
