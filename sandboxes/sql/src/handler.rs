//! Answers requests about databases: build, describe, run.

use assay_worker::Handler;
use assay_worker::query::{End, Image, Ran, Reply, Request, Run};
use serde_bytes::ByteBuf;

use crate::build::build;
use crate::connection::Opened;
use crate::describe::describe;
use crate::functions::Originals;
use crate::run::run;

/// Bytes of open images in the cache.
const KEPT: usize = 256 << 20;

/// Runs queries on images, and caches images up to a limit.
pub struct Databases {
    originals: Originals,
    /// The most recently used is last.
    opened: Vec<([u8; 32], Opened)>,
}

impl Databases {
    /// A handler without open images.
    ///
    /// # Errors
    /// If SQLite does not work in this process.
    pub fn new() -> Result<Self, impl std::error::Error> {
        Originals::open().map(|originals| Self {
            originals,
            opened: Vec::new(),
        })
    }

    /// Answers one request.
    #[must_use]
    pub fn reply(&mut self, request: &Request) -> Reply {
        match request {
            Request::Build(wanted) => Reply::Built(build(wanted).map(ByteBuf::from)),
            Request::Describe(image) => match &image.bytes {
                Some(bytes) => describe(bytes).map_or_else(Reply::Unable, Reply::Described),
                None => Reply::Missing,
            },
            Request::Run(wanted) => self.run(wanted),
        }
    }

    fn run(&mut self, wanted: &Run) -> Reply {
        let mut all: Vec<Vec<Ran>> = Vec::with_capacity(wanted.statements.len());
        let mut bytes_left = wanted.reply_bytes;
        for sql in &wanted.statements {
            let mut runs = Vec::with_capacity(wanted.on.len());
            for (image, steps) in &wanted.on {
                let ran = match self.open(image) {
                    Ok(Some(opened)) => run(opened, sql, *steps, wanted.limits, wanted.reverse),
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

    /// An open image; `None` if it is not cached.
    ///
    /// # Errors
    /// If it is not a valid image.
    fn open(&mut self, image: &Image) -> Result<Option<&Opened>, String> {
        let at = self
            .opened
            .iter()
            .rposition(|(hash, _)| *hash == image.hash);
        let entry = match (at, &image.bytes) {
            (Some(at), _) => self.opened.remove(at),
            (None, Some(bytes)) => {
                let opened = Opened::open(bytes, &self.originals)?;
                let mut kept: usize = self.opened.iter().map(|(_, opened)| opened.bytes).sum();
                while kept + opened.bytes > KEPT && !self.opened.is_empty() {
                    kept -= self.opened.remove(0).1.bytes;
                }
                (image.hash, opened)
            }
            (None, None) => return Ok(None),
        };
        self.opened.push(entry);
        Ok(self.opened.last().map(|(_, opened)| opened))
    }
}

impl Handler for Databases {
    type Request = Request;

    fn answer(&mut self, request: Request) -> Reply {
        self.reply(&request)
    }
}
