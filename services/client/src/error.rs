//! Why a request failed.

use assay_wire::Problem;
use reqwest::Url;

/// A request failed, after retries if they are safe.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base address is not a valid URL.
    #[error("invalid server URL `{url}`: {reason}; write it as `http://127.0.0.1:8080`")]
    BadUrl {
        /// The given address.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// A name has no place in the path of a URL: `.` and `..` mean folders, even when escaped, and
    /// URLs lose control characters.
    #[error(
        "the name `{}` cannot be part of a URL; names of a record are neither `.` nor `..` and have \
         no control characters",
        .0.escape_debug()
    )]
    BadName(String),
    /// The key cannot be sent.
    #[error("malformed key; it has characters that a header cannot contain")]
    BadKey,
    /// The server cannot be reached, or the connection failed.
    #[error("the request to `{url}` failed")]
    Transport {
        /// URL of the request.
        url: Url,
        /// The cause.
        #[source]
        error: reqwest::Error,
    },
    /// The certificate of the server is not valid, or not known.
    #[error(
        "the certificate of `{url}` is not trusted: {reason}; put it, or that of its authority, \
         into the PEM file that the variable `SSL_CERT_FILE` names"
    )]
    Untrusted {
        /// URL of the request.
        url: Url,
        /// What is wrong with it.
        reason: String,
    },
    /// The server returned an error.
    #[error("{problem}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The error body.
        problem: Problem,
    },
    /// The response does not follow the protocol.
    #[error(
        "{url} returned {status} with an unexpected body: {reason}; check that the URL is that of \
         an Assay server"
    )]
    Unexpected {
        /// URL of the request.
        url: Url,
        /// HTTP status.
        status: u16,
        /// Why the body cannot be parsed.
        reason: String,
    },
}
