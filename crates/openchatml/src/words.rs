//! Closed sets of words: enums without fields whose values have names in a format.

/// Adds `as_str`, `from_word`, `ALL`, `WORDS` and `Display` to an enum without fields.
macro_rules! words {
    ($vis:vis $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// All values, in the order of the specification.
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[allow(dead_code, reason = "not every set of words is told to people")]
            pub(crate) const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the word for the value.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Returns the value of a word. The comparison is exact: case and white space count.
            $vis fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(crate) use words;
