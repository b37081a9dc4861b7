//! Which losses the user allows.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use openchatml::Dropped;
use openchatml::convert::Lost;

use super::late::late;

/// What may be lost on the way from the input to the output.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Losses")]
pub(crate) struct ConsentArgs {
    /// Treat everything that the target format cannot carry as an error
    #[arg(long)]
    no_loss: bool,

    /// Write the output although input was dropped: unknown keys, invalid values, …
    ///
    /// Alone, or with `all`, whatever the reader drops is allowed. With names, only these kinds are.
    /// With --no-loss, the names of what a target format cannot carry, as the warnings have them
    /// (`call_id`, `channel`, …), are exceptions to it.
    #[arg(long, value_name = "NAME,…", num_args = 0..=1, require_equals = true)]
    #[arg(value_delimiter = ',', default_missing_value = ALL, value_parser = names())]
    allow_loss: Vec<Name>,
}

/// All that a reader drops.
const ALL: &str = "all";

/// What may be lost, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    All,
    Dropped(Dropped),
    Lost(Lost),
}

/// Reads the name of a loss.
fn names() -> impl TypedValueParser<Value = Name> {
    late(|| {
        let all = std::iter::once(PossibleValue::new(ALL));
        let dropped = Dropped::ALL.iter().map(|dropped| PossibleValue::new(dropped.as_str()));
        let lost = Lost::ALL.iter().map(|lost| PossibleValue::new(lost.word()).hide(true));
        PossibleValuesParser::new(all.chain(dropped).chain(lost).collect::<Vec<_>>()).try_map(
            |name| {
                let dropped = Dropped::from_word(&name).map(Name::Dropped);
                let lost =
                    || Lost::ALL.iter().find(|lost| lost.word() == name).copied().map(Name::Lost);
                match name.as_str() {
                    ALL => Ok(Name::All),
                    _ => dropped.or_else(lost).ok_or("there is no loss of this name"),
                }
            },
        )
    })
}

/// What the user allows to be lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Consent {
    /// Whether what the target format cannot carry is an error.
    no_loss: bool,
    /// A bit for each kind of input that may be dropped.
    dropped: u32,
    /// A bit for each exception to `no_loss`.
    lost: u128,
}

impl ConsentArgs {
    /// What these arguments allow.
    pub(crate) fn consent(&self) -> Consent {
        let mut consent = Consent { no_loss: self.no_loss, ..Consent::default() };
        for name in &self.allow_loss {
            match name {
                Name::All => consent.dropped = u32::MAX,
                Name::Dropped(dropped) => consent.allow(*dropped),
                Name::Lost(lost) => consent.lost |= 1 << *lost as u32,
            }
        }
        consent
    }
}

impl Consent {
    /// Allows input of this kind to be dropped, too.
    pub(crate) fn allow(&mut self, dropped: Dropped) {
        self.dropped |= 1 << dropped as u32;
    }

    /// Whether input of this kind may be dropped.
    pub(crate) fn allows_drop(self, dropped: Dropped) -> bool {
        self.dropped & 1 << dropped as u32 != 0
    }

    /// Whether losses are errors.
    pub(crate) fn forbids_losses(self) -> bool {
        self.no_loss
    }

    /// Whether the target format may do without this.
    pub(crate) fn allows_loss(self, lost: Lost) -> bool {
        !self.no_loss || self.lost & 1 << lost as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Consent, Dropped, Lost};

    #[test]
    fn names_of_losses_are_different_words() {
        let lost = Lost::ALL.iter().map(|lost| lost.word());
        let dropped = Dropped::ALL.iter().map(|dropped| dropped.as_str().to_owned());
        let names: Vec<_> = lost.chain(dropped).collect();
        let different: HashSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        assert!(names.iter().all(|name| !name.contains(' ')), "{names:?}");
    }

    #[test]
    fn nothing_is_allowed_that_was_not_named() {
        let mut consent = Consent { no_loss: true, ..Consent::default() };
        consent.allow(Dropped::Key);
        for dropped in Dropped::ALL {
            assert_eq!(consent.allows_drop(*dropped), *dropped == Dropped::Key);
        }
        assert!(Lost::ALL.iter().all(|lost| !consent.allows_loss(*lost)));
        assert!(Lost::ALL.len() <= 128);
    }
}
