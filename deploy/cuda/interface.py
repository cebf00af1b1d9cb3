"""Checks that `candle-flash-attn` calls its kernels as `flash/entry.cu` expects.

Both sides only have a list of arguments without names in the binary, so a change of their order
would go unnoticed.
"""

import re

from build_cache import BuildError

# Arguments of `run_mha`, in order.
ARGUMENTS = """
q_ptr k_ptr v_ptr o_ptr softmax_lse_ptr alibi_slopes_ptr cu_seqlens_q_ptr cu_seqlens_k_ptr
q_batch_stride k_batch_stride v_batch_stride o_batch_stride alibi_slopes_batch_stride
q_row_stride k_row_stride v_row_stride o_row_stride
q_head_stride k_head_stride v_head_stride o_head_stride
b h h_k d d_rounded softmax_scale
seqlen_q seqlen_k seqlen_q_rounded seqlen_k_rounded total_q
is_bf16 is_causal unpadded_lse window_size_left window_size_right softcap
block_table_ptr block_table_batch_stride page_block_size
mm_prefix_ranges_ptr mm_prefix_range_batch_stride max_mm_prefix_ranges stream_ptr
""".split()


def check(crate):
    """Raises an error if the crate in this folder declares `run_mha` with other arguments."""
    text = (crate / "src" / "ffi.rs").read_text()
    declared = re.findall(r"fn (\w+)\((.*?)\);", text, re.DOTALL)
    names = {name: re.findall(r"(\w+)\s*:", arguments) for name, arguments in declared}
    if names != {"run_mha": ARGUMENTS}:
        raise BuildError(
            f"`{crate.name}` calls its kernels in another form; adapt flash/entry.cu and "
            "interface.py"
        )
