//! The limits of one run.

use std::time::Duration;

use clap::Args;
use openchatml_tools::SessionOptions;

/// The limits of one run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub(super) struct MostArgs {
    /// The maximum number of requests to the model
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(super) max_steps: usize,

    /// The maximum number of retries in a row if the server fails, the connection breaks, or a
    /// completion has no certain message; each retry counts as a request
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: usize,

    /// The maximum number of calls to run; the next run continues with the rest
    #[arg(long, value_name = "N")]
    pub(super) max_calls: Option<usize>,

    /// Stop after prompts and completions with this number of tokens in total
    #[arg(long, value_name = "N")]
    pub(super) max_total_tokens: Option<u64>,

    /// Stop after this time, and cancel running calls
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    max_time: Option<Duration>,
}

impl MostArgs {
    /// Returns the options of a session with these limits.
    pub(super) fn options(&self) -> SessionOptions {
        let mut options = SessionOptions::default();
        options.most_steps = self.max_steps;
        options.most_calls = self.max_calls;
        options.most_retries = self.retries;
        options.most_tokens = self.max_total_tokens;
        options.most_time = self.max_time;
        options
    }
}

/// Parses a duration greater than zero.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("must be greater than 0".to_owned()) } else { Ok(time) }
}
