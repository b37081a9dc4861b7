//! The tool `browser` of Harmony: search, open, find.

mod fetch;
mod host_policy;
mod html;
mod page;
mod search;

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use openchatml::harmony::Namespace;
use openchatml::{Code, Value};

use self::fetch::Fetcher;
use self::host_policy::HostPolicy;
use self::page::{Link, Page};
use self::search::{Endpoint, Index, SCHEME};
use crate::{Call, Entry, Failure, Outcome, Output, Tool, ToolFuture};

/// The search engine of a browser, and the hosts that it may open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrowserOptions {
    /// The hosts that the browser may open: `docs.example`; `*.docs.example` for all subdomains;
    /// `docs.example:8080` for a port other than that of the scheme; `*` for all hosts. Empty by
    /// default.
    pub hosts: Vec<String>,
    /// The hosts whose addresses may be private, loopback or link-local. The check applies to the
    /// address of the connection, so a later change of the name resolution does not matter.
    pub private: Vec<String>,
    /// The search engine.
    pub search: Search,
    /// The maximum size of a page, in bytes. The rest of a longer page is dropped.
    pub page_bytes: usize,
}

/// The search engine of a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// No search engine: the model can only open URLs.
    #[default]
    Nothing,
    /// An endpoint that returns JSON: a list of objects with `url`, `title`, and `snippet` or
    /// `content`, or an object with this list in `results`.
    Endpoint {
        /// The URL, with `{query}` and optionally `{topn}`.
        url: String,
        /// The headers of every request.
        headers: Vec<(String, String)>,
    },
    /// The files `*.txt`, `*.md` and `*.html` of a folder. They are read when the browser is
    /// created.
    Folder(PathBuf),
}

impl Default for BrowserOptions {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            private: Vec::new(),
            search: Search::Nothing,
            page_bytes: 1 << 20,
        }
    }
}

/// The state that the three tools of a browser share: the pages that were opened.
///
/// A browser belongs to one conversation: the model refers to pages by their cursors.
///
/// ```
/// use openchatml_tools::Call;
/// use openchatml_tools::kinds::browser::{Browser, BrowserOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let tools = Browser::new(&BrowserOptions::default()).unwrap().entries();
/// let (name, open) = &tools[1];
/// assert_eq!(name, "browser.open");
/// let call = Call::new("browser.open", "c1", r#"{"id":"http://127.0.0.1/admin"}"#);
/// let failure = open.tool.call(&call).await.unwrap_err();
/// assert_eq!(failure.message, "this host is not allowed");
/// # }
/// ```
#[derive(Clone)]
pub struct Browser {
    shared: Arc<Shared>,
}

struct Shared {
    fetcher: Fetcher,
    engine: SearchEngine,
    pages: Mutex<Pages>,
}

enum SearchEngine {
    Nothing,
    Endpoint(Endpoint),
    Index(Index),
}

/// The pages that were opened last, with consecutive cursors.
#[derive(Default)]
struct Pages {
    /// The cursor of the first page.
    first: usize,
    pages: VecDeque<Arc<Page>>,
}

/// The maximum number of stored pages.
const KEPT: usize = 32;

/// The maximum number of search results.
const RESULTS: usize = 50;

/// The error of a browser that cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrowserError {
    /// The reason.
    pub why: String,
}

impl fmt::Display for BrowserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for BrowserError {}

impl Browser {
    /// Creates a browser without open pages. If the search engine is a folder, its files are read
    /// now.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or the URL or a header of the endpoint is invalid.
    pub fn new(options: &BrowserOptions) -> Result<Self, BrowserError> {
        let wrong = |why: String| BrowserError { why };
        let guard =
            HostPolicy { hosts: options.hosts.clone(), private: Arc::new(options.private.clone()) };
        let fetcher = Fetcher::new(guard, options.page_bytes);
        let fetcher = fetcher.map_err(|_| wrong("cannot create an HTTP client".into()))?;
        let engine = match &options.search {
            Search::Nothing => SearchEngine::Nothing,
            Search::Endpoint { url, headers } => {
                let endpoint = Endpoint::new(url, headers, options.page_bytes);
                SearchEngine::Endpoint(endpoint.map_err(wrong)?)
            }
            Search::Folder(folder) => {
                let index = Index::read(folder, options.page_bytes);
                SearchEngine::Index(index.map_err(|error| {
                    wrong(format!("cannot read `{}`: {error}", folder.display()))
                })?)
            }
        };
        let shared = Shared { fetcher, engine, pages: Mutex::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns `browser.search` (if there is a search engine), `browser.open` and `browser.find`,
    /// as Harmony declares them.
    pub fn entries(&self) -> Vec<(String, Entry)> {
        let actions = [
            ("search", BrowserAction::Search),
            ("open", BrowserAction::Open),
            ("find", BrowserAction::Find),
        ];
        let mut entries = Vec::new();
        for tool in Namespace::browser().tools {
            let Some((name, action)) = actions.iter().find(|it| it.0 == tool.name) else {
                continue;
            };
            let mut entry =
                Entry::new(BrowserTool { shared: self.shared.clone(), action: *action });
            entry.description = tool.description.map(|text| text.into_owned());
            entry.parameters = tool.parameters;
            entries.push((format!("browser.{name}"), entry));
        }
        entries
    }
}

#[derive(Clone, Copy)]
enum BrowserAction {
    Search,
    Open,
    Find,
}

/// One of the three tools of a browser.
struct BrowserTool {
    shared: Arc<Shared>,
    action: BrowserAction,
}

impl Tool for BrowserTool {
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        Box::pin(async move {
            let arguments = call
                .parse()
                .map_err(|found| Failure::with_code(Code::CallSchema, found.message))?;
            match self.action {
                BrowserAction::Search => self.shared.search(&arguments).await,
                BrowserAction::Open => self.shared.open(&arguments).await,
                BrowserAction::Find => self.shared.find(&arguments),
            }
        })
    }
}

impl Shared {
    async fn search(&self, arguments: &Value<'_>) -> Outcome {
        let query = text(arguments, "query")?;
        let count = number(arguments, "topn")?.unwrap_or(10).clamp(1, RESULTS);
        let hits = match &self.engine {
            SearchEngine::Nothing => {
                return Err(Failure::new("this browser has no search: open a URL instead"));
            }
            SearchEngine::Endpoint(endpoint) => endpoint.search(query, count).await?,
            SearchEngine::Index(index) => index.search(query, count),
        };
        Ok(self.show(search::page(query, &hits), 0, None))
    }

