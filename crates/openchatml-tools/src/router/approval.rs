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
    /// The call may run.
    Yes,
    /// The call may run with these arguments instead. They must match the schema of the tool;
    /// otherwise the approver is asked again.
    Edited(String),
    /// The call must not run, for this reason. The model reads the reason.
    No(String),
}

/// The future of an answer.
pub type ApprovalFuture<'a> = Pin<Box<dyn Future<Output = Approval> + Send + 'a>>;

/// Approves or rejects calls: a person or a policy.
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
    /// Asks whether a call may run. Dropping the future withdraws the question.
    fn approve<'a>(&'a self, proposal: ApprovalRequest<'a>) -> ApprovalFuture<'a>;
}
