//! The body of a message.

use std::borrow::Cow;
use std::fmt;

use super::Marker;

/// The body of a message: text, sometimes with literal blocks and chain-of-thought markers.
///
/// Two bodies are equal if their text and their markers are equal. Literal blocks are presentation,
/// so they do not count.
///
/// ```
/// use openchatml::{Body, Segment};
///
/// let plain = Body::from("print <|end|> exactly");
/// let block = Body::from_segments([
///     Segment::Text("print ".into()),
///     Segment::Literal("<|end|>".into()),
///     Segment::Text(" exactly".into()),
/// ]);
/// assert_eq!(plain, block);
/// assert_eq!(block.text(), "print <|end|> exactly");
/// ```
#[derive(Clone)]
pub struct Body<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    Text(Cow<'a, str>),
    /// Boxed to keep the size of the text: nearly all bodies are plain text.
    Segments(Box<[Segment<'a>]>),
}

/// A piece of a [`Body`].
///
/// ```
/// use openchatml::{Segment, parse};
///
/// let text = "version: 2.2\n\n\
///     <|start|>user<|message|>Print <|literal|><|end|><|endliteral|><|end|>\n";
/// let parsed = parse(text, "openchatml-2.2".parse()?, &Default::default());
/// let conversation = parsed.into_conversation();
/// let segments: Vec<_> = conversation.messages[0].body.segments().collect();
/// assert_eq!(segments, [Segment::Text("Print ".into()), Segment::Literal("<|end|>".into())]);
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// Text in a literal block (OpenChatML 2.2 §3).
    Literal(Cow<'a, str>),
    /// A chain-of-thought marker (OpenChatML 2.2 §7).
    Marker(Marker),
}

impl<'a> Body<'a> {
    /// Creates a body from segments. It joins neighbouring texts and drops empty texts. Literal
    /// blocks and markers stay unchanged.
    ///
    /// ```
    /// use openchatml::{Body, Segment};
    ///
    /// let words = ["What ", "is ", "", "it?"].map(|word| Segment::Text(word.into()));
    /// let body = Body::from_segments(words);
    /// assert_eq!(body.as_plain(), Some("What is it?"));
    /// ```
    pub fn from_segments(segments: impl IntoIterator<Item = Segment<'a>>) -> Self {
        let mut joined: Vec<Segment<'a>> = Vec::new();
        for segment in segments {
            match (joined.last_mut(), segment) {
                (_, Segment::Text(text)) if text.is_empty() => {}
                (Some(Segment::Text(before)), Segment::Text(text)) => {
                    before.to_mut().push_str(&text);
                }
                (_, segment) => joined.push(segment),
            }
        }
        match joined.as_mut_slice() {
            [] => Self::default(),
            [Segment::Text(text)] => Self(Repr::Text(std::mem::take(text))),
            _ => Self(Repr::Segments(joined.into())),
        }
    }

    /// Creates a body from texts that stay separate: a writer of token ids encodes each one
    /// separately.
    pub(crate) fn of_parts(parts: Vec<String>) -> Self {
        match <[String; 1]>::try_from(parts) {
            Ok([text]) => Self::from(text),
            Err(parts) => {
                Self(Repr::Segments(parts.into_iter().map(|it| Segment::Text(it.into())).collect()))
            }
        }
    }

    /// Returns the segments, in order.
    ///
    /// ```
    /// use openchatml::{Body, Marker, Segment};
    ///
    /// let segments = [Segment::Marker(Marker::Reason), Segment::Text("2 and 2 is 4.".into())];
    /// let body = Body::from_segments(segments);
    /// let markers = body.segments().filter(|segment| matches!(segment, Segment::Marker(_)));
    /// assert_eq!(markers.count(), 1);
    /// ```
    pub fn segments(&self) -> Segments<'_, 'a> {
        match &self.0 {
            Repr::Text(text) => Segments { text: Some(text), rest: [].iter() },
            Repr::Segments(segments) => Segments { text: None, rest: segments.iter() },
        }
    }

    /// Returns the text if the body is plain text, without literal blocks and markers.
    ///
    /// ```
    /// use openchatml::{Body, Segment};
    ///
    /// assert_eq!(Body::from("4.").as_plain(), Some("4."));
    /// assert_eq!(Body::from_segments([Segment::Literal("4.".into())]).as_plain(), None);
    /// ```
    pub fn as_plain(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            Repr::Segments(_) => None,
        }
    }

    /// Returns the text, including literal blocks and without markers.
    ///
    /// ```
    /// use openchatml::{Body, Marker, Segment};
    ///
    /// let body = Body::from_segments([
    ///     Segment::Marker(Marker::Reason),
    ///     Segment::Text("Print ".into()),
    ///     Segment::Literal("<|end|>".into()),
    /// ]);
    /// assert_eq!(body.text(), "Print <|end|>");
    /// ```
    #[inline]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Text(text) => Cow::Borrowed(text),
            Repr::Segments(segments) => Cow::Owned(
                segments
                    .iter()
                    .filter_map(|segment| match segment {
                        Segment::Text(text) | Segment::Literal(text) => Some(text.as_ref()),
                        Segment::Marker(_) => None,
                    })
                    .collect(),
            ),
        }
    }

    /// Whether the body contains a chain-of-thought marker.
    ///
    /// ```
    /// use openchatml::{Body, Marker, Segment};
    ///
    /// assert!(Body::from_segments([Segment::Marker(Marker::Reflect)]).has_markers());
    /// // What merely spells a marker is text.
    /// assert!(!Body::from("<|start_reflect|>").has_markers());
    /// ```
    #[inline]
    pub fn has_markers(&self) -> bool {
        let Repr::Segments(segments) = &self.0 else { return false };
        segments.iter().any(|segment| matches!(segment, Segment::Marker(_)))
    }

    /// Splits the body before its first marker. Returns `None` if there is no marker.
    ///
    /// ```
    /// use openchatml::{Body, Marker, Segment};
    ///
    /// let segments = [
    ///     Segment::Text("4.".into()),
    ///     Segment::Marker(Marker::Reason),
    ///     Segment::Text("2 and 2.".into()),
    /// ];
    /// let (said, reasoning) = Body::from_segments(segments).split_at_marker().unwrap();
    /// assert_eq!((said.text().as_ref(), reasoning.text().as_ref()), ("4.", "2 and 2."));
    /// assert!(!said.has_markers() && reasoning.has_markers());
    /// assert_eq!(Body::from("4.").split_at_marker(), None);
    /// ```
    pub fn split_at_marker(&self) -> Option<(Self, Self)> {
        let Repr::Segments(segments) = &self.0 else { return None };
        let is_marker = |segment: &Segment<'_>| matches!(segment, Segment::Marker(_));
        let (before, after) = segments.split_at(segments.iter().position(is_marker)?);
        let [before, after] = [before, after].map(|part| Self::from_segments(part.to_vec()));
        Some((before, after))
    }

    /// Returns the length of the text in bytes.
    ///
    /// ```
    /// use openchatml::Body;
    ///
    /// assert_eq!(Body::from("20 °C").len(), 6); // `°` is two bytes.
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Text(text) => text.len(),
            Repr::Segments(segments) => segments
                .iter()
                .map(|segment| match segment {
                    Segment::Text(text) | Segment::Literal(text) => text.len(),
                    Segment::Marker(_) => 0,
                })
                .sum(),
        }
    }

    /// Whether the body has neither text nor markers.
    ///
    /// ```
    /// use openchatml::{Body, Marker, Segment};
    ///
    /// assert!(Body::default().is_empty());
    /// let marker = Body::from_segments([Segment::Marker(Marker::Reason)]);
    /// assert!(marker.len() == 0 && !marker.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && !self.has_markers()
    }

    /// Returns the body with owned text.
    ///
    /// ```
    /// use openchatml::Body;
    ///
    /// let line = String::from("4.\n");
    /// let body = Body::from(line.trim_end()).into_owned();
    /// drop(line);
    /// assert_eq!(body.text(), "4.");
    /// ```
    pub fn into_owned(self) -> Body<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Body(match self.0 {
            Repr::Text(text) => Repr::Text(own(text)),
            Repr::Segments(segments) => Repr::Segments(
                segments
                    .into_iter()
                    .map(|segment| match segment {
                        Segment::Text(text) => Segment::Text(own(text)),
                        Segment::Literal(text) => Segment::Literal(own(text)),
                        Segment::Marker(marker) => Segment::Marker(marker),
                    })
                    .collect(),
            ),
        })
    }

    /// Returns the body with borrowed text if it is a single segment.
    pub(crate) fn borrowed(&self) -> Body<'_> {
        match &self.0 {
            Repr::Text(text) => Body(Repr::Text(Cow::Borrowed(text))),
            Repr::Segments(segments) => Body(Repr::Segments(segments.clone())),
        }
    }

    /// Returns the text of all segments, without a copy if there is a single segment.
    pub(crate) fn into_text(self) -> Cow<'a, str> {
        match self.0 {
            Repr::Text(text) => text,
            Repr::Segments(_) => Cow::Owned(self.text().into_owned()),
        }
    }

    /// Iterates over the bytes of the text and the markers, for equality.
    fn atoms(&self) -> impl Iterator<Item = Result<u8, Marker>> + '_ {
        let (text, segments) = match &self.0 {
            Repr::Text(text) => (text.as_ref(), [].as_slice()),
            Repr::Segments(segments) => ("", segments.as_ref()),
        };
        let rest = segments.iter().flat_map(|segment| {
            let (text, marker) = match segment {
                Segment::Text(text) | Segment::Literal(text) => (text.as_ref(), None),
                Segment::Marker(marker) => ("", Some(*marker)),
            };
            text.bytes().map(Ok).chain(marker.map(Err))
        });
        text.bytes().map(Ok).chain(rest)
    }
}

