//! Losses against an implementation of their formulas by loops over plain numbers, and laws that
//! hold for every objective.

#[cfg(test)]
mod axes;
#[cfg(test)]
mod batches;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod scalar;
#[cfg(test)]
mod settings;
