//! Options of a router.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::approval::Approver;
use crate::ApprovalPolicy;

/// Returns the current time in RFC 3339.
type Clock = Arc<dyn Fn() -> String + Send + Sync>;

/// Options of a [`Router`](crate::Router).
///
/// ```
/// use std::time::Duration;
///
/// use openchatml_tools::{Envelope, RouterOptions};
///
/// let mut options = RouterOptions::default();
/// options.timeout = Duration::from_secs(5);
/// options.envelope = Envelope::Raw; // As Harmony has it.
/// assert_eq!(options.at_once, 16);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RouterOptions {
    /// The number of calls that run concurrently in all turns. At least 1.
    pub at_once: usize,
    /// The number of calls that wait. While the queue is full, [`dispatch`](crate::Turn::dispatch)
    /// waits. At least 1.
    pub queue: usize,
    /// The timeout of a call without `deadline_ms`, if its tool has no timeout. The time in the
    /// queue counts.
    pub timeout: Duration,
    /// The maximum timeout of any call.
    pub longest: Duration,
    /// The maximum size of the content of a reply, in bytes. A longer output is replaced by an
    /// error.
    pub output_bytes: usize,
    /// How often a call is repeated after a temporary failure, if its tool is idempotent.
    pub retries: u32,
    /// The pause before a call is repeated. Each further pause is twice as long.
    pub backoff: Duration,
    /// The form of replies.
    pub envelope: Envelope,
    /// The channels on which functions are called.
    pub routes: Routes,
    /// The calls that require approval, for tools [without a setting](crate::Entry) of their own.
    pub approve: ApprovalPolicy,
    /// The approver. Without one, calls that require approval do not run.
    pub approver: Option<Arc<dyn Approver>>,
    /// Returns the time of a reply in RFC 3339. Without a clock, replies have no time.
    pub clock: Option<Clock>,
}

/// The channels on which functions are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Routes {
    /// Only on `commentary` (OpenChatML 2.2 §8.3).
    #[default]
    Strict,
    /// Also on `analysis`: Harmony models call functions there, and engines run these calls. The
    /// diagnostic remains.
    Lenient,
}

/// The form of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// The recommended envelope (OpenChatML 2.2 §8.2): `ok`, `content`, `error`, `provenance`.
    #[default]
    Json,
    /// Only the content, with text unchanged, as Harmony models read it. Errors still have the
    /// envelope, because nothing else distinguishes them from results.
    Raw,
}

impl Default for RouterOptions {
    fn default() -> Self {
        Self {
            at_once: 16,
            queue: 1024,
            timeout: Duration::from_secs(30),
            longest: Duration::from_secs(600),
            output_bytes: 1 << 20,
            retries: 2,
            backoff: Duration::from_millis(200),
            envelope: Envelope::Json,
            routes: Routes::Strict,
            approve: ApprovalPolicy::Never,
            approver: None,
            clock: None,
        }
    }
}

impl fmt::Debug for RouterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterOptions")
            .field("at_once", &self.at_once)
            .field("queue", &self.queue)
            .field("timeout", &self.timeout)
            .field("longest", &self.longest)
            .field("output_bytes", &self.output_bytes)
            .field("retries", &self.retries)
            .field("backoff", &self.backoff)
            .field("envelope", &self.envelope)
            .field("routes", &self.routes)
            .field("approve", &self.approve)
            .finish_non_exhaustive()
    }
}
