//! The time of the server: those of nodes may differ.

/// The time of the server in microseconds since the Unix epoch.
macro_rules! now_us {
    () => {
        "cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)"
    };
}

pub(super) use now_us;