    async fn open(&self, arguments: &Value<'_>) -> Outcome {
        let from = number(arguments, "loc")?;
        let count = number(arguments, "num_lines")?.map(|count| count.max(1));
        let view_source = arguments.get("view_source").and_then(Value::as_bool) == Some(true);
        let cursor = number(arguments, "cursor")?;
        let id = arguments.get("id");
        let url = match id.and_then(Value::as_str) {
            Some(url) => url.to_owned(),
            None => match number(arguments, "id")? {
                None => {
                    let (cursor, page) = self.page(cursor)?;
                    let source = page.url.clone();
                    let view = page.view(cursor, from.unwrap_or(0), count);
                    return Ok(output(view, source));
                }
                Some(id) => {
                    let (cursor, page) = self.page(cursor)?;
                    match page.links.get(id) {
                        Some(Link::Url(url)) => url.clone(),
                        Some(Link::Line(cursor, line)) => {
                            let (cursor, page) = self.page(Some(*cursor))?;
                            let view = page.view(cursor, from.unwrap_or(*line), count);
                            return Ok(output(view, page.url.clone()));
                        }
                        None => {
                            let why = format!("the page with cursor {cursor} has no link {id}");
                            return Err(Failure::new(why));
                        }
                    }
                }
            },
        };
        let page = match (&self.engine, url.starts_with(SCHEME)) {
            (SearchEngine::Index(index), true) => {
                index.open(&url).cloned().ok_or_else(|| Failure::new("this page does not exist"))?
            }
            _ => self.fetcher.fetch(&url, view_source).await?,
        };
        Ok(self.show(page, from.unwrap_or(0), count))
    }

    fn find(&self, arguments: &Value<'_>) -> Outcome {
        let pattern = text(arguments, "pattern")?;
        let (cursor, page) = self.page(number(arguments, "cursor")?)?;
        Ok(self.show(page.find(cursor, pattern), 0, None))
    }

    /// Adds a page and returns its first lines.
    fn show(&self, page: Page, from: usize, count: Option<usize>) -> Output {
        let page = Arc::new(page);
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.pages.push_back(page.clone());
        if pages.pages.len() > KEPT {
            pages.pages.pop_front();
            pages.first += 1;
        }
        let cursor = pages.first + pages.pages.len() - 1;
        drop(pages);
        output(page.view(cursor, from, count), page.url.clone())
    }

    /// Returns the page with this cursor, or the last page.
    fn page(&self, cursor: Option<usize>) -> Result<(usize, Arc<Page>), Failure> {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = pages.pages.len().checked_sub(1) else {
            return Err(Failure::new("no page is open"));
        };
        let cursor = cursor.unwrap_or(pages.first + last);
        let page = cursor.checked_sub(pages.first).and_then(|at| pages.pages.get(at));
        let page = page.ok_or_else(|| Failure::new(format!("no page has the cursor {cursor}")))?;
        Ok((cursor, page.clone()))
    }
}

fn output(view: String, source: String) -> Output {
    let output = Output::text(view);
    if source.is_empty() { output } else { output.source(source) }
}

fn text<'v>(arguments: &'v Value<'_>, name: &str) -> Result<&'v str, Failure> {
    let value = arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    value.ok_or_else(|| Failure::with_code(Code::CallSchema, format!("`{name}` must be a string")))
}

/// Reads an optional number. A negative number means that the argument is absent, as `-1` in the
/// declaration.
fn number(arguments: &Value<'_>, name: &str) -> Result<Option<usize>, Failure> {
    let Some(value) = arguments.get(name) else { return Ok(None) };
    let wrong = || Failure::with_code(Code::CallSchema, format!("`{name}` must be a number"));
    let number = value.as_spelling().filter(|_| value.as_str().is_none());
    let number: f64 = number.and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
    // `as` saturates.
    Ok((number >= 0.0).then_some(number as usize))
}
