// What is in a checkpoint: the data behind `deepinfer inspect` and `doctor`. Source: cli.md, checkpoint.md 5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"

namespace deepinfer::checkpoint {

struct GroupSummary {
  WeightGroup group = WeightGroup::kEmbed;
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
};

struct LayerSummary {
  std::string name;  ///< "layers.3" or "mtp.0"
  std::int64_t ratio = 0;
  std::string role;             ///< "Window", "Full", "Reuse", "Reindex", "Draft"
  std::int64_t kv_source = -1;  ///< -1 = none
  std::int64_t index_source = -1;
  bool candidate_source = false;
  bool engram = false;
  bool draft_tap = false;
};

struct FileSummary {
  std::string path;
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  std::string sha256;  ///< empty unless asked for
};

struct MemoryPlan {
  std::int64_t resident_bytes = 0;  ///< dense tensors, read at every step
  std::int64_t mapped_bytes = 0;    ///< experts and Engram tables, paged on demand
  std::int64_t copied_bytes = 0;    ///< owned memory (realigned tensors, dummy weights)
  std::int64_t allowed_bytes = 0;   ///< memory allowed to this process, 0 = unknown
  std::int64_t budget_bytes = 0;    ///< default for caches: 3/4 of the allowed memory
};

struct TensorSummary {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  WeightGroup group = WeightGroup::kEmbed;
};

struct Inspection {
  ModelConfig config;
  std::string style;
  std::vector<FileSummary> files;
  std::vector<GroupSummary> groups;  ///< groups without tensors are left out
  std::vector<LayerSummary> layers;
  std::vector<TensorSummary> tensors;
  std::vector<std::string> ignored;
  std::vector<std::string> warnings;
  MemoryPlan plan;
};

enum class FileHashes : std::uint8_t { kSkip, kCompute };

/// Errors: those of reading files, with kCompute.
Result<Inspection> inspect(const Checkpoint& checkpoint, FileHashes hashes = FileHashes::kSkip);
/// One object; keys as the members above, the configuration in its Hugging Face form.
base::Json to_json(const Inspection& inspection);

/// Smaller of the machine's memory and the limit of the process's control group; 0 when neither can be read.
std::int64_t allowed_memory_bytes();

}  // namespace deepinfer::checkpoint
