//! What a format carries, and what is lost where it does not.

mod carries;
mod compose;
mod history;
mod loss;
mod origins;
mod prepared;
mod said;

pub(crate) use self::carries::ends_section;
pub use self::carries::{Carries, Channels, Intents, Markers};
pub(crate) use self::compose::{Composed, Composer, Join};
pub(crate) use self::history::History;
pub use self::loss::{Loss, Lost};
pub use self::origins::Origins;
pub use self::prepared::{Prepared, Weighed};
pub(crate) use self::said::{lost, lost_field, said_in_part};
