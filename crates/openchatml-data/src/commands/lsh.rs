//! Finds similar signatures without comparing all pairs.

use std::collections::HashMap;

use twox_hash::XxHash3_64;

/// The signatures that are known, by the hashes of their bands (Indyk and Motwani 1998): signatures
/// with an equal band are candidates.
pub(super) struct Index {
    threshold: f64,
    bands: usize,
    /// The bytes of a band.
    width: usize,
    /// For the hash of a band, the signatures with it.
    candidates: HashMap<u64, Vec<u32>>,
    signatures: Vec<Box<[u8]>>,
}

impl Index {
    /// Finds signatures of this many hashes of which at least a share is equal.
    pub(super) fn new(hashes: usize, threshold: f64) -> Self {
        let rows = rows_of_band(hashes, threshold);
        let (bands, width) = (hashes / rows, 4 * rows);
        let (candidates, signatures) = (HashMap::new(), Vec::new());
        Self { threshold, bands, width, candidates, signatures }
    }

    /// Returns the number of the known signature that is most similar, if one is similar enough,
    /// and the share of equal hashes. Otherwise, adds the signature.
    pub(super) fn find_or_add(&mut self, signature: &[u8]) -> Option<(usize, f64)> {
        let bands: Vec<u64> = (0_u64..)
            .zip(signature.chunks_exact(self.width).take(self.bands))
            .map(|(number, band)| XxHash3_64::oneshot_with_seed(number, band))
            .collect();
        let mut found: Vec<u32> =
            bands.iter().filter_map(|band| self.candidates.get(band)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        let similar = found.iter().filter_map(|number| {
            let number = usize::try_from(*number).ok()?;
            let share = share(signature, self.signatures.get(number)?);
            (share >= self.threshold).then_some((number, share))
        });
        // Of equally similar ones, the first.
        let best = similar.rev().max_by(|one, two| one.1.total_cmp(&two.1));
        if best.is_none() {
            let number = u32::try_from(self.signatures.len()).unwrap_or(u32::MAX);
            self.signatures.push(signature.into());
            for band in bands {
                self.candidates.entry(band).or_default().push(number);
            }
        }
        best
    }

    /// The approximate number of bytes that the index takes.
    pub(super) fn bytes(&self) -> usize {
        // A list of one number, its key, and the free space of the table.
        const ENTRY: usize = 64;
        self.signatures.iter().map(|it| 16 + it.len() + self.bands * ENTRY).sum()
    }
}

/// Returns the share of equal hashes.
#[expect(clippy::cast_precision_loss, reason = "signatures have few hashes")]
fn share(one: &[u8], two: &[u8]) -> f64 {
    let hashes = one.chunks_exact(4).zip(two.chunks_exact(4));
    let same = hashes.clone().filter(|(one, two)| one == two).count();
    same as f64 / hashes.len().max(1) as f64
}

/// Returns the number of hashes in a band for which the probability of becoming candidates changes
/// most at the threshold: the sum of pairs above that are missed and pairs below that are compared
/// is smallest. Missed pairs count ten times, because compared ones cost only time.
#[expect(clippy::cast_precision_loss, reason = "signatures have few hashes")]
fn rows_of_band(hashes: usize, threshold: f64) -> usize {
    const STEPS: u32 = 200;
    let cost = |rows: usize| {
        let bands = (hashes / rows) as f64;
        let steps = (0..STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        steps.fold(0.0, |cost, share| {
            let candidate = 1.0 - (1.0 - share.powf(rows as f64)).powf(bands);
            cost + if share < threshold { candidate } else { 10.0 * (1.0 - candidate) }
        })
    };
    (1..=hashes).min_by(|one, two| cost(*one).total_cmp(&cost(*two))).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::{Index, rows_of_band, share};

    /// A signature of 128 hashes, of which the first ones are `other`.
    fn signature(number: u32, changed: u32) -> Vec<u8> {
        let hash = |at: u32| {
            let number = if at % 128 * 77 % 128 < changed { number + 1_000_000 } else { number };
            (number * 1000 + at).to_le_bytes()
        };
        (0..128).flat_map(hash).collect()
    }

    #[test]
    fn similar_signatures_are_found() {
        let mut index = Index::new(128, 0.8);
        for number in 0..500 {
            assert_eq!(index.find_or_add(&signature(number, 0)), None);
        }
        for number in 0..500_usize {
            let as_number = u32::try_from(number).unwrap();
            assert_eq!(index.find_or_add(&signature(as_number, 0)), Some((number, 1.0)));
            let (found, share) = index.find_or_add(&signature(as_number, 8)).unwrap();
            assert_eq!((found, share), (number, 120.0 / 128.0));
        }
        assert_eq!(index.signatures.len(), 500);
        assert_eq!(index.find_or_add(&signature(7, 64)), None);
        assert!(share(&signature(7, 64), &signature(7, 0)) < 0.51);
    }

    #[test]
    fn bands_are_short_for_low_thresholds() {
        let rows = [0.3, 0.5, 0.7, 0.8, 0.9].map(|threshold| rows_of_band(128, threshold));
        assert!(rows.is_sorted() && rows[0] >= 1 && rows[4] <= 32, "{rows:?}");
    }
}
