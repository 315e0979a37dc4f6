// The weights of DeepSeek-V4.1 as typed structs of references into the mapped checkpoint.
//
// Bound once at load; from then on no names are looked up and nothing is copied: the 3 x E matrices of a layer's
// experts become one segmented reference with E addresses.
// Shapes beside the members use D hidden, S hc_mult, H heads, C head_dim, E experts, I expert width, V vocabulary.
#pragma once

#include <memory>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "graph/emitter.h"

namespace deepinfer::model::deepseek_v41 {

using graph::WeightRef;

/// A block-quantised matrix: codes and their ue8m0 scales.
struct Quantised {
  WeightRef weight;  ///< u8 codes: [N, K] e4m3fn, or [N, K/2] packed e2m1
  WeightRef scale;   ///< [N/32, K/32] (e4m3fn) or [N, K/32] (e2m1)
  explicit operator bool() const { return static_cast<bool>(weight); }
};

/// Parameters of one hyper-connection site.
struct HcSite {
  WeightRef fn;     ///< f32 [(2+S)S, S*D]
  WeightRef base;   ///< f32 [(2+S)S]
  WeightRef scale;  ///< f32 [3]
};

struct Compressor {
  WeightRef wkv;    ///< bf16 [C, D]
  WeightRef wgate;  ///< bf16 [C, D]; absent for ratio 1
  WeightRef norm;   ///< bf16 [C]
};

struct Indexer {
  Quantised wq_b;          ///< [Hi*Ci, q_lora_rank]
  WeightRef weights_proj;  ///< bf16 [Hi, D]
  WeightRef wk;            ///< bf16 [Ci, C]; key owners only
  WeightRef k_norm;        ///< bf16 [Ci]; key owners only
};

struct Attention {
  WeightRef attn_sink;                     ///< f32 [H]
  Quantised wq_a, wq_b, wkv, wo_a, wo_b;   ///< [q_lora, D], [H*C, q_lora], [C, D], [G*R, H*C/G], [D, G*R]
  WeightRef q_norm, kv_norm;               ///< bf16 [q_lora], [C]
  std::unique_ptr<Compressor> compressor;  ///< KV owners
  std::unique_ptr<Indexer> indexer;        ///< selection owners
};

struct Moe {
  WeightRef gate;                             ///< bf16 [E, D]
  WeightRef bias, bias_vl;                    ///< f32 [E]
  Quantised w1, w3, w2;                       ///< all experts, segmented: u8 [E, I, D/2], [E, I, D/2], [E, D, I/2]
  Quantised shared_w1, shared_w3, shared_w2;  ///< [I, D], [I, D], [D, I]
};

struct Engram {
  ConstTensorRef table;          ///< u8 [rows, dim] e4m3fn codes, read by the host only
  ConstTensorRef scales;         ///< u8 [rows, dim/32]
  Quantised wkv;                 ///< [(S+1)*D, columns*dim]
  WeightRef q_weight, k_weight;  ///< bf16 [S, D]
};

struct Layer {
  WeightRef attn_norm, ffn_norm;  ///< bf16 [D]
  HcSite hc_attn, hc_ffn;
  Attention attn;
  Moe ffn;
  std::unique_ptr<Engram> engram;
};

/// The parts of the DSpark draft besides its stages.
struct Draft {
  Quantised main_proj;     ///< [D, taps*D]
  WeightRef main_norm;     ///< bf16 [D]
  WeightRef norm;          ///< bf16 [D]
  WeightRef markov_embed;  ///< bf16 [V, rank]
  WeightRef markov_head;   ///< bf16 [V, rank]
  WeightRef confidence;    ///< bf16 [1, D + rank]
};

struct Weights {
  WeightRef embed;            ///< bf16 [V, D]
  WeightRef head;             ///< bf16 [V, D]
  WeightRef norm;             ///< bf16 [D]
  std::vector<Layer> layers;  ///< trunk layers
  std::vector<Layer> stages;  ///< draft stages mtp.0 ...
  std::unique_ptr<Draft> draft;

  std::vector<std::unique_ptr<std::vector<const void*>>> segments;  ///< address tables behind segmented references
};

/// Binds every weight of a loaded (so complete) checkpoint, which must outlive the result.
Weights bind_weights(const checkpoint::Checkpoint& checkpoint);

}  // namespace deepinfer::model::deepseek_v41
