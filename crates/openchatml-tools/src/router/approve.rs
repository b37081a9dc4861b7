//! Calls that somebody approves before they are made.

use std::future::Future;
use std::pin::Pin;

/// A call that waits for approval: it is in order, and did not begin.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Proposal<'p> {
    /// Its id.
    pub call_id: &'p str,
    /// The tool, as the model named it.
    pub name: &'p str,
    /// The arguments, as the tool will get them.
    pub arguments: &'p str,
    /// Why the arguments cannot be used that stood in the last answer, if there was one. After three
    /// such answers the call is refused.
    pub problem: Option<&'p str>,
}

/// What somebody says to a [`Proposal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The call may be made.
    Yes,
    /// It may be made with these arguments instead, which must fit the schema of the tool: otherwise
    /// it is asked again.
    Edited(String),
    /// It may not, for this reason, which the model is told.
    No(String),
}

/// What somebody says, once it is said.
pub type Asked<'a> = Pin<Box<dyn Future<Output = Approval> + Send + 'a>>;

/// Somebody who approves calls: a person, or a policy.
///
/// One call is asked for at a time, and the time that the answer takes does not count towards the
/// deadline of the call.
///
/// ```
/// use openchatml_tools::{Approval, Approver, Asked, Proposal};
///
/// struct NobodyPays;
///
/// impl Approver for NobodyPays {
///     fn approve<'a>(&'a self, call: Proposal<'a>) -> Asked<'a> {
///         let is_payment = call.name.starts_with("bank.");
///         Box::pin(async move {
///             if is_payment { Approval::No("no payments today".into()) } else { Approval::Yes }
///         })
///     }
/// }
/// ```
pub trait Approver: Send + Sync {
    /// Asks whether a call may be made. Dropped, the question is taken back.
    fn approve<'a>(&'a self, proposal: Proposal<'a>) -> Asked<'a>;
}
