//! What the record promises, stated over the traits `Recorder` and `Reader`: another database joins by opening in `world`.

mod claims;
mod faults;
mod model;
mod reads;
mod recovery;
mod world;
