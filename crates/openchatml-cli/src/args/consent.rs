//! The options for data loss.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use openchatml::Dropped;
use openchatml::convert::Lost;
use openchatml_data::record::Consent;

use super::late::late;

/// Options that allow or forbid data loss.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Losses")]
pub(crate) struct ConsentArgs {
    /// Make it an error if the target format cannot express something
    #[arg(long)]
    no_loss: bool,

    /// Write the output even if input was dropped: unknown keys, invalid values, …
    ///
    /// Without names, or with `all`, this allows everything that the reader drops. With names, it
    /// allows only these kinds. With --no-loss, it also takes the names of losses from the warnings
    /// (`call_id`, `channel`, …), and allows these losses.
    #[arg(long, value_name = "NAME,…", num_args = 0..=1, require_equals = true)]
    #[arg(value_delimiter = ',', default_missing_value = ALL, value_parser = names())]
    allow_loss: Vec<Name>,
}

/// The name for everything that a reader can drop.
const ALL: &str = "all";

/// A kind of dropped input, or a loss of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    All,
    Dropped(Dropped),
    Lost(Lost),
}

/// Parses the name of a loss.
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
                    _ => dropped.or_else(lost).ok_or("unknown loss"),
                }
            },
        )
    })
}

impl ConsentArgs {
    /// Returns what these options allow.
    pub(crate) fn consent(&self) -> Consent {
        let mut consent = if self.no_loss { Consent::no_loss() } else { Consent::default() };
        for name in &self.allow_loss {
            match name {
                Name::All => consent.allow_all_drops(),
                Name::Dropped(dropped) => consent.allow(*dropped),
                Name::Lost(lost) => consent.allow_loss(*lost),
            }
        }
        consent
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Dropped, Lost};

    #[test]
    fn names_of_losses_are_distinct() {
        let lost = Lost::ALL.iter().map(|lost| lost.word());
        let dropped = Dropped::ALL.iter().map(|dropped| dropped.as_str().to_owned());
        let names: Vec<_> = lost.chain(dropped).collect();
        let different: HashSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        assert!(names.iter().all(|name| !name.contains(' ')), "{names:?}");
    }
}
