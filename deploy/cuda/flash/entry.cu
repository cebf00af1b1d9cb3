/*
 * The function that `candle-flash-attn` calls. It replaces `flash_api.cu` of that crate, which
 * refers to kernels that are not built here and ignores errors of launches.
 *
 * If a kernel cannot be launched, the output is filled with NaN: the caller checks that all numbers
 * are finite and reports an error. Without this it would read memory that was never written.
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <math.h>

#include <cuda_runtime.h>

#include "flash.h"

cudaError_t attention_half_64(Flash_fwd_params &params, cudaStream_t stream);
cudaError_t attention_half_128(Flash_fwd_params &params, cudaStream_t stream);
cudaError_t attention_bfloat16_64(Flash_fwd_params &params, cudaStream_t stream);
cudaError_t attention_bfloat16_128(Flash_fwd_params &params, cudaStream_t stream);

/* Launches the kernel for a type and head dimension. */
static cudaError_t launch(Flash_fwd_params &params, cudaStream_t stream)
{
    switch (params.d) {
    case 64:
        return params.is_bf16 ? attention_bfloat16_64(params, stream)
                              : attention_half_64(params, stream);
    case 128:
        return params.is_bf16 ? attention_bfloat16_128(params, stream)
                              : attention_half_128(params, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

/* Parameters and their order are those of the declaration in Rust. Strides are in elements. */
extern "C" void run_mha(
    void *queries, void *keys, void *values, void *output, void *log_sums, void *alibi,
    int32_t *query_starts, int32_t *key_starts,
    uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, /* strides of batches, which have none */
    uint32_t query_row, uint32_t key_row, uint32_t value_row, uint32_t output_row,
    uint32_t query_head, uint32_t key_head, uint32_t value_head, uint32_t output_head,
    uint32_t sequences, uint32_t heads, uint32_t key_heads, uint32_t size, uint32_t size_rounded,
    float scale, uint32_t longest_queries, uint32_t longest_keys,
    uint32_t longest_queries_rounded, uint32_t longest_keys_rounded, uint32_t rows,
    int is_bf16, int is_causal, int unpadded, int before, int after, float softcap,
    int32_t *pages, uint32_t, int, int32_t *prefixes, uint32_t, int, void *stream_of_caller)
{
    Flash_fwd_params params;
    memset(&params, 0, sizeof params);
    params.q_ptr = queries;
    params.k_ptr = keys;
    params.v_ptr = values;
    params.o_ptr = output;
    params.softmax_lse_ptr = log_sums;
    params.cu_seqlens_q = query_starts;
    params.cu_seqlens_k = key_starts;
    params.is_seqlens_k_cumulative = true;
    params.unpadded_lse = unpadded;
    params.q_row_stride = query_row;
    params.k_row_stride = key_row;
    params.v_row_stride = value_row;
    params.o_row_stride = output_row;
    params.q_head_stride = query_head;
    params.k_head_stride = key_head;
    params.v_head_stride = value_head;
    params.o_head_stride = output_head;
    params.b = sequences;
    params.h = heads;
    params.h_k = key_heads;
    params.h_h_k_ratio = heads / key_heads;
    params.d = size;
    params.d_rounded = size_rounded;
    params.seqlen_q = longest_queries;
    params.seqlen_k = longest_keys;
    params.seqlen_q_rounded = longest_queries_rounded;
    params.seqlen_k_rounded = longest_keys_rounded;
    params.total_q = rows;
    params.scale_softmax = scale;
    params.scale_softmax_log2 = scale * M_LOG2E;
    /* The share of kept values: there is no dropout. */
    params.p_dropout = 1.0f;
    params.p_dropout_in_uint8_t = 255;
    params.rp_dropout = 1.0f;
    params.scale_softmax_rp_dropout = scale;
    params.is_bf16 = is_bf16;
    params.is_causal = is_causal;
    params.window_size_left = before;
    params.window_size_right = after;
    params.num_splits = 1;

    cudaStream_t stream = static_cast<cudaStream_t>(stream_of_caller);
    bool is_built = query_starts != nullptr && key_starts != nullptr && alibi == nullptr
        && pages == nullptr && prefixes == nullptr && softcap == 0.0f;
    cudaError_t error = is_built ? launch(params, stream) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "FlashAttention cannot run: %s\n", cudaGetErrorString(error));
    /* All bits set is NaN in both types. If this fails too, so does copying the scores. */
    cudaMemsetAsync(output, 0xff, size_t(2) * rows * heads * size, stream);
}
