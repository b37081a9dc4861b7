//! The segments of a body.

use super::DocumentReader;
use super::message::Room;
use crate::json::{Json, Result};
use crate::model::{Marker, Segment};
use crate::{Code, Span};

/// The kind of a segment.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Literal,
    Marker,
}

impl Kind {
    const WORDS: &[&str] = &["text", "literal", "marker"];

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "text" => Some(Self::Text),
            "literal" => Some(Self::Literal),
            "marker" => Some(Self::Marker),
            _ => None,
        }
    }
}

/// Reads a segment, with the text within the remaining limit `room`.
pub(crate) fn segment<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    room: &mut Room,
) -> Result<Option<Segment<'a>>> {
    let start = json.offset();
    let mut kind = None;
    let mut text = None;
    let mut marker = None;
    reader.object(json, &["type", "text", "marker"], |reader, json, key| {
        match key {
            "type" => kind = reader.word(json, "segment type", Kind::WORDS, Kind::from_word)?,
            "text" => text = reader.text(json)?.map(|text| room.take(text)),
            _ => marker = reader.word(json, "marker", Marker::WORDS, Marker::from_word)?,
        }
        Ok(())
    })?;
    let segment = match (kind, text, marker) {
        (Some(Kind::Text), Some(text), None) => Some(Segment::Text(text)),
        (Some(Kind::Literal), Some(text), None) => Some(Segment::Literal(text)),
        (Some(Kind::Marker), None, Some(marker)) => Some(Segment::Marker(marker)),
        _ => None,
    };
    if segment.is_none() {
        let span = Span::new(start, json.position());
        let text = "a segment must have a `type`, and `text` or `marker`";
        reader.drop_item(Code::ParseJson.at(span, text));
    }
    Ok(segment)
}
