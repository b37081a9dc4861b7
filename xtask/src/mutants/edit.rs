//! The places of changes in a file, and the text of the file with all of them.

use std::ops::Range;

/// The function of the core that says whether a change is made.
const IS_ON: &str = "crate::mutation::is_on";

/// A place with changes. Places are nested or apart.
pub(super) struct Place {
    pub(super) range: Range<usize>,
    pub(super) edit: Edit,
}

/// The number of a change.
pub(super) type Number = u32;

/// What is changed. The numbers are those of the changes.
pub(super) enum Edit {
    /// At the beginning of a function, it returns one of these values.
    Return(Vec<(Number, String)>),
    /// `==` or `!=` become the other one.
    Equal { number: Number, operator: &'static str, left: Range<usize>, right: Range<usize> },
    /// An operator becomes another.
    Operator {
        form: Form,
        others: Vec<(Number, &'static str)>,
        own: &'static str,
        left: Range<usize>,
        right: Range<usize>,
    },
    /// `&&` and `||` become the other one.
    Logic { number: Number, is_and: bool, left: Range<usize>, right: Range<usize> },
    /// `!` is removed.
    Not { number: Number, inner: Range<usize> },
    /// `-` is removed.
    Negative { number: Number, inner: Range<usize> },
    /// After a pattern without a guard: the arm is removed.
    Arm(Number),
    /// The arm is removed, or its guard is `true` or `false`.
    Guard { removed: Option<Number>, yes: Number, no: Number },
}

/// How an operator is written.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// As a function that compares references.
    Compare,
    Calculate,
    Assign,
}

/// Writes a file with the changes that `is_alive`. Each change is between `/*<N*/` and `/*N>*/`.
pub(super) fn write(source: &str, places: &[Place], is_alive: &dyn Fn(Number) -> bool) -> String {
    Writer { source, places, is_alive }.range(0..source.len(), None)
}

struct Writer<'s> {
    source: &'s str,
    /// Ordered by their beginning, the outer one first.
    places: &'s [Place],
    is_alive: &'s dyn Fn(Number) -> bool,
}

impl Writer<'_> {
    /// Writes a part of the file with the places inside, without the one that is being written.
    fn range(&self, range: Range<usize>, without: Option<usize>) -> String {
        let mut out = String::new();
        let mut at = range.start;
        let first = self.places.partition_point(|it| it.range.start < range.start);
        for (index, place) in self.places.iter().enumerate().skip(first) {
            if place.range.start >= range.end && place.range.start != range.start {
                break;
            }
            let is_inside = place.range.start >= at && place.range.end <= range.end;
            if Some(index) == without || without.is_some_and(|it| index < it) || !is_inside {
                continue;
            }
            out.push_str(&self.source[at..place.range.start]);
            out.push_str(&self.place(index));
            at = place.range.end;
        }
        out.push_str(&self.source[at..range.end]);
        out
    }

    fn place(&self, index: usize) -> String {
        let place = &self.places[index];
        let alive = |numbers: &[(Number, &'static str)]| -> Vec<(Number, &'static str)> {
            numbers.iter().copied().filter(|(number, _)| (self.is_alive)(*number)).collect()
        };
        let part = |range: &Range<usize>| self.range(range.clone(), Some(index));
        let same = || self.range(place.range.clone(), Some(index));
        let is_alive = |number: &Number| (self.is_alive)(*number);
        match &place.edit {
            Edit::Return(values) => {
                let values = values.iter().filter(|(number, _)| (self.is_alive)(*number));
                let values = values.map(|(number, value)| {
                    marked(*number, &format!("if {IS_ON}({number}) {{ return {value}; }}"))
                });
                values.collect()
            }
            Edit::Equal { number, operator, left, right } if is_alive(number) => {
                let (left, right) = (part(left), part(right));
                marked(*number, &format!("(({left} {operator} {right}) != {IS_ON}({number}))"))
            }
            Edit::Operator { form, others, own, left, right } => match alive(others).as_slice() {
                [] => same(),
                others => operator(*form, others, own, &part(left), &part(right)),
            },
            Edit::Logic { number, is_and, left, right } if is_alive(number) => {
                let (left, right) = (part(left), part(right));
                let operator = if *is_and { "==" } else { "!=" };
                let text = format!(
                    "{{ let l: bool = {left}; if l {operator} {IS_ON}({number}) {{ l }} else {{ {right} }} }}"
                );
                marked(*number, &text)
            }
            Edit::Not { number, inner } if is_alive(number) => {
                marked(*number, &format!("({IS_ON}({number}) == ({}))", part(inner)))
            }
            Edit::Negative { number, inner } if is_alive(number) => {
                let inner = part(inner);
                let text =
                    format!("{{ let v = {inner}; if {IS_ON}({number}) {{ v }} else {{ -v }} }}");
                marked(*number, &text)
            }
            Edit::Arm(number) if is_alive(number) => {
                marked(*number, &format!(" if !{IS_ON}({number})"))
            }
            Edit::Arm(_) => String::new(),
            Edit::Guard { removed, yes, no } => {
                let mut guard = format!("({})", same());
                if is_alive(no) {
                    guard = marked(*no, &format!("(!{IS_ON}({no}) && {guard})"));
                }
                if is_alive(yes) {
                    guard = marked(*yes, &format!("({IS_ON}({yes}) || {guard})"));
                }
                match removed.filter(|it| is_alive(it)) {
                    Some(it) => marked(it, &format!("!{IS_ON}({it}) && {guard}")),
                    None => guard,
                }
            }
            _ => same(),
        }
    }
}

