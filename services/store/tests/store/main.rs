//! What the record promises, stated over the traits `Recorder` and `Reader`: another database joins by opening in `world`.

mod reads;
mod world;
