// Products of quantised activations with block-scaled weights: dense FP8 projections and MXFP4 experts.
//
/// out[t, n] = sum_k dequant(x)[t, k] * dequant(w)[n, k]                       ("nt": w stored [n, k])
///
/// codes   [T, K]        u8 (e4m3fn codes), K % 32 == 0
/// scales  [T, K/32]     u8 (ue8m0)
/// w       [N, K] e4m3fn    or  [N, K/2] packed e2m1
/// ws      [ceil(N/nb), K/kb]  ue8m0; kb a multiple of 32; e2m1: kb = 32, nb = 1
/// out     [T, N]        bf16 (one rounding) or f32
/// w and ws may carry dtype u8 or the 8-bit float the checkpoint names.
/// Numerics: e2m1 class A (exact integer groups, one fma chain over groups); e4m3 class B: V16 e4m3 map over operands
/// x' = code * s_x * s_w, no block boundaries. order=reference_blocks (test switch, e4m3): V16 inside each 32-block,
/// then one chain over the blocks.   Errors: shape, dtype, unknown words.
/// Threads: ctx.pool over weight row blocks; a row's bits do not depend on T or on threads.
/// Original names: fp8_fp4_gemm_nt, fp8_gemm.   Source: numerics.md 5.1, 5.2; kernels-neuron.md 2.1.
#pragma once

#include "ops/quant_act/quant_act.h"

namespace deepinfer::ops {

enum class WeightFormat : std::uint8_t { kE4M3, kE2M1 };
enum class BlockOrder : std::uint8_t { kV16, kReferenceBlocks };

/// A quantised weight with its layout.
struct BlockWeight {
  graph::Value w;
  graph::Value ws;
  WeightFormat format = WeightFormat::kE4M3;
  std::int64_t kb = 32;  ///< columns under one scale
  std::int64_t nb = 32;  ///< rows under one scale; 1 for e2m1
};

struct LinearOptions {
  DType out = DType::kBF16;
  BlockOrder order = BlockOrder::kV16;
};

graph::Value linear_blockquant(graph::Emitter& e, const Quantised& x, const BlockWeight& weight,
                               const LinearOptions& options = {});

}  // namespace deepinfer::ops
