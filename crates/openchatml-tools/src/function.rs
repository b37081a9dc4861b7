//! Closures as tools.

use std::future::Future;

use crate::{Call, Outcome, Tool, ToolFuture};

/// Creates a tool from a closure.
///
/// ```
/// use openchatml_tools::{Failure, Output, function};
///
/// let tool = function(|call| async move {
///     let arguments = call.parse().map_err(|found| Failure::new(found.message))?;
///     let city = arguments.get("city").and_then(|city| city.as_str()).unwrap_or("nowhere");
///     Ok(Output::text(format!("20 °C in {city}")))
/// });
/// ```
pub fn function<F, R>(run: F) -> Function<F>
where
    F: Fn(Call) -> R + Send + Sync,
    R: Future<Output = Outcome> + Send,
{
    Function { run }
}

/// The tool that [`function`] returns.
#[derive(Clone, Copy, Debug)]
pub struct Function<F> {
    run: F,
}

impl<F, R> Tool for Function<F>
where
    F: Fn(Call) -> R + Send + Sync,
    R: Future<Output = Outcome> + Send,
{
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        Box::pin(async move { (self.run)(call.clone()).await })
    }
}
