/*
 * FlashAttention over sequences of different lengths, for one element type and head dimension.
 *
 * Compiled once for each combination: ELEMENT is the type, HEAD_DIM the head dimension, NAME the
 * name of the function. The kernels are those of `candle-flash-attn`, without dropout, ALiBi and
 * softcap, and with one tile shape on every GPU: a tile of 128 queries starts at a multiple of 128
 * of its sequence, and keys are read in blocks of 128 or 64. The result of a row therefore depends
 * only on its sequence, and not on the batch.
 */
#include "flash_fwd_launch_template.h"

template <bool causal, bool local>
static cudaError_t launch(Flash_fwd_params &params, cudaStream_t stream)
{
    constexpr int queries = 128;
    constexpr int keys = HEAD_DIM == 64 ? 128 : 64;
    using Traits = Flash_fwd_kernel_traits<HEAD_DIM, queries, keys, 4, false, false, ELEMENT>;
    auto kernel = &flash_fwd_kernel<Traits, /* dropout */ false, causal, local, /* alibi */ false,
                                    /* even lengths */ false, /* even head_dim */ true,
                                    /* softcap */ false, /* return softmax */ false>;
    constexpr int memory = Traits::kSmemSize;
    /* Up to 48 KiB need no permission. */
    if (memory > 48 * 1024) {
        cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, memory);
        if (error != cudaSuccess)
            return error;
    }
    dim3 grid((params.seqlen_q + queries - 1) / queries, params.b, params.h);
    kernel<<<grid, Traits::kNThreads, memory, stream>>>(params);
    return cudaGetLastError();
}

/* Launches the kernel of these parameters. */
cudaError_t NAME(Flash_fwd_params &params, cudaStream_t stream)
{
    if (params.is_causal)
        return launch<true, false>(params, stream);
    if (params.window_size_left >= 0 || params.window_size_right >= 0)
        return launch<false, true>(params, stream);
    return launch<false, false>(params, stream);
}
