//! Search with an HTTP endpoint or in a folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use openchatml::{Code, Limits, Value};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::page::{Link, Page, escape_link_brackets};
use crate::Failure;
use crate::kinds::http::{body, without_url};

/// A search result.
pub(super) struct SearchHit {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

/// Creates a page with links to the search results.
pub(super) fn page(query: &str, hits: &[SearchHit]) -> Page {
    let mut page = Page {
        title: format!("Results for `{}`", escape_link_brackets(query).escape_debug()),
        url: String::new(),
        lines: Vec::new(),
        links: Vec::new(),
    };
    for hit in hits {
        let host = Url::parse(&hit.url).ok().and_then(|url| Some(url.host_str()?.to_owned()));
        let title =
            escape_link_brackets(&hit.title).split_whitespace().collect::<Vec<_>>().join(" ");
        let host = host.map_or_else(String::new, |host| format!("†{host}"));
        page.lines.push(format!("【{}†{title}{host}】", page.links.len()));
        let snippet = escape_link_brackets(&hit.snippet);
        let end = snippet.floor_char_boundary(500);
        page.lines.extend(snippet[..end].lines().map(str::to_owned));
        page.lines.push(String::new());
        page.links.push(Link::Url(hit.url.clone()));
    }
    if hits.is_empty() {
        page.lines.push("Nothing is found.".into());
    }
    page
}

/// A search endpoint that returns JSON.
pub(super) struct Endpoint {
    client: Client,
    url: String,
    headers: HeaderMap,
    limit: usize,
}

impl Endpoint {
    pub(super) fn new(
        url: &str,
        headers: &[(String, String)],
        limit: usize,
    ) -> Result<Self, String> {
        let filled = url.replace("{query}", "q").replace("{topn}", "1");
        match Url::parse(&filled) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => {}
            _ => return Err("the search URL must use `http` or `https`".into()),
        }
        if !url.contains("{query}") {
            return Err("the search URL must contain `{query}`".into());
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let wrong = || format!("invalid header `{}`", name.escape_debug());
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            map.append(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
        }
        let client = crate::client::builder().redirect(Policy::none()).build();
        let client = client.map_err(|_| "cannot create an HTTP client")?;
        Ok(Self { client, url: url.to_owned(), headers: map, limit })
    }

    pub(super) async fn search(
        &self,
        query: &str,
        count: usize,
    ) -> Result<Vec<SearchHit>, Failure> {
        let encoded = utf8_percent_encode(query, NON_ALPHANUMERIC).to_string();
        let url = self.url.replace("{topn}", &count.to_string()).replace("{query}", &encoded);
        let request = self.client.get(url).headers(self.headers.clone());
        let mut response = request.send().await.map_err(|error| without_url(&error))?;
        let status = response.status();
        if !status.is_success() {
            let mut failure = Failure::new(format!("the search answered {status}"));
            failure.is_retryable = matches!(status.as_u16(), 429 | 502 | 503 | 504);
            return Err(failure);
        }
        let unusable =
            || Failure::with_code(Code::ToolOutput, "the search returned no list of results");
        let bytes = body(&mut response, self.limit).await?;
        let text = String::from_utf8(bytes).map_err(|_| unusable())?;
        let answer = Value::from_json(&text, &Limits::default()).map_err(|_| unusable())?;
        let results = answer.get("results").unwrap_or(&answer).as_list().ok_or_else(unusable)?;
        let hit = |result: &Value<'_>| {
            let text = |key| result.get(key).and_then(Value::as_str);
            let url = text("url")?.to_owned();
            let snippet = text("snippet").or(text("content")).unwrap_or_default().to_owned();
            Some(SearchHit { title: text("title").unwrap_or(&url).to_owned(), url, snippet })
        };
        Ok(results.iter().filter_map(hit).take(count).collect())
    }
}

/// An index of the files of a folder. The files are read once.
pub(super) struct Index {
    pages: Vec<Page>,
    /// The pages that contain each word, and how often.
    words: HashMap<String, Vec<(usize, u32)>>,
}

/// The scheme of the URLs of files in the folder.
pub(super) const SCHEME: &str = "index:";

/// The maximum number of files.
const FILES: usize = 100_000;

impl Index {
    /// Reads the text, Markdown and HTML files of a folder. Larger files than `limit` and symbolic
    /// links are ignored.
    pub(super) fn read(folder: &Path, limit: usize) -> std::io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() && files.len() < FILES {
                    files.push(entry.path());
                }
            }
        }
        files.sort();
        let mut index = Self { pages: Vec::new(), words: HashMap::new() };
        for path in files {
            index.add(folder, &path, limit)?;
        }
        Ok(index)
    }

    fn add(&mut self, folder: &Path, path: &PathBuf, limit: usize) -> std::io::Result<()> {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let is_html = matches!(extension, "html" | "htm");
        if !is_html && !matches!(extension, "md" | "txt") {
            return Ok(());
        }
        if std::fs::metadata(path)?.len() > limit as u64 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
        let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
        let url = format!("{SCHEME}{}", name.replace('\\', "/"));
        let page = if is_html { Page::html(&url, &text) } else { Page::text(&url, &text) };
        let at = self.pages.len();
        let mut counts: HashMap<String, u32> = HashMap::new();
        // Words of the title count twice.
        for line in page.lines.iter().chain([&page.title]) {
            for word in words(line) {
                *counts.entry(word).or_default() += 1;
            }
        }
        for (word, count) in counts {
            self.words.entry(word).or_default().push((at, count));
        }
        self.pages.push(page);
        Ok(())
    }

    /// Finds the pages with words of the query. Pages with rare words and with many occurrences
    /// come first.
    pub(super) fn search(&self, query: &str, count: usize) -> Vec<SearchHit> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        let mut wanted: Vec<_> = words(query).collect();
        wanted.sort();
        wanted.dedup();
        for word in &wanted {
            let places = self.words.get(word).map(Vec::as_slice).unwrap_or_default();
            let rarity = (1.0 + self.pages.len() as f64 / (1.0 + places.len() as f64)).ln();
            for (page, count) in places {
                let count = f64::from(*count);
                *scores.entry(*page).or_default() += rarity * count / (count + 1.0);
            }
        }
        let mut ranked: Vec<_> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let hit = |(at, _): (usize, f64)| {
            let page = &self.pages[at];
            let line = page.lines.iter().find(|line| words(line).any(|it| wanted.contains(&it)));
            SearchHit {
                title: page.title.clone(),
                url: page.url.clone(),
                snippet: line.cloned().unwrap_or_default(),
            }
        };
        ranked.into_iter().take(count).map(hit).collect()
    }

    /// Returns a page of the folder.
    pub(super) fn open(&self, url: &str) -> Option<&Page> {
        self.pages.iter().find(|page| page.url == url)
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|it: char| !it.is_alphanumeric());
    parts.filter(|part| !part.is_empty()).map(str::to_lowercase)
}
