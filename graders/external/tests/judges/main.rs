//! The grader with judges that are slow, broken, limited, down, or wrong about their format.

mod faults;
mod fixtures;
mod injections;
mod load;
mod replies;
