//! Approval of calls before they run.

use std::future::Future;
use std::pin::Pin;

/// A valid call that waits for approval and has not started.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest<'p> {
    /// The id of the call.
    pub call_id: &'p str,
    /// The name of the tool, as the model wrote it.
    pub name: &'p str,
    /// The arguments that the tool will receive.
    pub arguments: &'p str,
    /// The reason why the arguments of the last answer are invalid, if there was one. After three
    /// such answers, the call is rejected.
    pub problem: Option<&'p str>,
}

/// The answer to a [`ApprovalRequest`].
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

/// The future of an answer.
pub type ApprovalFuture<'a> = Pin<Box<dyn Future<Output = Approval> + Send + 'a>>;

/// Somebody who approves calls: a person, or a policy.
///
/// Proposals are presented one at a time. The time of the answer does not count towards the
/// deadline of the call.
///
/// ```
/// use openchatml_tools::{Approval, Approver, ApprovalFuture, ApprovalRequest};
///
/// struct NobodyPays;
///
/// impl Approver for NobodyPays {
///     fn approve<'a>(&'a self, call: ApprovalRequest<'a>) -> ApprovalFuture<'a> {
///         let is_payment = call.name.starts_with("bank.");
///         Box::pin(async move {
///             if is_payment { Approval::No("no payments today".into()) } else { Approval::Yes }
///         })
///     }
/// }
/// ```
pub trait Approver: Send + Sync {
    /// Asks whether a call may be made. Dropped, the question is taken back.
    fn approve<'a>(&'a self, proposal: ApprovalRequest<'a>) -> ApprovalFuture<'a>;
}
