//! The kinds of tools. Each requires a feature of this crate.

#[cfg(feature = "browser")]
pub mod browser;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(all(unix, feature = "process"))]
pub mod process;
#[cfg(all(unix, feature = "python"))]
pub mod python;
