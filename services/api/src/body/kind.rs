//! How large a body may be, by what its route takes. Every route that reads a body names its kind.

use assay_engine::Admission;

use crate::state::ApiLimits;

const MIB: usize = 1 << 20;

/// What a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Items, inputs, pairs or findings, as many as the settings allow.
    Batch,
    /// A program with what it reads, or a list of names.
    Document,
    /// One object of settings: a policy, a calibration, what to load, what an operator found.
    Settings,
}

/// What a body may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Bytes after unpacking.
    pub(super) bytes: Bound,
    /// Bytes of memory once parsed.
    pub(super) parsed: Bound,
    /// Bytes of memory as sent and as parsed together.
    pub(super) held: Bound,
}

/// A number and what sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) most: usize,
    /// The setting; `None` where the route has its own.
    pub(super) setting: Option<&'static str>,
}

impl BodyKind {
    /// Bytes and memory that a body of this kind may have at most, whatever the settings are; `None` where they alone decide.
    const fn own(self) -> Option<(usize, usize)> {
        match self {
            Self::Batch => None,
            Self::Document => Some((16 * MIB, 128 * MIB)),
            Self::Settings => Some((MIB, 16 * MIB)),
        }
    }

    pub(super) fn bounds(self, limits: &ApiLimits, admission: &Admission) -> Bounds {
        let (bytes, parsed) = self.own().unzip();
        Bounds {
            bytes: Bound::of("server.body_bytes", limits.body_bytes, bytes),
            parsed: Bound::of("server.parsed_bytes", limits.parsed_bytes, parsed),
            held: Bound::of("engine.body_bytes_in_flight", admission.most_body_bytes(), None),
        }
    }
}

impl Bound {
    fn of(setting: &'static str, set: usize, own: Option<usize>) -> Self {
        match own {
            Some(own) if own < set => Self { most: own, setting: None },
            _ => Self { most: set, setting: Some(setting) },
        }
    }

    /// What to do beside sending less.
    pub(super) fn remedy(&self) -> String {
        match self.setting {
            Some(setting) => format!(", or raise `{setting}`"),
            None => " to this route".to_owned(),
        }
    }
}
