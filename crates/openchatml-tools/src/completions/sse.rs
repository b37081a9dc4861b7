//! Parses server-sent events incrementally.

/// The maximum size of an event, in bytes. No token is longer.
pub(super) const MOST_BYTES: usize = 8 << 20;

/// Parses a stream of server-sent events.
///
/// Chunks may be split anywhere. Lines end with `\n`, `\r\n` or `\r`. Comments and fields other
/// than `data` and `error` are ignored.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The incomplete line.
    line: Vec<u8>,
    /// The data of the incomplete event, and whether it has any.
    data: String,
    has_data: bool,
    /// Whether the last byte was `\r`. A following `\n` belongs to it.
    after_return: bool,
}

/// The error for an event that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Reads bytes, and passes the data of complete events to `take`.
    pub(super) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&str)) -> Result<(), TooLong> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + self.data.len() + part.len() > MOST_BYTES {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(&mut take);
        }
        Ok(())
    }

    /// Ends the stream. An incomplete event is passed to `take` as well, because some servers omit
    /// the empty line at the end.
    pub(super) fn finish(mut self, mut take: impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.end_line(&mut take);
        }
        self.end_event(&mut take);
    }

    fn end_line(&mut self, take: &mut impl FnMut(&str)) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        if line.is_empty() {
            return self.end_event(take);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        // Older versions of llama.cpp send errors in the field `error`.
        if field == "data" || field == "error" {
            if self.has_data {
                self.data.push('\n');
            }
            self.data.push_str(value);
            self.has_data = true;
        }
    }

    fn end_event(&mut self, take: &mut impl FnMut(&str)) {
        if std::mem::take(&mut self.has_data) {
            take(&std::mem::take(&mut self.data));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Events, MOST_BYTES, TooLong};

    /// Parses these chunks.
    fn taken<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> Vec<String> {
        let mut events = Events::default();
        let mut taken = Vec::new();
        for chunk in chunks {
            events.feed(chunk, |data| taken.push(data.to_owned())).unwrap();
        }
        events.finish(|data| taken.push(data.to_owned()));
        taken
    }

    const STREAM: &str = ": ping\r\n\r\nid: 7\ndata: {\"a\":1}\n\ndata:é\rdata:  b\r\r\
        event: x\n\ndata\n\nerror: {\"e\":2}\r\n\r\ndata: [DONE]";

    #[test]
    fn every_split_of_a_stream_gives_the_same_events() {
        let whole = taken([STREAM.as_bytes()]);
        assert_eq!(whole, ["{\"a\":1}", "é\n b", "", "{\"e\":2}", "[DONE]"]);
        for at in 0..STREAM.len() {
            let (before, after) = STREAM.as_bytes().split_at(at);
            assert_eq!(taken([before, after]), whole, "cut at {at}");
        }
        assert_eq!(taken(STREAM.as_bytes().chunks(1)), whole);
    }

    #[test]
    fn what_is_not_utf_8_is_replaced() {
        assert_eq!(taken([&b"data: \xff\n\n"[..]]), ["\u{fffd}"]);
    }

    #[test]
    fn events_have_a_maximum_size() {
        let mut events = Events::default();
        let line = vec![b'x'; MOST_BYTES];
        assert_eq!(events.feed(&line, |_| {}), Ok(()));
        assert_eq!(events.feed(b"x", |_| {}), Err(TooLong));
        // Several lines of data are one event.
        let mut events = Events::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; MOST_BYTES / 2], b"\n"].concat();
        assert_eq!(events.feed(&line, |_| {}), Ok(()));
        assert_eq!(events.feed(&line, |_| {}), Err(TooLong));
    }
}
