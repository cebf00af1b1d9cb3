//! The fuzz targets: a function over bytes for each parser of untrusted input. libFuzzer calls it (`fuzz/`), and the
//! test suite calls it with every seed, every regression case and mutations of them. This crate contains neither
//! mutators nor a corpus.
//!
//! A target panics if a property does not hold. Each module describes its input.

#[cfg(feature = "chat-template")]
pub mod chat_template;
#[cfg(feature = "configuration")]
pub mod configuration;
#[cfg(feature = "math")]
pub mod math;
#[cfg(feature = "policy")]
pub mod policy;
#[cfg(feature = "request")]
pub mod request;
#[cfg(feature = "row-template")]
pub mod row_template;
#[cfg(feature = "rows")]
pub mod rows;
#[cfg(feature = "spool")]
pub mod spool;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its libFuzzer binary and of the folders of its seeds and cases.
    pub name: &'static str,
    /// Runs the target on bytes; panics if a property does not hold.
    pub run: fn(&[u8]),
}

/// All targets of the enabled features.
pub const TARGETS: &[Target] = &[
    #[cfg(feature = "chat-template")]
    Target { name: "chat_template", run: chat_template::run },
    #[cfg(feature = "configuration")]
    Target { name: "configuration", run: configuration::run },
    #[cfg(feature = "math")]
    Target { name: "math_decide", run: math::decide },
    #[cfg(feature = "math")]
    Target { name: "math_read", run: math::read },
    #[cfg(feature = "rows")]
    Target { name: "parquet", run: rows::parquet },
    #[cfg(feature = "policy")]
    Target { name: "policy", run: policy::run },
    #[cfg(feature = "request")]
    Target { name: "request", run: request::run },
    #[cfg(feature = "row-template")]
    Target { name: "row_template", run: row_template::run },
    #[cfg(feature = "rows")]
    Target { name: "rows", run: rows::text },
    #[cfg(feature = "spool")]
    Target { name: "spool", run: spool::run },
];
