//! What a router keeps to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::approve::Approver;
use crate::Approve;

/// Tells the time, as RFC 3339.
type Clock = Arc<dyn Fn() -> String + Send + Sync>;

/// What a [`Router`](crate::Router) keeps to.
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
    /// How many calls run at once, those of all turns counted together. At least 1.
    pub at_once: usize,
    /// How many calls wait for their turn to run. While so many do,
    /// [`dispatch`](crate::Turn::dispatch) waits. At least 1.
    pub queue: usize,
    /// How long a call may take that names no `deadline_ms`, of a tool that has no timeout of its
    /// own. The time in the queue counts.
    pub timeout: Duration,
    /// How long a call may take whatever it or its tool says.
    pub longest: Duration,
    /// The content of a reply, in bytes. What is longer is no output, but an error.
    pub output_bytes: usize,
    /// How often a call is made again after a failure that may pass, if its tool is idempotent.
    pub retries: u32,
    /// How long to wait before a call is made again; twice as long each time.
    pub backoff: Duration,
    /// The form of the replies.
    pub envelope: Envelope,
    /// On which channels functions are called.
    pub routes: Routes,
    /// Which calls are approved before they are made, of tools that [do not say](crate::Entry).
    pub approve: Approve,
    /// Who approves them. Without one, calls that would have to be approved are not made.
    pub approver: Option<Arc<dyn Approver>>,
    /// Tells when a reply was made, as RFC 3339. Without it, replies do not say when.
    pub clock: Option<Clock>,
}

/// On which channels functions are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Routes {
    /// On `commentary` alone (OpenChatML 2.2 §8.3).
    #[default]
    Strict,
    /// On `analysis`, too: models of Harmony call them there, and engines make these calls. The
    /// finding stays.
    Lenient,
}

/// The form of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// The recommended envelope (OpenChatML 2.2 §8.2): `ok`, `content`, `error`, `provenance`.
    #[default]
    Json,
    /// The content alone, text as it is, as models of Harmony read it. An error is in the envelope
    /// all the same: nothing else tells it from a result.
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
            approve: Approve::Never,
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
