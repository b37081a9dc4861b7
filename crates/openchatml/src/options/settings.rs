//! Options that one dialect alone has.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Options that one dialect, or one family of dialects, alone has. Its module defines them;
/// [`RenderOptions`](crate::RenderOptions) keeps them by their type.
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

/// Options of dialects, one of each type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings(Vec<Arc<dyn DialectOptions>>);

impl Settings {
    /// Takes options, in place of those of the same type.
    pub(crate) fn set<T: DialectOptions>(&mut self, options: T) {
        self.0.retain(|it| !is::<T>(it.as_ref()));
        self.0.push(Arc::new(options));
    }

    /// The options of a type.
    pub(crate) fn get<T: DialectOptions>(&self) -> Option<&T> {
        self.0.iter().find_map(|it| (it.as_ref() as &dyn Any).downcast_ref())
    }
}

fn is<T: Any>(options: &dyn DialectOptions) -> bool {
    (options as &dyn Any).is::<T>()
}
