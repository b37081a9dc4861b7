//! Kinds of files that cannot be read.

/// The first bytes of such files, and what to do with them.
const MAGIC: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "it is a ZIP archive: unpack it first"),
    (b"\xFD7zXZ", "it is compressed with xz: unpack it first"),
    (b"BZh", "it is compressed with bzip2: unpack it first"),
    (b"SQLite format 3", "it is an SQLite database: write its records as JSONL first"),
    (b"Obj\x01", "it is an Avro file: write its records as JSONL first"),
    (b"ORC", "it is an ORC file: write its records as JSONL first"),
];

/// Returns what a file is and what to do with it, from its first bytes (16 are enough), if it is
/// neither text in UTF-8 nor a table that `ocml data` reads.
///
/// ```
/// use openchatml_data::foreign_kind;
///
/// assert_eq!(foreign_kind(b"PK\x03\x04"), Some("it is a ZIP archive: unpack it first"));
/// assert!(foreign_kind(b"{\0\"\0").is_some_and(|kind| kind.starts_with("it is UTF-16")));
/// assert_eq!(foreign_kind(b"{\"messages\": []}"), None);
/// ```
pub fn foreign_kind(first: &[u8]) -> Option<&'static str> {
    // A byte order mark, or two ASCII characters.
    if let [0xFF, 0xFE, ..]
    | [0xFE, 0xFF, ..]
    | [0, 1..=0x7F, 0, 1..=0x7F, ..]
    | [1..=0x7F, 0, 1..=0x7F, 0, ..] = first
    {
        return Some("it is UTF-16: convert it to UTF-8 first, for example with iconv");
    }
    MAGIC.iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, what)| *what)
}
