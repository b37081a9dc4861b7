//! A page with the sizes of a data set.

use std::fmt::Write as _;

use openchatml_data::{Histogram, Stats};

use super::args::{grouped, number_of};
use super::stats::{histograms, name};

/// The size of a picture.
const WIDTH: u64 = 720;
const BAR: u64 = 22;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:50em;padding:0 1em;color:#222}\
table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#222}\
svg rect{fill:#4a7ebb}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}svg text{fill:#ddd}td,th{border-color:#444}}";

/// Returns the page. It needs no other files.
pub(super) fn html(stats: &Stats, inputs: &[String]) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width\">\n");
    // Writing to a `String` cannot fail.
    let _ = write!(out, "<title>Statistics</title>\n<style>{STYLE}</style>\n<h1>Statistics</h1>\n");
    let inputs: Vec<_> =
        inputs.iter().map(|input| format!("<code>{}</code>", escaped(input))).collect();
    let tally = &stats.tally;
    let _ = writeln!(
        out,
        "<p>{}: {}, {} with errors, {} with warnings.</p>",
        inputs.join(", "),
        number_of(tally.records, "record"),
        grouped(tally.with_errors),
        grouped(tally.with_warnings)
    );
    roles(stats, &mut out);
    for (what, histogram) in histograms(stats) {
        picture(what, histogram, &mut out);
    }
    out.push_str("</html>\n");
    out
}

fn roles(stats: &Stats, out: &mut String) {
    let has_ids = stats.ids.count > 0;
    out.push_str("<h2>Messages by role and channel</h2>\n<table>\n<tr><th><th>conversations<th>messages<th>bytes");
    out.push_str(if has_ids { "<th>ids\n" } else { "\n" });
    for role in &stats.roles {
        let _ = write!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{}",
            escaped(&name(role)),
            grouped(role.conversations),
            grouped(role.messages),
            grouped(role.bytes)
        );
        if has_ids {
            let _ = write!(out, "<td>{}", grouped(role.ids));
        }
        out.push('\n');
    }
    out.push_str("</table>\n");
}

fn picture(what: &str, histogram: &Histogram, out: &mut String) {
    let rows = u64::try_from(histogram.classes.len()).unwrap_or_default();
    let most = histogram.classes.values().max().copied().unwrap_or(1).max(1);
    let _ = write!(
        out,
        "<h2>{}</h2>\n<p>{} in total, {} to {}, {} on average; half have less than {}.</p>\n<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Histogram: {what}\">\n",
        capitalized(what),
        grouped(histogram.sum),
        grouped(histogram.min),
        grouped(histogram.max),
        grouped(histogram.mean()),
        grouped((histogram.percentile(50) * 2).max(1)),
        rows * BAR,
    );
    let (left, right) = (150, 90);
    for (row, (class, count)) in (0..).zip(&histogram.classes) {
        let y = row * BAR;
        let width = (count * (WIDTH - left - right)).div_ceil(most);
        let last = if *class == 0 { 0 } else { class * 2 - 1 };
        let label = match last == *class {
            true => grouped(*class),
            false => format!("{} – {}", grouped(*class), grouped(last)),
        };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text><rect x=\"{left}\" y=\"{}\" width=\"{width}\" height=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            left - 8,
            y + 15,
            y + 2,
            BAR - 4,
            left + width + 6,
            y + 15,
            grouped(*count)
        );
    }
    out.push_str("</svg>\n");
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use openchatml_data::Stats;

    use super::html;

    #[test]
    fn names_of_files_are_text() {
        let page = html(&Stats::default(), &["<script>&\"".to_owned()]);
        assert!(page.contains("<code>&lt;script&gt;&amp;&quot;</code>"), "{page}");
        assert!(!page.contains("<script"));
    }
}