/// Returns an expression with an operator that can be another.
fn operator(
    form: Form,
    others: &[(Number, &'static str)],
    own: &str,
    left: &str,
    right: &str,
) -> String {
    let of = |operator: &str| match form {
        Form::Compare => format!("crate::mutation::{}(l, r)", comparison(operator)),
        Form::Calculate => format!("l {operator} r"),
        Form::Assign => format!("{left} {operator} {right}"),
    };
    let choice = choice(others, &of(own), of);
    let text = match form {
        Form::Compare => format!("{{ let (l, r) = (&({left}), &({right})); {choice} }}"),
        Form::Calculate => format!("{{ let (l, r) = ({left}, {right}); {choice} }}"),
        Form::Assign => format!("{{ {choice} }}"),
    };
    // If it is wrong apart from its choices, so are all.
    others.iter().fold(text, |text, (number, _)| marked(*number, &text))
}

/// Returns the name of the function that compares.
fn comparison(operator: &str) -> &'static str {
    match operator {
        "==" => "equal",
        "<" => "less",
        "<=" => "at_most",
        ">" => "more",
        _ => "at_least",
    }
}

/// Returns the first choice whose change is made, or else the own text.
fn choice(
    others: &[(Number, &'static str)],
    own: &str,
    of: impl Fn(&'static str) -> String,
) -> String {
    let mut out = String::new();
    for (number, other) in others {
        out.push_str(&marked(*number, &format!("if {IS_ON}({number}) {{ {} }} else ", of(other))));
    }
    out.push_str(&format!("{{ {own} }}"));
    out
}

/// Marks a text as that of a change.
fn marked(number: Number, text: &str) -> String {
    format!("/*<{number}*/{text}/*{number}>*/")
}

/// Returns the changes whose text contains this place: the innermost first.
pub(super) fn around(text: &str, place: usize) -> Vec<Number> {
    let mut open: Vec<Number> = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..place].find("/*") {
        let start = at + start + 2;
        let Some(end) = text[start..].find("*/").map(|end| start + end) else { break };
        let words = &text[start..end];
        if let Some(number) = words.strip_prefix('<').and_then(|it| it.parse().ok()) {
            open.push(number);
        } else if let Some(number) = words.strip_suffix('>').and_then(|it| it.parse::<u32>().ok()) {
            if let Some(index) = open.iter().rposition(|it| *it == number) {
                open.remove(index);
            }
            at = end + 2;
            continue;
        }
        at = end + 2;
        if at > place {
            break;
        }
    }
    open.reverse();
    open
}

#[cfg(test)]
mod tests {
    use super::super::find::find;
    use super::*;

    const SOURCE: &str = "
impl Text {
    fn ends(&self, at: usize) -> bool {
        let rest = !self.open && at + 1 == self.len || at < 7;
        match rest {
            true if self.open => false,
            true => at > 1,
            _ => true,
        }
    }
}
const LONG: bool = 1 + 1 == 2;
#[cfg(test)]
mod tests {
    fn is_tried() -> bool { 1 < 2 }
}
";

    fn written(is_alive: &dyn Fn(Number) -> bool) -> String {
        let found = find("text.rs", SOURCE, 1).expect("valid code");
        write(SOURCE, &found.places, is_alive)
    }

    #[test]
    fn without_a_change_the_text_stays() {
        let same = written(&|_| false);
        // Only parentheses around guards are new.
        assert_eq!(same.replace("(self.open)", "self.open"), SOURCE);
    }

    #[test]
    fn each_change_is_in_the_text_and_can_be_found() {
        let found = find("text.rs", SOURCE, 1).expect("valid code");
        let changes: Vec<_> = found.mutants.iter().map(|it| it.change.as_str()).collect();
        let wanted = [
            "returns true",
            "returns false",
            "`||` becomes `&&`",
            "`&&` becomes `||`",
            "without `!`",
            "`==` becomes `!=`",
            "`+` becomes `-`",
            "`+` becomes `*`",
            "`<` becomes `==`",
            "`<` becomes `>`",
            "`<` becomes `<=`",
            "without the arm `true if self.open`",
            "the guard `self.open` is `true`",
            "the guard `self.open` is `false`",
            "without the arm `true`",
            "`>` becomes `==`",
            "`>` becomes `<`",
            "`>` becomes `>=`",
        ];
        assert_eq!(changes, wanted);
        assert!(found.mutants.iter().all(|it| it.function == "Text::ends"));
        let all = written(&|_| true);
        syn::parse_file(&all).expect("the changes are code");
        for number in 1..=changes.len() as Number {
            let start = all.find(&format!("/*<{number}*/")).expect("it is in the text");
            let around_it = around(&all, start + format!("/*<{number}*/").len());
            assert!(around_it.contains(&number), "{all}");
            let alone = written(&|it| it == number);
            syn::parse_file(&alone).expect("a change alone is code");
            assert!(around(&alone, alone.len()).is_empty());
        }
    }
}
