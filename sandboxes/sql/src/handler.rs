//! Answers requests about databases: build, describe, run.

use assay_worker::Handler;
use assay_worker::query::{End, Image, Ran, Reply, Request, Run};
use serde_bytes::ByteBuf;

use crate::build::build;
use crate::connection::OpenImage;
use crate::describe::describe;
use crate::functions::Originals;
use crate::run::run;

/// Maximum bytes of open images in the cache.
const CACHE_BYTES: usize = 256 << 20;

/// Handles requests about databases, and caches open images.
pub struct Databases {
    originals: Originals,
    /// The open images by hash, the most recently used last.
    open_images: Vec<([u8; 32], OpenImage)>,
}

impl Databases {
    /// Creates a handler without open images.
    ///
    /// # Errors
    /// If SQLite cannot be used in this process.
    pub fn new() -> Result<Self, impl std::error::Error> {
        Originals::open().map(|originals| Self {
            originals,
            open_images: Vec::new(),
        })
    }

    /// Answers one request.
    #[must_use]
    pub fn reply(&mut self, request: &Request) -> Reply {
        match request {
            Request::Build(request) => Reply::Built(build(request).map(ByteBuf::from)),
            Request::Describe(image) => match &image.bytes {
                Some(bytes) => describe(bytes).map_or_else(Reply::Unable, Reply::Described),
                None => Reply::Missing,
            },
            Request::Run(request) => self.run(request),
        }
    }

    fn run(&mut self, request: &Run) -> Reply {
        let mut all: Vec<Vec<Ran>> = Vec::with_capacity(request.statements.len());
        let mut bytes_left = request.reply_bytes;
        for sql in &request.statements {
            let mut runs = Vec::with_capacity(request.on.len());
            for (image, steps) in &request.on {
                let ran = match self.open(image) {
                    Ok(Some(image)) => run(image, sql, *steps, request.limits, request.reverse),
                    Ok(None) => return Reply::Missing,
                    Err(message) => return Reply::Unable(message),
                };
                let bytes = ran.bytes();
                if bytes > bytes_left {
                    if all.is_empty() && runs.is_empty() {
                        return Reply::TooLarge { bytes };
                    }
                    if !runs.is_empty() {
                        all.push(runs);
                    }
                    return Reply::Ran(all);
                }
                bytes_left -= bytes;
                let ended = ran.end != End::Rows;
                runs.push(ran);
                if ended {
                    break;
                }
            }
            all.push(runs);
        }
        Reply::Ran(all)
    }

    /// Opens an image or returns it from the cache; `None` if it is not cached and the request does
    /// not contain its bytes.
    ///
    /// # Errors
    /// If the image is invalid.
    fn open(&mut self, image: &Image) -> Result<Option<&OpenImage>, String> {
        let at = self
            .open_images
            .iter()
            .rposition(|(hash, _)| *hash == image.hash);
        let entry = match (at, &image.bytes) {
            (Some(at), _) => self.open_images.remove(at),
            (None, Some(bytes)) => {
                let opened = OpenImage::open(bytes, &self.originals)?;
                let mut cached_bytes: usize = self
                    .open_images
                    .iter()
                    .map(|(_, opened)| opened.bytes)
                    .sum();
                while cached_bytes + opened.bytes > CACHE_BYTES && !self.open_images.is_empty() {
                    cached_bytes -= self.open_images.remove(0).1.bytes;
                }
                (image.hash, opened)
            }
            (None, None) => return Ok(None),
        };
        self.open_images.push(entry);
        Ok(self.open_images.last().map(|(_, opened)| opened))
    }
}

impl Handler for Databases {
    type Request = Request;

    fn answer(&mut self, request: Request) -> Reply {
        self.reply(&request)
    }
}
