//! The forward pass over a packed batch, stage by stage.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::batch::Packed;
use crate::chain::Chain;
use crate::decoder::{Attend, Decoder};
use crate::ops::{Heads, RotaryTable, Tape, attention, rows};

/// A batch and what its tokens attend to.
pub(crate) struct Pass {
    pub(crate) packed: Packed,
    pub(crate) rotary: RotaryTable,
    pub(crate) windows: Arc<[Option<usize>]>,
}

impl Pass {
    /// Hidden states of the rows `selected` after the last norm, `[selected, hidden]`.
    pub(crate) fn states(
        self,
        decoder: &Arc<Decoder>,
        selected: &Tensor,
        chain: &mut Chain,
    ) -> Result<Tensor> {
        let pass = Arc::new(self);
        let first = Arc::clone(decoder);
        let mut x = chain.run(
            &pass.packed.ids,
            decoder.embedding_learns(),
            Box::new(move |ids, tape| first.embed(ids, tape)),
        )?;
        for layer in 0..decoder.layers() {
            let (own, pass) = (Arc::clone(decoder), Arc::clone(&pass));
            x = chain.run(
                &x,
                decoder.layer_learns(layer),
                Box::new(move |x, tape| {
                    own.layer(layer, x, &pass.rotary, &mut Within(&pass), tape)
                }),
            )?;
        }
        let (last, selected) = (Arc::clone(decoder), selected.clone());
        chain.run(
            &x,
            decoder.norm_learns(),
            Box::new(move |x, tape| rows(&last.normed(x, tape)?, &selected, tape)),
        )
    }
}

/// Attention among the tokens of a batch.
struct Within<'a>(&'a Pass);

impl Attend for Within<'_> {
    fn attend(
        &mut self,
        layer: usize,
        qkv: [&Tensor; 3],
        heads: Heads,
        tape: &mut Tape,
    ) -> Result<Tensor> {
        let Pass {
            packed, windows, ..
        } = self.0;
        attention(qkv, heads, packed.span(windows[layer]), tape)
    }
}
