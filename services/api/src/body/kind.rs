//! Limits on the size of a body, by the kind of route. Every route that reads a body declares its
//! kind.

use assay_engine::Admission;

use crate::state::ApiLimits;

const MIB: usize = 1 << 20;

/// What a route accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// Items, inputs, pairs or findings, limited by the settings only.
    Batch,
    /// A program with its input, or a list of names.
    Document,
    /// One object of settings: a policy, a calibration, a model to load, an adjudication.
    Settings,
}

/// The limits on a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Bytes after decompression.
    pub(super) bytes: Bound,
    /// Bytes of memory when parsed.
    pub(super) parsed: Bound,
    /// Bytes of memory in total, raw and parsed.
    pub(super) total: Bound,
}

/// A limit and the setting it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) max: usize,
    /// The setting; `None` for a limit of the route itself.
    pub(super) setting: Option<&'static str>,
}

impl BodyKind {
    /// Fixed limits of this kind on bytes and memory, which apply regardless of the settings;
    /// `None` if only the settings apply.
    const fn fixed(self) -> Option<(usize, usize)> {
        match self {
            Self::Batch => None,
            Self::Document => Some((16 * MIB, 128 * MIB)),
            Self::Settings => Some((MIB, 16 * MIB)),
        }
    }

    pub(super) fn bounds(self, limits: &ApiLimits, admission: &Admission) -> Bounds {
        let (bytes, parsed) = self.fixed().unzip();
        Bounds {
            bytes: Bound::lower_of("server.body_bytes", limits.body_bytes, bytes),
            parsed: Bound::lower_of("server.parsed_bytes", limits.parsed_bytes, parsed),
            total: Bound::lower_of(
                "engine.body_bytes_in_flight",
                admission.max_request_bytes(),
                None,
            ),
        }
    }
}

impl Bound {
    fn lower_of(setting: &'static str, configured: usize, fixed: Option<usize>) -> Self {
        match fixed {
            Some(fixed) if fixed < configured => Self {
                max: fixed,
                setting: None,
            },
            _ => Self {
                max: configured,
                setting: Some(setting),
            },
        }
    }

    /// End of the message: what to do other than sending less.
    pub(super) fn remedy(&self) -> String {
        match self.setting {
            Some(setting) => format!(", or raise `{setting}`"),
            None => " to this route".to_owned(),
        }
    }
}
