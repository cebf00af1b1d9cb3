//! Images and databases in workers.

mod databases;
mod images;
