//! The fuzz targets: a function over bytes for each parser of untrusted input. libFuzzer calls it
//! (`fuzz/`), and the test suite calls it with every seed, every regression case and mutations of
//! them. This crate contains neither mutators nor a corpus.
//!
//! A target panics if a property does not hold. Each module describes its input.

#[cfg(feature = "chat-template")]
pub mod chat_template;
#[cfg(feature = "configuration")]
pub mod configuration;
#[cfg(feature = "document")]
pub mod document;
#[cfg(feature = "extraction")]
pub mod extraction;
#[cfg(feature = "guest-message")]
pub mod frozen;
#[cfg(feature = "guest-message")]
pub mod guest_message;
#[cfg(feature = "instructions")]
pub mod instructions;
#[cfg(feature = "judge-reply")]
pub mod judge_reply;
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
#[cfg(feature = "sql")]
pub mod sql_text;
#[cfg(feature = "sql")]
pub mod sqlite;
#[cfg(feature = "tool-calls")]
pub mod tool_calls;
#[cfg(feature = "worker-frames")]
pub mod worker_frames;

/// A fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its libFuzzer binary and of the folders of its seeds and
    /// cases.
    pub name: &'static str,
    /// Runs the target on bytes; panics if a property does not hold.
    pub run: fn(&[u8]),
}

/// All targets of the enabled features.
pub const TARGETS: &[Target] = &[
    #[cfg(feature = "chat-template")]
    Target {
        name: "chat_template",
        run: chat_template::run,
    },
    #[cfg(feature = "configuration")]
    Target {
        name: "configuration",
        run: configuration::run,
    },
    #[cfg(feature = "document")]
    Target {
        name: "document",
        run: document::run,
    },
    #[cfg(feature = "extraction")]
    Target {
        name: "extraction",
        run: extraction::run,
    },
    #[cfg(feature = "guest-message")]
    Target {
        name: "frozen",
        run: frozen::run,
    },
    #[cfg(feature = "guest-message")]
    Target {
        name: "guest_message",
        run: guest_message::run,
    },
    #[cfg(feature = "instructions")]
    Target {
        name: "instructions",
        run: instructions::run,
    },
    #[cfg(feature = "judge-reply")]
    Target {
        name: "judge_reply",
        run: judge_reply::run,
    },
    #[cfg(feature = "math")]
    Target {
        name: "math_decide",
        run: math::decide,
    },
    #[cfg(feature = "math")]
    Target {
        name: "math_read",
        run: math::read,
    },
    #[cfg(feature = "rows")]
    Target {
        name: "parquet",
        run: rows::parquet,
    },
    #[cfg(feature = "policy")]
    Target {
        name: "policy",
        run: policy::run,
    },
    #[cfg(feature = "request")]
    Target {
        name: "request",
        run: request::run,
    },
    #[cfg(feature = "row-template")]
    Target {
        name: "row_template",
        run: row_template::run,
    },
    #[cfg(feature = "rows")]
    Target {
        name: "rows",
        run: rows::text,
    },
    #[cfg(feature = "spool")]
    Target {
        name: "spool",
        run: spool::run,
    },
    #[cfg(feature = "sql")]
    Target {
        name: "sql_image",
        run: sqlite::image,
    },
    #[cfg(feature = "sql")]
    Target {
        name: "sql_statement",
        run: sqlite::statement,
    },
    #[cfg(feature = "sql")]
    Target {
        name: "sql_text",
        run: sql_text::run,
    },
    #[cfg(feature = "tool-calls")]
    Target {
        name: "tool_calls",
        run: tool_calls::run,
    },
    #[cfg(feature = "worker-frames")]
    Target {
        name: "worker_frames",
        run: worker_frames::run,
    },
];