impl Default for Body<'_> {
    fn default() -> Self {
        Self(Repr::Text(Cow::Borrowed("")))
    }
}

impl<'a> From<&'a str> for Body<'a> {
    fn from(text: &'a str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl From<String> for Body<'_> {
    fn from(text: String) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl<'a> From<Cow<'a, str>> for Body<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(Repr::Text(text))
    }
}

impl PartialEq for Body<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Text(one), Repr::Text(two)) => one == two,
            _ => self.atoms().eq(other.atoms()),
        }
    }
}

impl Eq for Body<'_> {}

/// Prints only the length: a body can be hidden, and debug output goes to logs.
impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.len())
    }
}

/// Iterates over the segments of a [`Body`].
///
/// ```
/// use openchatml::{Body, Segment, Segments};
///
/// fn literal_bytes(segments: Segments<'_, '_>) -> usize {
///     let literal = segments.filter(|segment| matches!(segment, Segment::Literal(_)));
///     literal.map(|segment| Body::from_segments([segment]).len()).sum()
/// }
/// let segments = [Segment::Text("Print ".into()), Segment::Literal("<|end|>".into())];
/// assert_eq!(literal_bytes(Body::from_segments(segments).segments()), 7);
/// ```
#[derive(Clone, Debug)]
pub struct Segments<'b, 'a> {
    text: Option<&'b str>,
    rest: std::slice::Iter<'b, Segment<'a>>,
}

impl<'b> Iterator for Segments<'b, '_> {
    type Item = Segment<'b>;

    fn next(&mut self) -> Option<Segment<'b>> {
        if let Some(text) = self.text.take() {
            return (!text.is_empty()).then_some(Segment::Text(Cow::Borrowed(text)));
        }
        Some(match self.rest.next()? {
            Segment::Text(text) => Segment::Text(Cow::Borrowed(text)),
            Segment::Literal(text) => Segment::Literal(Cow::Borrowed(text)),
            Segment::Marker(marker) => Segment::Marker(*marker),
        })
    }
}
