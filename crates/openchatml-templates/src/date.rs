//! The date that a template receives.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;

/// The date, and optionally the time, that `strftime_now` returns: `2025-06-28` or
/// `2025-06-28T12:30:00`.
///
/// ```
/// use openchatml::Conversation;
/// use openchatml_templates::{Options, Template};
///
/// let template = Template::new("Today is {{ strftime_now('%d %b %Y') }}.", &Default::default())?;
/// let mut options = Options::default();
/// let error = template.render(&Conversation::default(), &options).unwrap_err();
/// assert_eq!(error.message, "the template requires the current date");
/// options.date = Some("2025-06-28".parse()?);
/// assert_eq!(template.render(&Conversation::default(), &options)?.text, "Today is 28 Jun 2025.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date(DateTime);

/// The error for a text that is not a date.
///
/// ```
/// let error = "28.6.2025".parse::<openchatml_templates::Date>().unwrap_err();
/// assert_eq!(error.to_string(), "write the date as YYYY-MM-DD, optionally with a time: THH:MM:SS");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDate;

impl fmt::Display for InvalidDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write the date as YYYY-MM-DD, optionally with a time: THH:MM:SS")
    }
}

impl std::error::Error for InvalidDate {}

impl FromStr for Date {
    type Err = InvalidDate;

    fn from_str(text: &str) -> Result<Self, InvalidDate> {
        let date: DateTime = text.parse().map_err(|_| InvalidDate)?;
        let (day, whole) = (date.date().to_string(), date.to_string());
        if text == day || text == whole { Ok(Self(date)) } else { Err(InvalidDate) }
    }
}

impl Date {
    /// Formats the date with `strftime`.
    pub(crate) fn format(self, format: &str) -> Result<String, String> {
        let time = BrokenDownTime::from(self.0);
        time.to_string(format).map_err(|error| format!("`strftime_now`: {error}"))
    }
}
