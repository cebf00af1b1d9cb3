//! The grader with judges that are slow, broken, limited, down, or wrong about their format.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod faults;
mod fixtures;
mod injections;
mod load;
mod replies;
mod servers;
