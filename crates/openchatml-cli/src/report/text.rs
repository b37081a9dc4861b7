//! Diagnostics as text, in the style of rustc.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet, Title};
use openchatml::{Applicability, Diagnostic, Edit, Fix, Severity, Span};

use super::excerpt::{Excerpt, WIDE};
use crate::input::Page;
use crate::visible::{visible, visible_line};

/// The maximum length of a replacement that is shown.
const SHOWN_BYTES: usize = 200;

/// Writes one diagnostic: code, message, place, source line, help and fix.
pub(super) fn write(page: &Page<'_>, found: &Diagnostic, out: &mut String) {
    let message = visible(&found.message);
    let title = level(found.severity).primary_title(message).id(found.code.as_str());
    write_titled(page, title, found.span, (found.help.as_deref(), found.fix.as_ref()), out);
}

#[cfg(feature = "run")]
/// Writes an error without a code: message, place, source line.
pub(super) fn write_error(page: &Page<'_>, span: Span, message: &str, out: &mut String) {
    write_titled(page, Level::ERROR.primary_title(visible(message)), span, (None, None), out);
}

/// Writes the message, the place, the help and the fix.
fn write_titled<'p>(
    page: &'p Page<'_>,
    title: Title<'p>,
    span: Span,
    (help, fix): (Option<&'p str>, Option<&'p Fix>),
    out: &mut String,
) {
    let name = visible_line(page.name);
    let span = inked(page.text, span);
    let excerpt = Excerpt::new(page.text, &[span]);
    let mark = excerpt.marks.into_iter().next().unwrap_or_default();
    let snippet = Snippet::source(excerpt.text)
        .line_start(page.locate(excerpt.start).line)
        .path(&*name)
        .fold(false)
        .annotation(AnnotationKind::Primary.span(mark));
    let mut group = Group::with_title(title).element(snippet);
    let end = page.locate(span.end).line;
    if !excerpt.is_whole && end > page.locate(span.start).line {
        group = group.element(Level::NOTE.message(format!("continues to line {end}")));
    }
    if let Some(help) = help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let mut groups = vec![group];
    groups.extend(fix.and_then(|fix| suggestion(page, fix)));
    // The excerpt fits; the renderer would cut it to make room for the line numbers.
    let renderer = Renderer::styled().term_width(2 * WIDE);
    out.push_str(&relocate(&renderer.render(&groups), &name, page, span));
    out.push_str("\n\n");
}

/// Returns a span without surrounding white space; for the end of the text, the end of the last
/// line.
fn inked(text: &str, span: Span) -> Span {
    if span.start == text.len() && text.ends_with('\n') {
        return Span::at(text.trim_end_matches(['\r', '\n']).len());
    }
    let Some(part) = text.get(span.range()) else { return span };
    let start = span.start + part.len() - part.trim_start().len();
    let len = part.trim().len();
    if len == 0 { span } else { Span::new(start, start + len) }
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

/// Returns the fix as a difference.
fn suggestion<'p>(page: &'p Page<'_>, fix: &Fix) -> Option<Group<'p>> {
    let places: Vec<Span> = fix.edits.iter().map(|edit| edit.span).collect();
    let excerpt = Excerpt::new(page.text, &places);
    let too_long = fix.edits.iter().any(|edit| edit.replacement.len() > SHOWN_BYTES);
    if !excerpt.is_whole || too_long {
        return None;
    }
    let mut snippet =
        Snippet::source(excerpt.text).line_start(page.locate(excerpt.start).line).fold(true);
    for (edit, mark) in fix.edits.iter().zip(excerpt.marks) {
        snippet = snippet.patch(Patch::new(mark, visible(&edit.replacement).into_owned()));
    }
    Some(Group::with_title(Level::HELP.secondary_title(advice(fix))).element(snippet))
}

/// Describes a fix in words.
fn advice(fix: &Fix) -> String {
    let advice = change(&fix.edits);
    match fix.applicability {
        Applicability::Safe => advice,
        Applicability::Unsafe => format!("{advice}, if this is what you mean"),
    }
}

fn change(edits: &[Edit]) -> String {
    match edits {
        [edit] if edit.replacement.is_empty() => "remove this".to_owned(),
        [edit] if edit.span.is_empty() => format!("insert {}", quoted(&edit.replacement)),
        [edit] => format!("write {} instead", quoted(&edit.replacement)),
        _ => "make these changes".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", visible(text.trim_end_matches('\n')))
}

/// Replaces the place in the report by that in the file, because the renderer knows only the
/// excerpt.
fn relocate(report: &str, name: &str, page: &Page<'_>, span: Span) -> String {
    let arrow = report.find("--> ").unwrap_or(0);
    let Some(at) = report[arrow..].find(name).map(|at| arrow + at + name.len()) else {
        return report.to_owned();
    };
    let place = page.locate(span.start);
    let rest = report[at..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    format!("{}:{}:{}{rest}", &report[..at], place.line, place.column)
}
