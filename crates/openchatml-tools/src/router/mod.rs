//! The router: it receives the calls of a turn and answers each call once.

mod admission;
mod approval;
mod events;
mod job;
mod options;
mod reply;
mod schema;
mod turn;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

pub use self::approval::{Approval, ApprovalFuture, ApprovalRequest, Approver};
pub use self::events::TurnEvent;
pub use self::options::{Envelope, RouterOptions, Routes};
use self::reply::Replies;
#[cfg(feature = "session")]
pub(crate) use self::reply::checksum;
pub use self::schema::InvalidSchema;
use self::schema::Schema;
pub use self::turn::Turn;
use crate::secrets::Secrets;
use crate::{ApprovalPolicy, Entry, Toolbox};

/// Runs the calls of turns: concurrently, with timeouts, and each call at most once.
///
/// Clones share the tools and the limits on concurrent calls. A panic of a tool affects only its
/// own call if panics unwind, which is the default.
///
/// ```
/// use openchatml_tools::{Entry, Output, Router, RouterOptions, Toolbox, function};
///
/// let mut tools = Toolbox::default();
/// let echo = function(|call| async move { Ok(Output::text(call.arguments())) });
/// tools.insert("functions.echo", Entry::new(echo))?;
/// let mut options = RouterOptions::default();
/// options.at_once = 4;
/// let router = Router::new(tools, options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Router {
    core: Arc<Core>,
}

/// The state that all turns of a router share.
struct Core {
    tools: HashMap<String, Arc<RegisteredTool>>,
    options: RouterOptions,
    replies: Replies,
    /// The names of the tools that have an approved call.
    approved: Mutex<HashSet<String>>,
    /// The queue of calls that wait for approval. The approver is asked about one call at a time.
    questions: Arc<Semaphore>,
    /// Limits the number of running calls.
    running: Arc<Semaphore>,
    /// Limits the number of waiting calls.
    queue: Arc<Semaphore>,
}

/// A tool and its compiled schema.
struct RegisteredTool {
    entry: Entry,
    secrets: Secrets,
    schema: Option<Schema>,
    /// The queue of a sequential tool, whose calls run one at a time.
    line: Option<Arc<Semaphore>>,
}

impl Core {
    /// Returns the calls of a tool that require approval.
    fn approve(&self, tool: &RegisteredTool) -> ApprovalPolicy {
        tool.entry.approve.unwrap_or(self.options.approve)
    }

    /// The names of the tools that have an approved call.
    fn approved(&self) -> MutexGuard<'_, HashSet<String>> {
        self.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Router {
    /// Creates a router for these tools.
    ///
    /// # Errors
    ///
    /// The parameters of a tool are not a JSON Schema, or the schema refers to a document outside
    /// itself. The router fetches nothing.
    pub fn new(tools: Toolbox, options: RouterOptions) -> Result<Self, InvalidSchema> {
        let mut known = HashMap::new();
        for (name, entry) in tools.iter() {
            let schema = entry.parameters.as_ref();
            let schema = schema.map(|schema| Schema::new(name, schema)).transpose()?;
            let line = entry.is_sequential.then(|| Arc::new(Semaphore::new(1)));
            let secrets = Secrets::new(entry.secrets.iter().cloned());
            let tool = RegisteredTool { entry: entry.clone(), secrets, schema, line };
            known.insert(name.to_owned(), Arc::new(tool));
        }
        let places = |places: usize| Arc::new(Semaphore::new(places.clamp(1, 1 << 20)));
        let core = Core {
            tools: known,
            approved: Mutex::default(),
            questions: places(1),
            running: places(options.at_once),
            queue: places(options.queue),
            replies: Replies::new(options.clone()),
            options,
        };
        Ok(Self { core: Arc::new(core) })
    }

    /// Starts a turn of a conversation in which these call ids are already used.
    pub fn turn(&self, taken: impl IntoIterator<Item = String>) -> Turn {
        Turn::new(self.core.clone(), taken.into_iter().collect())
    }

    /// Checks whether a call would run, and returns which approval it requires.
    #[cfg(feature = "session")]
    pub(crate) fn check(
        &self,
        call: &openchatml::Message<'_>,
        settings: &openchatml::Settings,
        taken: &HashSet<String>,
    ) -> Result<ApprovalPolicy, crate::Failure> {
        let admission = self.core.admit(call, settings, taken);
        let tool = admission.map_err(|refusal| refusal.failure)?.tool;
        let name = call.recipient.as_deref().unwrap_or_default();
        match self.core.approve(&tool) {
            ApprovalPolicy::Once if self.core.approved().contains(name) => {
                Ok(ApprovalPolicy::Never)
            }
            ApprovalPolicy::Once | ApprovalPolicy::Always
                if self.core.options.approver.is_none() =>
            {
                Err(job::denied(job::NO_APPROVER))
            }
            wanted => Ok(wanted),
        }
    }

    /// Returns the reply to a call that does not run.
    #[cfg(feature = "session")]
    pub(crate) fn refusal(
        &self,
        call: &openchatml::Message<'_>,
        failure: &crate::Failure,
    ) -> openchatml::Message<'static> {
        self.core.replies.failure(&reply::ReplyTarget::of(call, true), failure).1
    }
}

/// Checks whether the parameters of a tool are a JSON Schema.
#[cfg(feature = "config")]
pub(crate) fn check_schema(
    name: &str,
    parameters: &openchatml::Value<'_>,
) -> Result<(), InvalidSchema> {
    Schema::new(name, parameters).map(drop)
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tools: Vec<_> = self.core.tools.keys().collect();
        tools.sort();
        f.debug_struct("Router")
            .field("tools", &tools)
            .field("options", &self.core.options)
            .finish_non_exhaustive()
    }
}
