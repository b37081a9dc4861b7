//! The addresses that a browser may open.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The hosts that may be opened, and those of them that may have private addresses.
#[derive(Clone, Debug)]
pub(super) struct HostPolicy {
    pub(super) hosts: Vec<String>,
    pub(super) private: Arc<Vec<String>>,
}

/// The reason why a URL is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusedUrl {
    NotAUrl,
    Scheme,
    Login,
    Host,
    Private,
}

impl fmt::Display for RefusedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAUrl => "not a valid URL",
            Self::Scheme => "only `http` and `https` are allowed",
            Self::Login => "a URL with a user name is not allowed",
            Self::Host => "this host is not allowed",
            Self::Private => "this host has a private address",
        })
    }
}

impl std::error::Error for RefusedUrl {}

impl HostPolicy {
    /// Checks a URL before the request. The addresses of a host name are checked later, by
    /// [`GuardedResolver`].
    pub(super) fn check(&self, url: &Url) -> Result<(), RefusedUrl> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(RefusedUrl::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RefusedUrl::Login);
        }
        let host = url.host_str().ok_or(RefusedUrl::NotAUrl)?.trim_end_matches('.');
        let with_port = url.port().map(|port| format!("{host}:{port}"));
        if !matches(&self.hosts, with_port.as_deref().unwrap_or(host)) {
            return Err(RefusedUrl::Host);
        }
        // An IP address is not resolved, so it is checked here.
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) if !is_public(address) && !matches(&self.private, host) => {
                Err(RefusedUrl::Private)
            }
            _ => Ok(()),
        }
    }
}

/// Whether one of the patterns matches the host: the same host, `*.` and the domain, or `*`. A host
/// with a port other than that of its scheme matches only with the port.
fn matches(patterns: &[String], host: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_prefix('*') {
        Some("") => true,
        Some(end) => {
            end.starts_with('.') && host.len() > end.len() && {
                let at = host.len() - end.len();
                host.is_char_boundary(at) && host[at..].eq_ignore_ascii_case(end)
            }
        }
        None => pattern.eq_ignore_ascii_case(host),
    })
}

/// Resolves host names and rejects private addresses. The connection uses the addresses that were
/// checked.
pub(super) struct GuardedResolver {
    pub(super) private: Arc<Vec<String>>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.private.clone();
        Box::pin(async move {
            let host = name.as_str().trim_end_matches('.');
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let may_be_private = matches(&private, host);
            let addresses: Vec<SocketAddr> = found.collect();
            // One private address rejects the name: no legitimate host has both kinds.
            if !may_be_private && addresses.iter().any(|address| !is_public(address.ip())) {
                return Err(RefusedUrl::Private.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Whether an address belongs to the public network (IANA special-purpose registries).
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    const SPECIAL: [([u8; 4], u32); 15] = [
        ([0, 0, 0, 0], 8),
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 0, 0, 0], 24),
        ([192, 0, 2, 0], 24),
        ([192, 88, 99, 0], 24),
        ([192, 168, 0, 0], 16),
        ([198, 18, 0, 0], 15),
        ([198, 51, 100, 0], 24),
        ([203, 0, 113, 0], 24),
        // Multicast and reserved addresses.
        ([224, 0, 0, 0], 4),
        ([240, 0, 0, 0], 4),
    ];
    let bits = u32::from(address);
    let is_in = |(net, length): &([u8; 4], u32)| {
        (bits ^ u32::from_be_bytes(*net)).checked_shr(32 - length) == Some(0)
    };
    !SPECIAL.iter().any(is_in)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, ..] = address.segments();
    let octets = address.octets();
    let v4 = |at: usize| {
        is_public_v4(Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]))
    };
    match (a, b) {
        // IPv4 addresses inside IPv6: mapped, compatible and translated (NAT64).
        (0, _) => octets[..10] == [0; 10] && octets[10..12] == [0xff; 2] && v4(12),
        (0x64, 0xff9b) => octets[4..12] == [0; 8] && v4(12),
        (0x2002, _) => v4(2),
        // IETF protocols such as Teredo, and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => false,
        (0x3fff, 0..=0xfff) => false,
        // An ISATAP identifier may contain a private address, but stays within its site.
        _ => (0x2000..=0x3fff).contains(&a) && (a, b, c) != (0x2620, 0x4f, 0x8000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_spelling() {
        let private = "
            0.0.0.0 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.168.0.1 198.18.0.1
            198.19.255.255 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: ::1
            ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1
            64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 2002:7f00:1:: 2002:a00:1::1
            2001::1 2001:db8::1 3fff::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1 100::1
            5f00::1 4000::1
        ";
        for address in private.split_whitespace() {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        let public = "
            1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0
            126.255.255.255 128.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255
            192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111
            2a00:1450::1 2001:4860::8888 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1
        ";
        for address in public.split_whitespace() {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn only_listed_hosts_match() {
        let list = |hosts: &[&str]| hosts.iter().map(|host| host.to_string()).collect::<Vec<_>>();
        let guard = HostPolicy {
            hosts: list(&[
                "docs.example",
                "*.wiki.example",
                "odd.example:8080",
                "127.0.0.1",
                "[::1]",
            ]),
            private: Arc::new(list(&["[::1]"])),
        };
        let check = |url: &str| guard.check(&Url::parse(url).unwrap());
        for url in [
            "http://docs.example/a",
            "https://DOCS.example.",
            "https://docs.example:443",
            "http://a.wiki.example",
            "http://a.b.wiki.example",
            "http://odd.example:8080",
            "http://[::1]/",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for url in [
            "http://example",
            "http://adocs.example",
            "http://docs.example.evil.example",
            "http://wiki.example",
            "http://xwiki.example",
            "http://docs.example:22",
            "http://odd.example",
            "http://a.wiki.example:81",
            "http://[::2]",
        ] {
            assert_eq!(check(url), Err(RefusedUrl::Host), "{url}");
        }
        assert_eq!(check("http://docs.example@127.0.0.1/"), Err(RefusedUrl::Login));
        assert_eq!(check("ftp://docs.example"), Err(RefusedUrl::Scheme));
        assert_eq!(check("file:///etc/passwd"), Err(RefusedUrl::Scheme));
        // All spellings of a loopback or private address.
        for url in [
            "http://127.0.0.1",
            "http://127.1",
            "http://2130706433",
            "http://0x7f.0.0.1",
            "http://0177.0.0.1",
        ] {
            assert_eq!(check(url), Err(RefusedUrl::Private), "{url}");
        }
        let any = HostPolicy { hosts: list(&["*"]), private: Arc::default() };
        for url in [
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/",
            "http://[fe80::1]",
        ] {
            assert_eq!(any.check(&Url::parse(url).unwrap()), Err(RefusedUrl::Private), "{url}");
        }
    }
}
