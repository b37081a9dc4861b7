//! How the messages of a format are framed, in completions.

use openchatml::{Channel, Control, Format};

use crate::shape::Shape;

/// How the messages of a format are framed.
#[derive(Debug)]
pub(crate) enum Style {
    /// Messages with headers.
    Framed(&'static Framed),
    /// Text: the prompt ended the header, but for the control token that may stand first. `close`
    /// is what may stand between the text and its end.
    Turn { header: Option<Control>, close: Option<&'static str> },
}

/// What the formats with headers differ in.
#[derive(Debug)]
pub(crate) struct Framed {
    /// What may stand between messages.
    pub(crate) gap: &'static str,
    /// Whether a call has an id.
    pub(crate) call_ids: bool,
    /// What the header of a preamble has before the channel.
    pub(crate) preamble: &'static str,
    /// What stands before a constraint, where there are constraints.
    pub(crate) constrain: Option<&'static str>,
    /// Whether a recipient may stand behind the channel.
    pub(crate) late_recipients: bool,
    /// The type that a call of a built-in tool may have.
    pub(crate) builtin_type: &'static str,
}

static HARMONY: Framed = Framed {
    gap: "",
    call_ids: false,
    preamble: "",
    constrain: Some(" "),
    late_recipients: true,
    builtin_type: " code",
};

static OPENCHATML_2_2: Framed = Framed {
    gap: "\n",
    call_ids: true,
    preamble: " intent=preamble",
    constrain: Some(""),
    late_recipients: false,
    builtin_type: "",
};

static OPENCHATML_2_0: Framed = Framed {
    gap: "\n",
    call_ids: false,
    preamble: "",
    constrain: None,
    late_recipients: false,
    builtin_type: "",
};

impl Style {
    /// The style of a format, if it is one that models speak.
    pub(crate) fn of(format: Format) -> Option<Self> {
        Some(match format.to_string().as_str() {
            "harmony" => Self::Framed(&HARMONY),
            "openchatml-2.2" => Self::Framed(&OPENCHATML_2_2),
            "openchatml-2.0" => Self::Framed(&OPENCHATML_2_0),
            "chatml" => Self::Turn { header: Some(Control::Message), close: None },
            "im" => Self::Turn { header: None, close: None },
            "openchatml-0.1" => Self::Turn { header: None, close: Some("\n") },
            _ => return None,
        })
    }
}

impl Framed {
    /// The headers that a call may have, without the type of its body.
    ///
    /// Functions are called on `commentary`, built-in tools on `analysis`, too (SPEC 2.2 §8.3).
    pub(crate) fn call_headers(&self, recipient: &str, is_function: bool) -> Vec<Shape> {
        let channels: &[Channel] = if is_function {
            &[Channel::Commentary]
        } else {
            &[Channel::Analysis, Channel::Commentary]
        };
        let mut headers = Vec::new();
        let to = Shape::text(&format!(" to={recipient}"));
        for channel in channels {
            let channel = Shape::Control(Control::Channel).then(Shape::text(channel.as_str()));
            let mut early = to.clone();
            if self.call_ids {
                early = early.then(Shape::text(" call_id=")).then(Shape::CallId);
            }
            headers.push(early.then(channel.clone()));
            if self.late_recipients {
                headers.push(channel.then(to.clone()));
            }
        }
        headers
    }

    /// The type of a call's body: JSON is declared; of a built-in tool, it may be left out.
    pub(crate) fn types(&self, is_function: bool, is_json: bool) -> Shape {
        let json = self.constrain.filter(|_| is_json).map(|space| {
            Shape::text(space).then(Shape::Control(Control::Constrain)).then(Shape::text("json"))
        });
        if is_function {
            return json.unwrap_or(Shape::Sequence(Vec::new()));
        }
        let mut ways: Vec<Shape> = json.into_iter().collect();
        if !self.builtin_type.is_empty() {
            ways.push(Shape::text(self.builtin_type));
        }
        if ways.is_empty() { Shape::Sequence(ways) } else { Shape::optional(Shape::either(ways)) }
    }
}
