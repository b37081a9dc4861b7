//! The class of every character, as a table in two levels.
//!
//! First a number of two bytes (the low one first) for each block of 128 characters: which of the
//! rows has its classes. Then the rows, of 128 bytes each.

use regex_syntax::hir::{Class, HirKind};

/// How many characters a row has.
const ROW: usize = 128;
/// The characters there are.
const CHARACTERS: usize = 0x11_0000;

/// Patterns, and the class of what they match. These are the numbers of `crate::classes::Class`.
const PATTERNS: [(&str, u8); 7] = [
    (r"[\p{Lu}\p{Lt}]", 1),
    (r"\p{Ll}", 2),
    (r"[\p{Lm}\p{Lo}]", 3),
    (r"\p{M}", 4),
    (r"\p{N}", 5),
    (r"[\s--[\r\n]]", 6),
    (r"[\r\n]", 7),
];

pub(crate) fn table() -> Vec<u8> {
    let mut classes = vec![0_u8; CHARACTERS];
    for (pattern, class) in PATTERNS {
        let hir = regex_syntax::parse(pattern).expect("the pattern is right");
        let HirKind::Class(Class::Unicode(ranges)) = hir.into_kind() else {
            panic!("{pattern} is a class")
        };
        for range in ranges.ranges() {
            let of_range = &mut classes[range.start() as usize..=range.end() as usize];
            assert!(of_range.iter().all(|class| *class == 0), "no character has two classes");
            of_range.fill(class);
        }
    }
    let mut rows: Vec<&[u8]> = Vec::new();
    let mut table = Vec::new();
    for row in classes.chunks_exact(ROW) {
        let place = rows.iter().position(|known| *known == row).unwrap_or_else(|| {
            rows.push(row);
            rows.len() - 1
        });
        table.extend_from_slice(&u16::try_from(place).expect("rows are few").to_le_bytes());
    }
    table.extend(rows.concat());
    table
}
