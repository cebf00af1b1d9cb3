//! Compares losses with an implementation of their formulas by loops over plain numbers, and tests
//! properties of every objective.

#[cfg(test)]
mod advantages;
mod axes;
#[cfg(test)]
mod batches;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod scalar;
#[cfg(test)]
mod settings;
