//! What only SQLite has: files, which are copied, moved and damaged, databases of earlier releases,
//! and the index of texts.

mod backups;
mod earlier;
mod files;
mod searching;
