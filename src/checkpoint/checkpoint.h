// A loaded checkpoint: configuration, mappings and typed views of every tensor. Source: checkpoint.md 4 to 6.
//
// Opening validates everything that can be validated without running the model, collects up to 100 problems and
// reports them together. Weights are not copied: a view points into a private read-only mapping (exception: a BF16 or
// F32 tensor at an odd address is copied to aligned memory, so that its views can be read as numbers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/name_map.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/weight_table.h"
#include "deepinfer/status.h"
#include "tensor/tensor.h"

namespace deepinfer::checkpoint {

/// One tensor; lives as long as its Checkpoint. BF16 and F32 data is aligned, other data has any byte address.
struct WeightView {
  std::string_view name;  ///< official
  TensorType type;        ///< fp4 is kU8 [rows, columns / 2], e4m3 is kF8E4M3FN, scales are kF8E8M0
  const std::byte* data = nullptr;

  ConstTensorRef ref() const { return {type, data, nullptr}; }
  std::span<const std::byte> bytes() const { return {data, static_cast<std::size_t>(type.bytes())}; }
};

/// An fp8 or fp4 module: `<module>.weight` and `<module>.scale`.
struct ScaledWeight {
  WeightView weight;
  WeightView scale;
};

enum class ScanLevel : std::uint8_t {
  kNone,
  kResident,  ///< dense tensors, and experts and Engram tables when they are small (LoadOptions::scan_mapped_bytes)
  kFull,
};

struct LoadOptions {
  ScanLevel scan = ScanLevel::kResident;
  /// kResident scans experts and Engram tables too when they have at most this many bytes: 64 MiB take about 20 ms,
  /// those of the release would read hundreds of GB at every start.
  std::int64_t scan_mapped_bytes = std::int64_t{64} << 20;
  DraftLayers drafts = DraftLayers::kLoad;
  std::int64_t memory_budget = 0;  ///< bytes that resident tensors may take; 0 = no limit
};

struct LoadReport {
  NameStyle style = NameStyle::kOfficial;
  std::int64_t tensors_bound = 0;
  std::int64_t bytes_bound = 0;
  std::int64_t resident_bytes = 0;     ///< part of bytes_bound that every step reads
  std::vector<std::string> ignored;    ///< file names of tensors that are declared ignored
  std::vector<std::string> realigned;  ///< official names of tensors that were copied
  std::vector<std::string> warnings;
};

class Checkpoint {
 public:
  /// Opens `dir`. Errors list every problem; the code is the first problem's (checkpoint.md 6).
  static Result<Checkpoint> open(const std::string& dir, const LoadOptions& options = {});
  /// Seeded random weights in owned memory (load_format = dummy): codes without NaN, scales near 2^-7, norms near 1.
  /// Errors: kInvalidArgument (configuration), kResourceExhausted (more than `memory_budget` bytes, if set).
  static Result<Checkpoint> dummy(const ModelConfig& config, std::uint64_t seed, const LoadOptions& options = {});

  Checkpoint(Checkpoint&&) = default;
  Checkpoint& operator=(Checkpoint&&) = default;
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  ~Checkpoint() = default;

  const ModelConfig& config() const { return config_; }
  const std::string& dir() const { return dir_; }
  const LoadReport& report() const { return report_; }
  /// Constants of the hash, one entry for each id of engram_layer_ids.
  const std::vector<EngramLayout>& engram_layouts() const { return engram_; }
  /// Every tensor of the configuration, bound or not.
  const std::vector<WeightSpec>& table() const { return table_; }
  /// Opened files; empty for dummy weights.
  const std::vector<SafetensorsFile>& files() const { return files_; }

  /// Memory that this object owns beside the mappings.
  std::int64_t owned_bytes() const;

  /// nullptr when the tensor is not bound (unknown, ignored, or optional and absent).
  const WeightView* find(std::string_view official_name) const;
  /// A tensor that the table requires: an unknown name is a bug of the caller (CheckFailure).
  const WeightView& weight(std::string_view official_name) const;
  ScaledWeight scaled(const std::string& module) const;

 private:
  friend class Loader;
  friend class DummyMaker;
  Checkpoint() = default;
  void bind(const WeightSpec& spec, const std::byte* data);

  std::string dir_;
  ModelConfig config_;
  std::vector<EngramLayout> engram_;
  std::vector<WeightSpec> table_;  // never resized after views exist: views name its strings
  std::vector<SafetensorsFile> files_;
  std::vector<Buffer> owned_;
  std::unordered_map<std::string_view, WeightView> views_;
  LoadReport report_;
};

}  // namespace deepinfer::checkpoint
