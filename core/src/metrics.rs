//! Declarations of metrics.

/// Declares the metrics of a crate, which must depend on `metrics`: a constant with the name of
/// each, `NAMES` with all of them, and `describe_all`, which describes them to the installed
/// recorder. A row is a kind, a constant, a name, and optionally a unit and a description:
/// `histogram SYNC_SECONDS = "assay_store_sync_seconds" [Seconds] "Time of one sync.";`
#[macro_export]
macro_rules! declare_metrics {
    (@describe counter, $($row:tt)*) => { ::metrics::describe_counter!($($row)*) };
    (@describe gauge, $($row:tt)*) => { ::metrics::describe_gauge!($($row)*) };
    (@describe histogram, $($row:tt)*) => { ::metrics::describe_histogram!($($row)*) };
    ($(
        $kind:ident $metric:ident = $name:literal $($([$unit:ident])? $description:literal)?;
    )*) => {
        $(pub(crate) const $metric: &str = $name;)*

        /// Names of all metrics of this crate.
        pub const NAMES: &[&str] = &[$($metric),*];

        pub(crate) fn describe_all() {
            $($($crate::declare_metrics!(
                @describe $kind, $metric, $(::metrics::Unit::$unit,)? $description
            );)?)*
        }
    };
}
