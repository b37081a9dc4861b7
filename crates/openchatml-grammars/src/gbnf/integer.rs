//! Integers in a range, digit by digit.

use std::fmt::{self, Write as _};

use crate::schema::Range;

/// A set of digit sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Digits {
    /// One digit in this range, and the digits after it.
    One(u8, u8, Box<Digits>),
    /// Any digits: their minimum and maximum number.
    Any(usize, usize),
    Either(Vec<Digits>),
}

/// The maximum number of digits. Without a limit, a model could continue forever.
const MOST: usize = 39;

/// Returns the body of a rule for the integers of a range.
pub(super) fn range(range: Range) -> String {
    let Range { least, most } = range;
    let mut ways = Vec::new();
    if least.is_none_or(|least| least < 0) {
        // The absolute values of negative integers, from the smallest on.
        let from = most.filter(|most| *most < 0).map_or(1, i64::unsigned_abs);
        ways.push(format!("\"-\" ({})", between(from, least.map(i64::unsigned_abs))));
    }
    if most.is_none_or(|most| most >= 0) {
        let from = least.map_or(0, |least| u64::try_from(least).unwrap_or(0));
        let to = most.map(|most| u64::try_from(most).unwrap_or(0));
        ways.push(between(from, to).to_string());
    }
    ways.join(" | ")
}

/// Returns the digits of the numbers in a range, which may have no end.
fn between(from: u64, to: Option<u64>) -> Digits {
    let (first, last) = (digits(from), to.map(digits));
    let longest = last.as_ref().map_or(first.len(), Vec::len);
    let mut ways = Vec::new();
    for len in first.len()..=longest {
        let lowest = if len == first.len() { first.clone() } else { lowest(len) };
        let highest = match &last {
            Some(last) if last.len() == len => last.clone(),
            _ => vec![9; len],
        };
        ways.push(alike(&lowest, &highest));
    }
    if to.is_none() && longest < MOST {
        ways.push(Digits::One(1, 9, Box::new(Digits::Any(longest, MOST - 1))));
    }
    either(ways)
}

/// Returns the lowest number with this many digits: 10, 100, …
fn lowest(len: usize) -> Vec<u8> {
    let mut digits = vec![0; len];
    digits[0] = 1;
    digits
}

fn digits(number: u64) -> Vec<u8> {
    number.to_string().bytes().map(|digit| digit - b'0').collect()
}

/// Returns the numbers between two numbers with the same number of digits.
fn alike(from: &[u8], to: &[u8]) -> Digits {
    let ([first, from @ ..], [last, to @ ..]) = (from, to) else { return Digits::Any(0, 0) };
    let len = from.len();
    let one = |first: u8, last: u8, rest| Digits::One(first, last, Box::new(rest));
    if first == last {
        return one(*first, *last, alike(from, to));
    }
    let is_lowest = from.iter().all(|digit| *digit == 0);
    let is_highest = to.iter().all(|digit| *digit == 9);
    let mut ways = Vec::new();
    if !is_lowest {
        ways.push(one(*first, *first, alike(from, &vec![9; len])));
    }
    let (start, end) = (first + u8::from(!is_lowest), last - u8::from(!is_highest));
    if start <= end {
        ways.push(one(start, end, Digits::Any(len, len)));
    }
    if !is_highest {
        ways.push(one(*last, *last, alike(&vec![0; len], to)));
    }
    either(ways)
}

fn either(mut ways: Vec<Digits>) -> Digits {
    if ways.len() == 1 { ways.remove(0) } else { Digits::Either(ways) }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(first, last, rest) => {
                match first == last {
                    true => write!(f, "\"{first}\"")?,
                    false => write!(f, "[{first}-{last}]")?,
                }
                match **rest {
                    Self::Any(_, 0) => Ok(()),
                    _ => write!(f, " {rest}"),
                }
            }
            Self::Any(_, 0) => f.write_str("\"\""),
            Self::Any(1, 1) => f.write_str("[0-9]"),
            Self::Any(least, most) if least == most => write!(f, "[0-9]{{{least}}}"),
            Self::Any(least, most) => write!(f, "[0-9]{{{least},{most}}}"),
            Self::Either(ways) => {
                f.write_char('(')?;
                for (index, way) in ways.iter().enumerate() {
                    let bar = if index == 0 { "" } else { " | " };
                    write!(f, "{bar}{way}")?;
                }
                f.write_char(')')
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Digits, MOST, between, range};
    use crate::schema::Range;

    fn accepts(digits: &Digits, text: &[u8]) -> bool {
        match digits {
            Digits::One(first, last, rest) => match text {
                [digit, after @ ..] => {
                    (first + b'0'..=last + b'0').contains(digit) && accepts(rest, after)
                }
                [] => false,
            },
            Digits::Any(least, most) => (*least..=*most).contains(&text.len()),
            Digits::Either(ways) => ways.iter().any(|way| accepts(way, text)),
        }
    }

    #[test]
    fn a_range_matches_exactly_its_integers() {
        let edges = [0, 1, 2, 9, 10, 11, 19, 20, 45, 99, 100, 101, 555, 999, 1000, 1234];
        for from in edges {
            for to in edges.into_iter().filter(|to| *to >= from).map(Some).chain([None]) {
                let digits = between(from, to);
                for number in 0..1300 {
                    let is_in = number >= from && to.is_none_or(|to| number <= to);
                    let text = number.to_string();
                    assert_eq!(accepts(&digits, text.as_bytes()), is_in, "{number}: {digits}");
                    // No leading zeros.
                    let padded = format!("0{text}");
                    assert!(!accepts(&digits, padded.as_bytes()), "{padded}: {digits}");
                }
                let long = "9".repeat(MOST);
                assert_eq!(accepts(&digits, long.as_bytes()), to.is_none(), "{digits}");
            }
        }
    }

    #[test]
    fn signs_come_first() {
        let written = |least, most| range(Range { least, most });
        assert_eq!(written(Some(0), Some(9)), "[0-9]");
        assert_eq!(
            written(Some(1), Some(120)),
            "([1-9] | [1-9] [0-9] | \"1\" ([0-1] [0-9] | \"2\" \"0\"))"
        );
        assert_eq!(written(Some(-1), Some(1)), "\"-\" (\"1\") | [0-1]");
        assert_eq!(written(Some(-20), Some(-5)), "\"-\" (([5-9] | (\"1\" [0-9] | \"2\" \"0\")))");
        assert_eq!(written(Some(0), None), "([0-9] | [1-9] [0-9]{1,38})");
        let all = written(Some(i64::MIN), Some(i64::MAX));
        assert!(all.contains("\"8\"") && all.contains("\"7\""), "{all}");
    }
}
