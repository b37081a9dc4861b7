//! Closed sets of words: enums without fields whose values have names in a format.

/// Gives a field-less enum its words: `as_str`, `from_word`, `ALL` and `Display`.
macro_rules! words {
    ($vis:vis $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every value, in the order of the specification.
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[allow(dead_code, reason = "not every set of words is told to people")]
            pub(crate) const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for it.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What the word means, compared exactly: no folding of case, no trimming.
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
