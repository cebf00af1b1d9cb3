//! Answers requests about databases: build, describe, run.

use assay_worker::Handler;
use assay_worker::query::{End, Image, Ran, ReadOrder, Reply, Request, Run};
use serde_bytes::ByteBuf;

use crate::build::build;
use crate::connection::OpenImage;
use crate::describe::describe;
use crate::functions::Originals;
use crate::reversed::reversed;
use crate::run::run;
use crate::session;

/// Maximum bytes of open images in the cache.
const CACHE_BYTES: usize = 256 << 20;

/// The hash of an image, and whether it is open as a copy with reversed rows.
type Key = ([u8; 32], bool);

/// Handles requests about databases, and caches open images.
pub struct Databases {
    originals: Originals,
    /// The open images, the most recently used last.
    open_images: Vec<(Key, OpenImage)>,
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
            Request::Call(request) => {
                session::call(request, &self.originals).map_or_else(Reply::Unable, Reply::Called)
            }
        }
    }

    fn run(&mut self, request: &Run) -> Reply {
        let mut all: Vec<Vec<Ran>> = Vec::with_capacity(request.statements.len());
        let mut bytes_left = request.reply_bytes;
        for sql in &request.statements {
            let mut runs = Vec::with_capacity(request.on.len());
            for (image, steps) in &request.on {
                let ran = match self.run_one(request, sql, (image, *steps)) {
                    Ok(Some(ran)) => ran,
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

    /// Runs a statement on an image; `None` if [`Self::open`] needs the bytes of the image.
    ///
    /// # Errors
    /// If the image is invalid.
    fn run_one(
        &mut self,
        request: &Run,
        sql: &str,
        (image, steps): (&Image, u64),
    ) -> Result<Option<Ran>, String> {
        let Run { limits, order, .. } = request;
        let has_reversed_rows = *order == ReadOrder::ReversedRows;
        let Some(opened) = self.open(image, has_reversed_rows)? else {
            return Ok(None);
        };
        let ran = run(opened, sql, steps, *limits, *order);
        // Row ids of the copy belong to other rows.
        if !has_reversed_rows || !opened.authorizer_log.reads_row_ids() {
            return Ok(Some(ran));
        }
        let opened = self.open(image, false)?;
        Ok(opened.map(|opened| run(opened, sql, steps, *limits, ReadOrder::ReverseScans)))
    }

    /// Opens an image or returns it from the cache; `None` if it is not cached and the request does
    /// not contain its bytes.
    ///
    /// # Errors
    /// If the image is invalid.
    fn open(
        &mut self,
        image: &Image,
        has_reversed_rows: bool,
    ) -> Result<Option<&OpenImage>, String> {
        let key = (image.hash, has_reversed_rows);
        let at = self
            .open_images
            .iter()
            .rposition(|(other, _)| *other == key);
        let entry = match (at, &image.bytes) {
            (Some(at), _) => self.open_images.remove(at),
            (None, Some(bytes)) => {
                let copy = has_reversed_rows.then(|| reversed(bytes)).flatten();
                let bytes = copy.as_deref().unwrap_or(bytes.as_slice());
                let opened = OpenImage {
                    is_reversed_copy: copy.is_some(),
                    ..OpenImage::open(bytes, &self.originals)?
                };
                let mut cached_bytes: usize = self
                    .open_images
                    .iter()
                    .map(|(_, opened)| opened.bytes)
                    .sum();
                while cached_bytes + opened.bytes > CACHE_BYTES && !self.open_images.is_empty() {
                    cached_bytes -= self.open_images.remove(0).1.bytes;
                }
                (key, opened)
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
