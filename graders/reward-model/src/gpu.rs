//! How networks compute on a GPU. None of these options has an effect on a CPU.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Options of networks on a GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Rows of a product with weights.
    pub product_rows: ProductRows,
    /// Kernel of attention.
    pub attention: AttentionKernel,
}

/// Number of rows in which products with weights are computed on a GPU.
///
/// The library chooses a kernel by the number of rows, and kernels add in different orders. With a
/// fixed number, a row has the same bits in any batch. The last rows of a batch are padded to this
/// number, so a batch costs up to this number of extra rows, less one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductRows(Option<NonZero<usize>>);

impl ProductRows {
    /// All rows of a batch at once: the library chooses a kernel by the batch, so the last bits of
    /// a score may depend on the batch.
    pub const OFF: Self = Self(None);

    /// Smallest and largest number of rows. Fewer rows leave most of a GPU idle, and more would
    /// exceed usual batches.
    const RANGE: std::ops::RangeInclusive<usize> = 64..=16_384;

    /// A number of rows: 0 for [`ProductRows::OFF`], or a power of two from 64 to 16,384.
    ///
    /// # Errors
    /// The number is not one of these.
    pub fn new(rows: usize) -> Result<Self, String> {
        let fixed = NonZero::new(rows);
        let is_valid = |rows: usize| rows.is_power_of_two() && Self::RANGE.contains(&rows);
        if fixed.is_none_or(|rows| is_valid(rows.get())) {
            Ok(Self(fixed))
        } else {
            Err(format!(
                "must be 0 or a power of two from 64 to 16384: {rows}"
            ))
        }
    }

    /// The number of rows, if it is fixed.
    #[must_use]
    pub fn get(self) -> Option<usize> {
        self.0.map(NonZero::get)
    }
}

impl Default for ProductRows {
    /// 1,024 rows: on one H200 about twice as fast as 256 with large batches, and nearly as fast as
    /// 4,096, with less padding of small ones.
    fn default() -> Self {
        Self(NonZero::new(1_024))
    }
}

impl FromStr for ProductRows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(
            text.parse()
                .map_err(|_| format!("not a number: `{text}`"))?,
        )
    }
}

impl fmt::Display for ProductRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get().unwrap_or_default())
    }
}

/// Kernel of attention on a GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttentionKernel {
    /// [`AttentionKernel::Flash`] if the binary contains it, else [`AttentionKernel::Tiles`].
    #[default]
    Auto,
    /// Basic tensor operations on tiles of 128 tokens.
    Tiles,
    /// FlashAttention for the types and head dimensions that it is built for, tiles for others.
    Flash,
}

impl AttentionKernel {
    /// Names of all variants.
    pub const NAMES: [&str; 3] = ["auto", "tiles", "flash"];

    /// Whether FlashAttention is used for the types and head dimensions that it is built for.
    /// `is_built` tells whether the binary contains it.
    pub(crate) fn may_use_flash(self, is_built: bool) -> bool {
        match self {
            Self::Auto => is_built,
            Self::Tiles => false,
            Self::Flash => true,
        }
    }
}

impl FromStr for AttentionKernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "tiles" => Ok(Self::Tiles),
            "flash" => Ok(Self::Flash),
            other => Err(format!(
                "unknown kernel `{other}`: use `{}`",
                Self::NAMES.join("`, `")
            )),
        }
    }
}

impl fmt::Display for AttentionKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Tiles => "tiles",
            Self::Flash => "flash",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_rows_are_powers_of_two_or_off() {
        assert_eq!(ProductRows::default().get(), Some(1_024));
        assert_eq!("0".parse(), Ok(ProductRows::OFF));
        for rows in [64, 256, 1_024, 4_096, 16_384] {
            let parsed: ProductRows = rows.to_string().parse().unwrap();
            assert_eq!(parsed.get(), Some(rows));
            assert_eq!(parsed.to_string(), rows.to_string());
        }
        for invalid in ["1", "32", "100", "32768", "-1", "many", ""] {
            assert!(invalid.parse::<ProductRows>().is_err(), "{invalid}");
        }
    }

    #[test]
    fn flash_attention_is_the_default_of_binaries_that_contain_it() {
        use AttentionKernel::{Auto, Flash, Tiles};
        let used = |is_built| [Auto, Tiles, Flash].map(|kernel| kernel.may_use_flash(is_built));
        assert_eq!(used(true), [true, false, true]);
        assert_eq!(used(false), [false, false, true]);
    }

    #[test]
    fn parses_the_names_of_kernels() {
        for name in AttentionKernel::NAMES {
            let parsed: AttentionKernel = name.parse().unwrap();
            assert_eq!(parsed.to_string(), name);
            assert_eq!(serde_json::json!(parsed), serde_json::json!(name));
        }
        assert!("fused".parse::<AttentionKernel>().is_err());
    }
}
