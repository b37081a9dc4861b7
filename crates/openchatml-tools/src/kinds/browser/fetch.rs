//! Fetches pages that the host policy allows.

use std::sync::Arc;

use openchatml::Code;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::host_policy::{GuardedResolver, HostPolicy, RefusedUrl};
use super::page::Page;
use crate::Failure;
use crate::kinds::http::{body, without_url};

/// The maximum number of redirects.
const HOPS: usize = 5;

/// A client that fetches pages.
pub(super) struct Fetcher {
    client: Client,
    guard: HostPolicy,
    limit: usize,
}

impl Fetcher {
    pub(super) fn new(guard: HostPolicy, limit: usize) -> Result<Self, reqwest::Error> {
        let resolver = GuardedResolver { private: guard.private.clone() };
        // No proxy: it would resolve names without the check of their addresses.
        let client = crate::client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(resolver))
            .build()?;
        Ok(Self { client, guard, limit })
    }

    /// Fetches a page. Each redirect is checked like the first URL.
    pub(super) async fn fetch(&self, url: &str, view_source: bool) -> Result<Page, Failure> {
        let mut url = Url::parse(url).map_err(|_| refusal(RefusedUrl::NotAUrl))?;
        for _ in 0..=HOPS {
            self.guard.check(&url).map_err(refusal)?;
            url.set_fragment(None);
            let response = self.client.get(url.clone()).send().await;
            let mut response = response.map_err(|error| failure(&error))?;
            let status = response.status();
            if status.is_redirection()
                && let Some(to) = response.headers().get(LOCATION)
            {
                let to = to.to_str().ok().and_then(|to| url.join(to).ok());
                url = to.ok_or_else(|| refusal(RefusedUrl::NotAUrl))?;
                continue;
            }
            if !status.is_success() {
                let mut failure = Failure::new(format!("the server answered {status}"));
                failure.is_retryable = matches!(status.as_u16(), 429 | 502 | 503 | 504);
                return Err(failure);
            }
            let kind = response.headers().get(CONTENT_TYPE);
            let kind = kind.map_or("text/html", |kind| kind.to_str().unwrap_or("?"));
            let kind = kind.split(';').next().unwrap_or_default().trim().to_lowercase();
            let is_html = matches!(&*kind, "text/html" | "application/xhtml+xml");
            let is_text = kind.starts_with("text/")
                || ["json", "xml", "yaml"].iter().any(|end| kind.ends_with(end));
            if !is_html && !is_text {
                let message = format!("the page is `{}`, which is not text", kind.escape_debug());
                return Err(Failure::with_code(Code::ToolOutput, message));
            }
            let bytes = body(&mut response, self.limit).await?;
            return Ok(page(url.as_str(), &bytes, is_html && !view_source));
        }
        Err(Failure::new("too many redirects"))
    }
}

/// Creates a page from these bytes. Invalid UTF-8 is replaced.
fn page(url: &str, bytes: &[u8], is_html: bool) -> Page {
    let text = String::from_utf8_lossy(bytes);
    if is_html { Page::html(url, &text) } else { Page::text(url, &text) }
}

fn refusal(refused: RefusedUrl) -> Failure {
    Failure::new(refused.to_string())
}

/// Returns the failure of a request for the model. The host policy may have rejected the request.
fn failure(error: &reqwest::Error) -> Failure {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(refused) = error.downcast_ref::<RefusedUrl>() {
            return refusal(*refused);
        }
        source = error.source();
    }
    without_url(error)
}
