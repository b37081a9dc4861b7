//! Checks that the results in `docs/guide` are current.
//!
//! A code block whose info string begins with a format is an input; see [`markdown`] for what else
//! it may say. The blocks after it show what becomes of it, by the second word of their info
//! strings: `found` (what is reported), `messages` or `document` (canonical JSON), `seen` (the
//! user's view), `debug` (all messages, hidden ones marked), `written` (in the format that is the
//! first word), `lost` (what a conversion to `to=FORMAT` loses, or why it is refused), `events` (of
//! a stream of chunks of `chunk=N` bytes). An input without a `found` is one without findings.
//!
//! `UPDATE_DOCS=1` writes these blocks.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod markdown;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use markdown::Block;
use openchatml::render::{LayoutChoice, Profile};
use openchatml::{
    Conversation, Document, Event, Format, Lines, Parsed, Policy, RenderOptions, Role, Stream,
    UserEvents, Visibility, convert, history,
};
use openchatml_testkit::markdown::{
    Place, anchor, docs, keep_guides, lines, pages, push_line, with_blocks,
};

#[test]
fn guides_show_current_results() {
    keep_guides(guide);
}

#[test]
fn links_between_documents_have_targets() {
    let mut broken = Vec::new();
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in links(&text) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => path.with_file_name(file),
            };
            let found = std::fs::read_to_string(&target).is_ok_and(|text| {
                heading.is_empty() || headings(&text).any(|known| known == heading)
            });
            let found = found || heading.is_empty() && target.is_dir();
            if !found {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn security_page_names_existing_tests() {
    let root = docs().join("..");
    let mut code = Vec::new();
    read_all(&root.join("crates"), &mut code);
    let page = std::fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let words: Vec<_> = page.split('`').skip(1).step_by(2).collect();
    let is_test = |word: &&str| {
        word.matches('_').count() > 1
            && word.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
    };
    let tests: Vec<_> = words.iter().copied().filter(is_test).collect();
    assert!(tests.len() > 40, "{tests:?}");
    let is_file = |word: &&str| word.starts_with(".ci/") || word.ends_with(".rs");
    for test in tests {
        let start = format!("fn {test}(");
        assert!(code.iter().any(|text| text.contains(&start)), "there is no test `{test}`");
    }
    for file in words.iter().copied().filter(is_file) {
        assert!(root.join(file).is_file(), "there is no file `{file}`");
    }
}

/// Adds the text of each Rust file in a folder and below it.
fn read_all(folder: &Path, code: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn pages_name_existing_items() {
    let crates = docs().join("../crates");
    let lists = std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    let lists = lists.filter_map(|path| std::fs::read_to_string(path.join("public-api.txt")).ok());
    let items: HashSet<_> = lists.flat_map(|list| members(&list)).collect();
    let types: HashSet<_> = items.iter().map(|item| item.0.as_str()).collect();
    let mut unknown = Vec::new();
    // The list of changes also has the old names.
    for path in pages().into_iter().filter(|path| !path.ends_with("CHANGELOG.md")) {
        let text = std::fs::read_to_string(&path).unwrap();
        for line in lines(&text).filter(|line| line.place == Place::Text) {
            let spans = line.text.split('`').skip(1).step_by(2);
            for item in spans.flat_map(members).filter(|item| types.contains(item.0.as_str())) {
                if item.1 != "default" && !items.contains(&item) {
                    unknown.push(format!("{}: {}::{}", path.display(), item.0, item.1));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Returns the types and their members that a text names: `Type::member`, with or without the
/// parameters of the type.
fn members(text: &str) -> Vec<(String, String)> {
    let mut depth = 0_usize;
    let mut plain = String::new();
    for c in text.replace("->", "").chars() {
        depth = if c == '\n' { 0 } else { depth + usize::from(c == '<') };
        if depth == 0 {
            plain.push(c);
        }
        depth = depth.saturating_sub(usize::from(c == '>'));
    }
    let paths = plain.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':'));
    let pairs = paths.flat_map(|path| {
        let segments: Vec<_> = path.trim_end_matches(':').split("::").map(str::to_owned).collect();
        let pairs = segments.windows(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        pairs.collect::<Vec<_>>()
    });
    pairs.filter(|pair| pair.0.starts_with(char::is_uppercase) && !pair.1.is_empty()).collect()
}

#[test]
fn summary_of_the_site_lists_every_page() {
    let summary = docs().join("SUMMARY.md");
    let text = std::fs::read_to_string(&summary).unwrap();
    let listed: Vec<_> = links(&text).map(|link| canonical(&docs().join(link))).collect();
    for page in
        pages().iter().map(|page| canonical(page)).filter(|page| *page != canonical(&summary))
    {
        let count = listed.iter().filter(|link| **link == page).count();
        assert_eq!(count, 1, "{}: SUMMARY.md must list it once", page.display());
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn tables_are_complete() {
    let mut broken = Vec::new();
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut table: Vec<usize> = Vec::new();
        for (index, line) in lines(&text).enumerate() {
            if line.place != Place::Text || !line.text.starts_with('|') {
                table.clear();
                continue;
            }
            let columns = line.text.replace("\\|", "").matches('|').count();
            let is_rule = line.text.trim_matches(['|', '-', ' ', ':']).is_empty();
            // The second line of each table is a rule, and no other line is.
            if is_rule != (table.len() == 1) || table.first().is_some_and(|head| *head != columns) {
                broken.push(format!("{}:{}: {}", path.display(), index + 1, line.text));
            }
            table.push(columns);
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn reliability_page_has_the_number_of_miri_cases() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let script = read(".ci/miri");
    let count =
        script.split_once("OPENCHATML_CASES:-").and_then(|it| it.1.split_once('}')).unwrap().0;
    let words = [("5", "five"), ("8", "eight"), ("10", "ten")];
    let word = words.iter().find(|it| it.0 == count).map_or(count, |it| it.1);
    let row = read("docs/reliability.md");
    let row = row.lines().find(|line| line.contains("`.ci/miri`")).unwrap();
    assert!(row.contains(&format!("{word} cases of each property")), "{count}: {row}");
    assert!(
        script.contains("--skip chunks_make_no_difference")
            && row.contains("except the one that splits")
    );
}

/// Returns the targets of links to other documents and to headings.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split("](").skip(1);
    let targets = after.filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://"))
}

fn headings(text: &str) -> impl Iterator<Item = String> {
    lines(text).filter(|line| line.level > 0).map(|line| anchor(line.text[line.level..].trim()))
}

/// Returns the guide with the results of its inputs.
fn guide(text: &str, path: &Path) -> String {
    let mut input: Option<Input> = None;
    let out = with_blocks(text, |info, content| {
        let block = Block { info: info.to_owned(), text: content.to_owned() };
        if let Some(what) = shows(&block) {
            let input = input.as_mut();
            let input = input.unwrap_or_else(|| panic!("{}: `{info}` of what?", path.display()));
            return Some(input.show(what, &block));
        }
        if block.format().is_some() {
            Input::check(input.take(), path);
            input = Some(Input { block, is_explained: false });
        }
        None
    });
    Input::check(input, path);
    out
}

/// Returns the kind of result that a block shows, if it shows one.
fn shows(block: &Block) -> Option<&'static str> {
    let what = ["found", "messages", "document", "seen", "debug", "written", "lost", "events"];
    let word = block.words().nth(1)?;
    what.into_iter().find(|one| *one == word)
}

/// An input, and whether its diagnostics are shown.
struct Input {
    block: Block,
    is_explained: bool,
}

impl Input {
    /// Checks that an input without shown diagnostics has none.
    fn check(input: Option<Self>, path: &Path) {
        let Some(Self { block, is_explained: false }) = input else { return };
        let found = found(&block, &block.read());
        assert!(found.is_empty(), "{}: {}\n{found}", path.display(), block.text);
    }

    fn show(&mut self, what: &str, block: &Block) -> String {
        self.is_explained |= what == "found" || what == "events";
        let parsed = self.block.read();
        match what {
            "found" => or_nothing(found(&self.block, &parsed)),
            "messages" => messages(&parsed.into_conversation()),
            "document" => rendered(&parsed.document, "json") + "\n",
            "seen" => or_nothing(seen(&parsed.into_conversation())),
            "debug" => debug(&parsed.into_conversation()),
            "written" => written(&parsed.document, block),
            "lost" => or_nothing(lost(&parsed.document, block)),
            _ => events(&self.block, block),
        }
    }
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { "(nothing)\n".to_owned() } else { text }
}

fn found(input: &Block, parsed: &Parsed<'_>) -> String {
    let lines = Lines::new(&input.text);
    let mut out = String::new();
    for found in &parsed.diagnostics {
        let at = lines.locate(found.span.start);
        let _ = writeln!(
            out,
            "{}[{}] {}:{}: {}",
            found.severity, found.code, at.line, at.column, found.message
        );
    }
    out
}

/// Returns canonical JSON with one message per line.
fn messages(conversation: &Conversation<'_>) -> String {
    let mut out = String::new();
    for message in &conversation.messages {
        let one = Conversation::from_messages([message.clone()]);
        let json = rendered(&one.into(), "json");
        let json = json.strip_prefix("{\"messages\":[").and_then(|json| json.strip_suffix("]}"));
        push_line(&mut out, json.unwrap());
    }
    out
}

fn rendered(document: &Document<'_>, format: &str) -> String {
    let format = format.parse().unwrap();
    convert::convert(document, format, &RenderOptions::default()).unwrap().output
}

fn seen(conversation: &Conversation<'_>) -> String {
    let mut out = String::new();
    for message in Policy::default().view(conversation).messages() {
        let mark = if message.is_preamble() { " (preamble)" } else { "" };
        let _ = writeln!(out, "{}{mark}: {:?}", message.role(), message.text());
    }
    out
}

fn debug(conversation: &Conversation<'_>) -> String {
    let mut out = String::new();
    for one in Policy::default().debug_view(conversation) {
        let mark = match one.visibility {
            Visibility::User => "  ",
            Visibility::Hidden => "H ",
        };
        let guess = if one.message.recovered { " (recovered)" } else { "" };
        let text = one.message.body.text();
        let _ = writeln!(out, "{mark}{}{guess}: {text:?}", one.message.role);
    }
    out
}

fn options(block: &Block) -> RenderOptions {
    let mut options = RenderOptions::default();
    if block.has("canonical") {
        options.layout = LayoutChoice::Canonical;
    }
    if block.has("prompt") {
        options.generation_prompt = Some(Role::Assistant);
    }
    options.continue_final = block.has("continue");
    options.thinking = block.has("thinking").then_some(true);
    options.profile = match block.value("profile") {
        None => Profile::Documented,
        Some("reference") => Profile::Reference,
        Some("hf-template") => Profile::HfTemplate,
        Some("hf-template-strings") => Profile::HfTemplateStrings,
        Some(other) => panic!("no profile {other}"),
    };
    options.date = block.value("date").map(|date| date.to_owned().into());
    options
}

fn written(document: &Document<'_>, block: &Block) -> String {
    let format: Format = block.words().next().unwrap().parse().unwrap();
    let mut document = document.clone();
    if block.has("drop-foreign") {
        document = history::drop_foreign(&document.into_conversation()).into();
    }
    if block.has("next") {
        document = history::next_prompt(&document.into_conversation()).into();
    }
    let mut text = convert::convert(&document, format, &options(block)).unwrap().output;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn lost(document: &Document<'_>, block: &Block) -> String {
    let format: Format = block.value("to").unwrap().parse().unwrap();
    match convert::convert(document, format, &options(block)) {
        Ok(converted) => converted.losses.iter().map(|loss| format!("{loss}\n")).collect(),
        Err(error) => format!("{}: {error}\n", error.code),
    }
}

fn events(input: &Block, block: &Block) -> String {
    let size = block.value("chunk").map_or(16, |size| size.parse().unwrap());
    let mut out = String::new();
    let mut user = block.has("user").then(|| UserEvents::new(Policy::default()));
    let mut show = |event: Event<'_>| match &mut user {
        None => push_line(&mut out, &event.to_json()),
        Some(user) => {
            if let Some(event) = user.push(event) {
                push_line(&mut out, &event.to_json());
            }
        }
    };
    let mut stream =
        Stream::new(input.format().unwrap().text().expect("a text format"), &input.options());
    let text = if input.has("trim") { input.text.trim_end_matches('\n') } else { &input.text };
    for chunk in text.as_bytes().chunks(size) {
        stream.feed_with(chunk, &mut show);
    }
    stream.finish_with(&mut show);
    if let Some(event) = user.and_then(UserEvents::finish) {
        push_line(&mut out, &event.to_json());
    }
    out
}
