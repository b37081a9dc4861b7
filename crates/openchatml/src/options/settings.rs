//! Options of single dialects.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Options of one dialect, or of one family of dialects. The module of the dialect defines them,
/// and [`RenderOptions`](crate::RenderOptions) stores them by type.
///
/// ```
/// use openchatml::RenderOptions;
/// use openchatml::harmony::PromptOptions;
/// use openchatml::render::DialectOptions;
///
/// fn is_set<T: DialectOptions>(options: &RenderOptions) -> bool {
///     options.get::<T>().is_some()
/// }
///
/// let mut options = RenderOptions::default();
/// options.set(PromptOptions::default());
/// assert!(is_set::<PromptOptions>(&options));
/// ```
pub trait DialectOptions: Any + Debug + Send + Sync {}

/// The options of dialects, at most one of each type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(Vec<Arc<dyn DialectOptions>>);

impl Settings {
    /// Sets options. They replace earlier options of the same type.
    pub(crate) fn set<T: DialectOptions>(&mut self, options: T) {
        self.0.retain(|it| !is::<T>(it.as_ref()));
        self.0.push(Arc::new(options));
    }

    /// Returns the options of a type.
    pub(crate) fn get<T: DialectOptions>(&self) -> Option<&T> {
        self.0.iter().find_map(|it| (it.as_ref() as &dyn Any).downcast_ref())
    }
}

fn is<T: Any>(options: &dyn DialectOptions) -> bool {
    (options as &dyn Any).is::<T>()
}
