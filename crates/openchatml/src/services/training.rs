//! What a record says beside its messages about whether a model is trained on it.

use super::state::{Field, WEIGHT_KEYS};
use crate::document::DocumentReader;
use crate::json::Data;
use crate::model::{FormId, Message, Role, Weight, untrain};
use crate::{Code, Severity};

/// Keys that say whether an answer is good. Data sets for unpaired preferences have them.
const LABELS: &[&str] = &["label", "kto_tag"];

/// A key that records have beside [those of messages](WEIGHT_KEYS).
const IS_TRAINED: &str = "is_trained";

/// Whether a key of a record can say that a model is not trained on it.
pub(crate) fn is_of_training(key: &str) -> bool {
    LABELS.contains(&key) || WEIGHT_KEYS.contains(&key) || key == IS_TRAINED
}

/// Gives the messages of the assistant the weight 0, if one of the fields around them says that a
/// model is not trained on them. `has_completion` says whether the record is a prompt and a completion.
pub(super) fn apply(
    fields: &[Field<'_>],
    has_completion: bool,
    messages: &mut [Message<'_>],
    form: FormId,
    reader: &mut DocumentReader<'_>,
) {
    let mut refused = None;
    for field in fields.iter().filter(|field| says_no(field)) {
        let (key, value) = field;
        let is_label = is_one_of(key, LABELS);
        let is_clear = !is_label || matches!(value.data, Data::Bool(_)) || *key == "kto_tag";
        // Beside a completion, a number is mostly that of an answer; elsewhere it is mostly that of a
        // class.
        let counts = is_clear || has_completion;
        if counts && !is_clear {
            let text = format!("`{key}`: {} is read as the label of a bad answer", value.to_json());
            let found = Code::ParseJson.at(value.span, text).severity(Severity::Warning);
            let help =
                "a model is not trained on it; write `label`: false, or rename other columns";
            reader.report(found.help(help));
        }
        refused = refused.or(counts.then_some(key));
    }
    let Some(key) = refused else { return };
    untrain(messages, form);
    let trained = |it: &&mut Message<'_>| {
        it.role == Role::Assistant && it.weight.is_some_and(Weight::is_trained)
    };
    for message in messages.iter_mut().filter(trained) {
        message.weight = Some(Weight::ZERO);
        let text = format!("the weight of the message contradicts `{key}` of its record");
        let found = Code::ParseJson.at(message.span, text);
        reader.drop_value(found.help("a model is not trained on the message"));
    }
}

/// Whether a field says that an answer is bad, or that a model is not trained on it.
fn says_no((key, value): &Field<'_>) -> bool {
    let is_known = [LABELS, WEIGHT_KEYS, &[IS_TRAINED]].iter().any(|keys| is_one_of(key, keys));
    if !is_known {
        return false;
    }
    let is_no = |number: &str| number.parse::<f64>().is_ok_and(|number| number <= 0.0);
    match &value.data {
        Data::Bool(is_good) => !is_good,
        Data::Number(number) => is_no(number),
        Data::String(word) => {
            let word = word.trim_ascii();
            word.eq_ignore_ascii_case("false")
                || word.eq_ignore_ascii_case("no") && !is_one_of(key, LABELS)
                || is_no(word)
        }
        _ => false,
    }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|it| word.eq_ignore_ascii_case(it))
}
