//! What a user allows to be lost.

use openchatml::convert::{Loss, Lost};
use openchatml::{Code, Diagnostic, Dropped, Severity};

/// The losses that the user allows. By default, a conversion may lose what its target cannot
/// express, and a reader may drop nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Consent {
    /// Whether a loss of the conversion is an error.
    no_loss: bool,
    /// The allowed kinds of dropped input: one bit for each.
    dropped: u32,
    /// The kinds of dropped input that are errors, and yet do not keep the document from being
    /// written: one bit for each.
    told: u32,
    /// The exceptions to `no_loss`: one bit for each.
    lost: u128,
}

/// Losses after which the output says something false: a bad answer looks good, and a reply answers
/// another call.
const FALSE: &[Lost] = &[Lost::Untrained, Lost::Pairing];

impl Consent {
    /// Makes each loss of a conversion an error, unless it is [allowed](Self::allow_loss).
    pub fn no_loss() -> Self {
        Self { no_loss: true, ..Self::default() }
    }

    /// Allows everything that a reader can drop.
    pub fn allow_all_drops(&mut self) {
        self.dropped = u32::MAX;
    }

    /// Also allows dropped input of this kind.
    pub fn allow(&mut self, dropped: Dropped) {
        self.dropped |= 1 << dropped as u32;
    }

    /// Also writes a document without dropped input of this kind, which remains an error: nobody can
    /// correct what a model wrote.
    pub fn tell(&mut self, dropped: Dropped) {
        self.told |= 1 << dropped as u32;
    }

    /// Also allows this loss of a conversion.
    pub fn allow_loss(&mut self, lost: Lost) {
        self.lost |= 1 << lost as u32;
    }

    /// Whether dropped input of this kind is allowed.
    pub fn allows_drop(self, dropped: Dropped) -> bool {
        self.dropped & 1 << dropped as u32 != 0
    }

    /// Whether losses of a conversion are errors.
    pub fn forbids_losses(self) -> bool {
        self.no_loss
    }

    /// Whether this loss of a conversion is allowed. Losses after which the
    /// output says something false are always errors, unless they are allowed by name.
    pub fn allows_loss(self, lost: Lost) -> bool {
        let is_named = self.lost & 1 << lost as u32 != 0;
        is_named || !self.no_loss && !FALSE.contains(&lost)
    }

    /// Changes diagnostics that drop input with permission to warnings, and losses of the record
    /// around the document without permission to errors. Moves losses of the conversion without
    /// permission to the diagnostics. Returns the names of everything that would be lost without
    /// permission: if there are any, the document must not be written.
    pub fn judge(self, found: &mut Vec<Diagnostic>, losses: &mut Vec<Loss>) -> Vec<String> {
        let mut refused: Vec<String> = Vec::new();
        let mut refuse = |word: String| {
            if !refused.contains(&word) {
                refused.push(word);
            }
        };
        for found in found.iter_mut() {
            match found.dropped {
                Some(dropped) if self.allows_drop(dropped) => {
                    found.severity = found.severity.min(Severity::Warning);
                }
                Some(dropped) if self.told & 1 << dropped as u32 != 0 => {}
                Some(dropped) => refuse(dropped.as_str().to_owned()),
                None => {}
            }
        }
        let mut loses_field = false;
        for found in found.iter_mut().filter(|found| found.code == Code::Loss) {
            if !self.allows_loss(Lost::Field) {
                found.severity = Severity::Error;
                loses_field = true;
            }
        }
        for loss in losses.extract_if(.., |loss| !self.allows_loss(loss.lost)) {
            found.push(loss.to_diagnostic(Severity::Error));
            refuse(loss.lost.word());
        }
        if loses_field {
            refuse(Lost::Field.word());
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use openchatml::convert::{Loss, Lost};
    use openchatml::{Code, Dropped, Severity, Span};

    use super::super::finding::finding;
    use super::Consent;

    #[test]
    fn only_named_losses_are_allowed() {
        let mut consent = Consent::no_loss();
        consent.allow(Dropped::Key);
        for dropped in Dropped::ALL {
            assert_eq!(consent.allows_drop(*dropped), *dropped == Dropped::Key);
        }
        assert!(Lost::ALL.iter().all(|lost| !consent.allows_loss(*lost)));
        assert!(Lost::ALL.len() <= 128);
    }

    #[test]
    fn what_is_lost_without_permission_is_named_once() {
        let mut key = finding(Code::UnknownKey, Span::at(0), "");
        key.dropped = Some(Dropped::Key);
        let mut found = vec![key.clone(), key];
        let mut losses = vec![
            Loss::new(Some(1), Span::at(0), Lost::Channel),
            Loss::new(Some(2), Span::at(0), Lost::Name),
        ];
        let mut consent = Consent::no_loss();
        consent.allow_loss(Lost::Name);
        let refused = consent.judge(&mut found, &mut losses);
        assert_eq!(refused, ["unknown-key".to_owned(), Lost::Channel.word()]);
        assert_eq!((found.len(), losses.len()), (3, 1));

        consent.allow_all_drops();
        found.truncate(2);
        assert!(consent.judge(&mut found, &mut losses).is_empty());
        assert!(found.iter().all(|found| found.severity == Severity::Warning));
    }
}
