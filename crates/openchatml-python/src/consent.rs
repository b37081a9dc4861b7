//! What may be lost.

use openchatml::convert::{Loss, Lost, convert};
use openchatml::{Diagnostic, Document, Dropped, Format};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::argument::{Argument, cut};
use crate::error::{Failure, class, detached, wrong_value};
use crate::input::Read;
use crate::record::losses;

/// What may be lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Consent {
    /// One bit for each loss.
    lost: u128,
    /// One bit for each kind of dropped input.
    dropped: u32,
}

/// What a name in `allow_loss` allows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Allowed {
    All,
    /// All losses of the conversion.
    Losses,
    Lost(Lost),
    Dropped(Dropped),
}

impl Allowed {
    /// Reads `allow_loss`: a name, or several.
    pub(crate) fn read(argument: &Argument<'_, '_>) -> PyResult<Vec<Self>> {
        let names = match argument.value.is_instance_of::<PyString>() {
            true => vec![argument.text()?.to_owned()],
            false => argument.texts()?,
        };
        let allowed = |name: &String| {
            let lost = Lost::ALL.iter().find(|lost| lost.word() == *name);
            match (name.as_str(), lost, Dropped::from_word(name)) {
                ("all", ..) => Ok(Self::All),
                ("losses", ..) => Ok(Self::Losses),
                (_, Some(lost), _) => Ok(Self::Lost(*lost)),
                (_, None, Some(dropped)) => Ok(Self::Dropped(dropped)),
                (_, None, None) => {
                    let why = format!("there is no loss named `{}`", cut(name));
                    Err(wrong_value(argument.name, &why))
                }
            }
        };
        names.iter().map(allowed).collect()
    }
}

impl Consent {
    const ALL: Self = Self { lost: u128::MAX, dropped: u32::MAX };

    /// What the format cannot express, but no input that the reader drops.
    pub(crate) const LOSSES: Self = Self { lost: u128::MAX, dropped: 0 };

    /// Reads `allow_loss`: `"all"`, `"losses"`, or names of losses and of dropped input.
    pub(crate) fn read(argument: &Argument<'_, '_>) -> PyResult<Self> {
        let mut consent = Self::default();
        for allowed in Allowed::read(argument)? {
            match allowed {
                Allowed::All => consent = Self::ALL,
                Allowed::Losses => consent.lost = u128::MAX,
                Allowed::Lost(lost) => consent.lost |= 1 << lost as u32,
                Allowed::Dropped(dropped) => consent.dropped |= 1 << dropped as u32,
            }
        }
        Ok(consent)
    }

    pub(crate) fn allows(self, lost: Lost) -> bool {
        self.lost & 1 << lost as u32 != 0
    }

    pub(crate) fn allows_drop(self, dropped: Dropped) -> bool {
        self.dropped & 1 << dropped as u32 != 0
    }
}

/// Asks for consent to losses.
///
/// # Errors
///
/// A loss was not allowed.
pub(crate) fn consent_to_losses(py: Python<'_>, all: &[Loss], consent: Consent) -> PyResult<()> {
    let refused: Vec<_> = all.iter().filter(|it| !consent.allows(it.lost)).cloned().collect();
    let Some(first) = refused.first() else { return Ok(()) };
    let text = match refused.len() {
        1 => format!("{first}; this loss is not allowed"),
        count => format!("{first}; this and {} other losses are not allowed", count - 1),
    };
    let error = class(py, "LossError")?.call1((text, losses(py, &refused)?))?;
    Err(PyErr::from_value(error))
}

/// Asks for consent to dropped input.
///
/// # Errors
///
/// The reader dropped input, and this was not allowed.
pub(crate) fn consent_to_drops(
    py: Python<'_>,
    read: Option<&Read>,
    consent: Consent,
) -> PyResult<()> {
    let Some(read) = read else { return Ok(()) };
    let refused =
        |it: &&Diagnostic| it.dropped.is_some_and(|dropped| !consent.allows_drop(dropped));
    let Some(found) = read.diagnostics.iter().find(refused) else { return Ok(()) };
    let name = found.dropped.map_or("all", Dropped::as_str);
    let text = format!("input was dropped ({name}): {}", found.message);
    let error = class(py, "LossError")?.call1((text,))?;
    error.setattr("code", found.code.as_str())?;
    error.setattr("user_summary", found.code.user_summary())?;
    error.setattr("span", (found.span.start, found.span.end))?;
    if let Some(place) = read.locate(found) {
        error.setattr("line", place.line)?;
        error.setattr("column", place.column)?;
    }
    Err(PyErr::from_value(error))
}

/// Writes a document, and asks for consent to its losses.
pub(crate) fn converted(
    py: Python<'_>,
    document: &Document<'static>,
    format: Format,
    allow_loss: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let consent = allow_loss.map(|value| Consent::read(&Argument::new("allow_loss", value)));
    let written = detached(py, || convert(document, format, &Default::default()))?;
    let written = written.map_err(|error| Failure::render(&error, document.as_conversation()))?;
    consent_to_losses(py, &written.losses, consent.transpose()?.unwrap_or_default())?;
    Ok(written.output)
}
