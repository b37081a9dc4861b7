//! Approval of calls by a person at a terminal.

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::sync::Arc;

use clap::ValueEnum;
use openchatml_tools::{
    Approval, ApprovalFuture, ApprovalPolicy, ApprovalRequest, Approver, RouterOptions,
};

use crate::failure::Failure;
use crate::visible::visible_line;

/// The calls that require approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ApproveArg {
    /// No call
    Never,
    /// The first call of each tool
    Once,
    /// Every call
    Always,
}

/// Sets the calls that require approval, and the person at the terminal as the approver.
///
/// # Errors
///
/// Calls require approval, but there is no terminal.
pub(super) fn set(
    wanted: Option<ApproveArg>,
    input_is_taken: bool,
    options: &mut RouterOptions,
) -> Result<(), Failure> {
    let can_ask = !input_is_taken && io::stdin().is_terminal() && io::stderr().is_terminal();
    if let Some(wanted) = wanted {
        options.approve = match wanted {
            ApproveArg::Never => ApprovalPolicy::Never,
            ApproveArg::Once => ApprovalPolicy::Once,
            ApproveArg::Always => ApprovalPolicy::Always,
        };
        if options.approve != ApprovalPolicy::Never && !can_ask {
            let text = "`--approve` requires a terminal";
            return Err(Failure::Usage(text.to_owned()));
        }
    }
    if can_ask {
        options.approver = Some(Arc::new(Person));
    }
    Ok(())
}

/// A person at the terminal.
struct Person;

impl Approver for Person {
    fn approve<'a>(&'a self, call: ApprovalRequest<'a>) -> ApprovalFuture<'a> {
        // On one line: the text of a call cannot imitate another call or the question.
        let problem =
            call.problem.map(|it| format!("The arguments are invalid: {}\n", visible_line(it)));
        let call = format!(
            "{}{} {}",
            problem.unwrap_or_default(),
            visible_line(call.name),
            visible_line(call.arguments)
        );
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                forget_what_was_typed();
                ask(&call, &mut io::stdin().lock(), &mut io::stderr())
            });
            asked.await.unwrap_or_else(|_| Approval::No("no answer at the terminal".to_owned()))
        })
    }
}

/// Discards input that was typed before the question.
fn forget_what_was_typed() {
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Asks until there is a valid answer.
fn ask(call: &str, input: &mut impl BufRead, output: &mut impl Write) -> Approval {
    let gone = || Approval::No("no answer at the terminal".to_owned());
    let question = format!("{call}\nRun this call? [y]es, [n]o (and why), [e]dit the arguments: ");
    loop {
        let Some(answer) = answer(&question, input, output) else { return gone() };
        let (word, rest) = answer.split_once(char::is_whitespace).unwrap_or((&answer, ""));
        match word {
            "y" | "yes" if rest.is_empty() => return Approval::Yes,
            "n" | "no" if rest.is_empty() => return Approval::No("the user refused".to_owned()),
            "n" | "no" => return Approval::No(rest.trim().to_owned()),
            "e" | "edit" => match self::answer("The arguments, on one line: ", input, output) {
                None => return gone(),
                Some(edited) if edited.is_empty() => {}
                Some(edited) => return Approval::Edited(edited),
            },
            _ => {}
        }
    }
}

/// Reads a line from the person. `None` at the end of the input.
fn answer(question: &str, input: &mut impl BufRead, output: &mut impl Write) -> Option<String> {
    write!(output, "{question}").and_then(|()| output.flush()).ok()?;
    let mut line = String::new();
    let read = input.read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use openchatml_tools::Approval;

    use super::ask;

    fn asked(typed: &str) -> (Approval, String) {
        let mut output = Vec::new();
        let approval = ask("functions.pay {}", &mut typed.as_bytes(), &mut output);
        (approval, String::from_utf8(output).expect("text"))
    }

    #[test]
    fn a_person_is_asked_until_the_answer_is_valid() {
        let no = |why: &str| Approval::No(why.to_owned());
        assert_eq!(asked("y\n").0, Approval::Yes);
        assert_eq!(asked("no\n").0, no("the user refused"));
        assert_eq!(asked("n too expensive\n").0, no("too expensive"));
        assert_eq!(asked("e\n{\"n\":1}\n").0, Approval::Edited("{\"n\":1}".to_owned()));
        let (approval, output) = asked("\ny but not this\ne\n\nyes\n");
        assert_eq!(approval, Approval::Yes);
        assert_eq!(output.matches("Run this call?").count(), 4);
        assert!(output.starts_with("functions.pay {}\n"));
        assert_eq!(asked("").0, no("no answer at the terminal"));
    }
}
