//! Other engines for the chat template of Apertus: Jinja for Rust and for Python.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use minijinja::{Environment, Value};
use openchatml::{Conversation, Limits};
use openchatml_templates::{Options, Template};

/// The input of a template for each engine.
pub(crate) struct Given {
    pub(crate) context: Value,
    options: Options<'static>,
}

impl Given {
    /// Reads messages JSON for `minijinja`.
    pub(crate) fn context(line: &str) -> Value {
        let whole: Value = serde_json::from_str(line).expect("it is JSON");
        let get = |value: &Value, key| value.get_attr(key).expect("it is an object");
        let tools = get(&whole, "tools").try_iter().expect("a list");
        let tools: Vec<Value> = tools.map(|tool| get(&tool, "function")).collect();
        let same = |key| (key, get(&whole, key));
        Value::from_pairs([
            same("messages"),
            same("enable_thinking"),
            ("tools", tools.into()),
            ("bos_token", "<s>".into()),
        ])
    }

    /// Reads messages JSON.
    pub(crate) fn read(line: &str) -> Self {
        let whole = openchatml::Value::from_json(line, &Limits::default()).expect("it is JSON");
        let get = |key| whole.get(key).cloned().expect("it is there").into_owned();
        let tools = get("tools");
        let tools = tools.as_list().unwrap_or_default();
        let tools = tools.iter().filter_map(|tool| tool.get("function").cloned()).collect();
        let mut options = Options::default();
        options.thinking = Some(true);
        options.special_tokens.push(("bos_token".into(), "<s>".into()));
        options.variables.push(("messages".into(), get("messages")));
        options.variables.push(("tools".into(), openchatml::Data::List(tools).into()));
        Self { context: Self::context(line), options }
    }
}

/// `minijinja` with a compiled template.
pub(crate) struct Jinja(Environment<'static>);

impl Jinja {
    pub(crate) fn new(source: &str) -> Self {
        let mut environment = Environment::new();
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.add_template_owned("apertus", source.to_owned()).expect("it is a template");
        Self(environment)
    }

    pub(crate) fn render(&self, context: &Value) -> String {
        let template = self.0.get_template("apertus").expect("it was added");
        template.render(context).expect("the template can say it")
    }
}

/// The sandbox of this project, which separates content from control tokens.
pub(crate) struct Guarded(Template);

impl Guarded {
    pub(crate) fn new(source: &str) -> Self {
        Self(Template::new(source, &Default::default()).expect("it is a template"))
    }

    pub(crate) fn render(&self, given: &Given) -> String {
        let nothing = Conversation::default();
        self.0.render(&nothing, &given.options).expect("the template can say it").text
    }
}

/// A Python process with `jinja2`, which runs jobs and reports their times.
pub(crate) struct Python {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    about: serde_json::Value,
    lines: tempfile::NamedTempFile,
}

impl Python {
    const VARIABLE: &str = "OPENCHATML_PYTHON";

    /// Starts the process, or returns why it cannot be started.
    pub(crate) fn start(template: &OsStr) -> Result<Self, String> {
        let name = std::env::var_os(Self::VARIABLE).unwrap_or_else(|| "python3".into());
        let mut command = Command::new(&name);
        command.args(["-c", include_str!("apertus.py")]).arg(template);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let missing = || format!("`{}` is no Python that has `jinja2`", name.display());
        let mut child = command.spawn().map_err(|_| missing())?;
        let requests = child.stdin.take().expect("it was asked for");
        let answers = BufReader::new(child.stdout.take().expect("it was asked for"));
        let lines = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        let mut python = Self { child, requests, answers, about: serde_json::Value::Null, lines };
        python.about = python.answer().ok_or_else(missing)?;
        Ok(python)
    }

    /// Returns the versions as a list.
    pub(crate) fn made_of(&self) -> String {
        let about = |key: &str| self.about[key].as_str().unwrap_or_default();
        format!(
            "- Python {}, `jinja2` {}\n- Template: SHA-256 `{}`",
            about("python"),
            about("jinja2"),
            about("template"),
        )
    }

    fn answer(&mut self) -> Option<serde_json::Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    fn ask(&mut self, request: &str) -> serde_json::Value {
        writeln!(self.requests, "{request}").expect("it listens");
        self.answer().expect("it answers")
    }

    /// Lets it read conversations.
    pub(crate) fn load(&mut self, lines: &[String]) {
        std::fs::write(self.lines.path(), lines.join("\n")).expect("there is room");
        let request = format!("load {}", self.lines.path().display());
        assert_eq!(self.ask(&request), lines.len());
    }

    /// Returns the texts that a job writes.
    pub(crate) fn texts(&mut self, job: &str) -> Vec<String> {
        serde_json::from_value(self.ask(&format!("render {job}"))).expect("texts")
    }

    /// Returns the processor time of a job.
    pub(crate) fn time(&mut self, job: &str) -> Duration {
        let nanos = self.ask(&format!("time {job}"));
        Duration::from_nanos(nanos.as_u64().expect("a number"))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // The process ends with its input; if it does not, it is killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
