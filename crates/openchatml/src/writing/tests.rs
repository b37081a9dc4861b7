//! What a sink takes for text is read as text.

use super::{Sink, TextSink};
use crate::lex::tests::{Piece, Random, lexed, naive, push_text, tables};
use crate::lex::{Lexeme, Lexer, Mode, TokenTable};
use crate::{Control, dialects};

/// Random texts and control tokens, as they are given to a sink.
fn pieces(random: &mut Random, table: &TokenTable) -> Vec<Piece> {
    let piece = |random: &mut Random| match table.entries().len() {
        most if most > 0 && random.below(3) == 0 => {
            Piece::Control(table.entries()[random.below(most)].0)
        }
        _ => Piece::Text(random.text(table)),
    };
    (0..random.below(6)).map(|_| piece(random)).collect()
}

/// Writes what a sink is given, if it takes it.
fn written(table: &'static TokenTable, pieces: &[Piece]) -> Option<String> {
    let mut out = String::new();
    let mut sink = TextSink::new(table, &mut out);
    for piece in pieces {
        match piece {
            Piece::Text(text) => sink.text(text).ok()?,
            Piece::Control(control) => sink.control(*control).ok()?,
        }
    }
    sink.finish().ok()?;
    Some(out)
}

fn joined(pieces: &[Piece]) -> Vec<Piece> {
    let mut joined = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => push_text(&mut joined, text),
            Piece::Control(_) => joined.push(piece.clone()),
        }
    }
    joined
}

/// A sink refuses what would be read as something else, and nothing else, whatever the spellings.
#[test]
fn what_is_written_is_read_as_what_it_was() {
    let mut taken = 0;
    // Whether a marker is one is the business of the reader.
    let is_marker = |entry: &(Control, &str)| matches!(entry.0, Control::Marker(_));
    for table in tables().into_iter().filter(|table| !table.entries().iter().any(is_marker)) {
        for seed in 0..2000 {
            let pieces = pieces(&mut Random::new(seed), table);
            let plain: String = pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text,
                    Piece::Control(control) => table.spelling(*control).expect("it has it"),
                })
                .collect();
            let wanted = joined(&pieces);
            let is_unambiguous = naive(table, &plain) == wanted;
            let out = written(table, &pieces);
            assert_eq!(out.is_some(), is_unambiguous, "{pieces:?} {table:?}");
            if let Some(out) = out {
                taken += 1;
                assert_eq!(out, plain);
                assert_eq!(lexed(table, &[&out]), wanted, "{pieces:?} {table:?}");
            }
        }
    }
    assert!(taken > 10_000, "{taken}");
}

/// With an escape everything can be written.
#[test]
fn what_is_escaped_is_read_as_text() {
    let table = dialects::OPENCHATML_2_2.controls;
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let texts: Vec<_> = (0..random.below(4)).map(|_| random.text(table)).collect();
        let is_literal = random.below(3) == 0;
        let mut out = String::new();
        let mut sink = TextSink::new(table, &mut out);
        let mut controls = vec![Control::Start, Control::Message];
        controls.extend(is_literal.then_some(Control::Literal));
        controls.iter().for_each(|control| sink.control(*control).expect("it has it"));
        let is_written = texts.iter().all(|text| sink.text(text).is_ok());
        let body = texts.concat();
        let holds_end = is_literal && table.has(Control::EndLiteral, &body);
        assert_eq!(is_written, !holds_end, "{texts:?}");
        if !is_written {
            continue;
        }
        if is_literal {
            sink.control(Control::EndLiteral).expect("it has it");
        }
        sink.control(Control::End).expect("it has it");
        sink.finish().expect("it ends");
        let mut read = String::new();
        let mut rest = out.as_str();
        let mut lexer = Lexer::new(table, Mode::Outside, 0);
        while let Some(lexeme) = lexer.next(&mut rest, true) {
            match lexeme {
                Lexeme::Text(text, _) => read.push_str(text),
                // Whether it is one is the business of the reader.
                Lexeme::Control(control @ Control::Marker(_), _) => {
                    read.push_str(table.spelling(control).expect("it has it"));
                }
                Lexeme::Control(..) => {}
            }
        }
        assert_eq!(read, body, "{texts:?} {out:?}");
    }
}

#[test]
fn refusals_have_their_place_in_the_last_piece() {
    let table: &'static TokenTable = {
        static TABLE: TokenTable = TokenTable::new(
            &[(Control::Start, "[a["), (Control::End, "[a[b]"), (Control::Call, "<c>")],
            crate::lex::Escape::None,
        );
        &TABLE
    };
    let mut out = String::new();
    let mut sink = TextSink::new(table, &mut out);
    sink.text("x [").expect("text so far");
    let error = sink.text("a[ y").expect_err("a token after all");
    assert_eq!((error.span.range(), error.spelling, error.before), (0..2, "[a[", 1));
    // Together with the token that follows it, a text spells one.
    let mut out = String::new();
    let mut sink = TextSink::new(table, &mut out);
    sink.text("[a").expect("text so far");
    let error = sink.control(Control::Start).expect_err("it would be another one");
    assert_eq!((error.span.range(), error.spelling, error.before), (0..0, "[a[", 2));
    // A token goes on in the text that follows it.
    let mut out = String::new();
    let mut sink = TextSink::new(table, &mut out);
    sink.control(Control::Start).expect("a token");
    let error = sink.text("b] x").expect_err("it would be another one");
    assert_eq!((error.span.range(), error.spelling, error.before), (0..2, "[a[b]", 3));
}
