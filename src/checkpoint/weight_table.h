// The table of tensors that a configuration requires, with official names. Source: checkpoint.md 3 and 5.
//
// Every tensor of a checkpoint is either in this table or declared ignored; everything else is an error. The released
// configuration yields 96,085 names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/config.h"
#include "tensor/dtype.h"

namespace deepinfer::checkpoint {

enum class WeightKind : std::uint8_t {
  kBF16,
  kF32,
  kE4M3,  ///< fp8 weight
  kE8M0,  ///< scale: one byte a tile, 2^(code - 127)
  kFp4,   ///< two e2m1 codes a byte, low nibble = even column
};

enum class WeightGroup : std::uint8_t {
  kEmbed,
  kHead,
  kNorm,
  kHyperConnection,
  kAttention,  ///< projections, norms and sinks
  kCompressor,
  kIndexer,
  kRouter,
  kExperts,
  kSharedExperts,
  kEngram,       ///< projection and gate weights
  kEngramTable,  ///< the hashed rows
  kDraft,        ///< everything of mtp.K
  kVision,       ///< vision, aligner and image embeddings
};
inline constexpr int kNumWeightGroups = 14;

enum class WeightUse : std::uint8_t {
  kRequired,
  kOptional,  ///< bound when present: the image bias of a trunk gate
  kIgnored,   ///< declared ignored, may be absent
};

enum class Residency : std::uint8_t {
  kResident,  ///< read at every step; scanned at load
  kMapped,    ///< experts and Engram tables: paged on demand
};

struct WeightSpec {
  std::string name;  ///< official, complete: "layers.0.attn.wq_a.weight"
  WeightKind kind = WeightKind::kBF16;
  std::vector<std::int64_t> shape;  ///< as stored; fp4 counts bytes along the last axis
  WeightGroup group = WeightGroup::kEmbed;
  WeightUse use = WeightUse::kRequired;
  Residency residency = Residency::kResident;

  std::int64_t num_elements() const;
  std::int64_t bytes() const { return num_elements() * dtype_bytes(dtype()); }
  /// Type of the view: kFp4 is kU8, kE4M3 is kF8E4M3FN.
  DType dtype() const;
};

std::string_view weight_group_name(WeightGroup group);  ///< "attention", "engram_table"
/// Safetensors dtype names that may hold this kind, preferred first.
std::vector<std::string_view> accepted_dtypes(WeightKind kind);

enum class DraftLayers : std::uint8_t { kLoad, kSkip };

/// All tensors in file order of the release: globals, trunk layers, draft stages, vision (ignored).
/// With kSkip the tensors of draft stages are declared ignored.
std::vector<WeightSpec> weight_table(const ModelConfig& config, DraftLayers drafts = DraftLayers::kLoad);

/// True for names that a text engine ignores whatever their shape: vision.*, aligner.*, image_start/_end/_newline.
bool is_ignored_name(std::string_view official_name);

}  // namespace deepinfer::checkpoint
