// Which files a checkpoint consists of, and which tensor is in which. Source: checkpoint.md 1 and 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "checkpoint/problems.h"

namespace deepinfer::checkpoint {

struct ShardIndex {
  std::vector<std::string> files;                           ///< plain file names, in order of first use
  std::unordered_map<std::string, std::size_t> weight_map;  ///< tensor -> position in `files`; empty without an index
  std::optional<std::int64_t> total_size;                   ///< `metadata.total_size`
};

/// Parses the content of model.safetensors.index.json. File names with '/' or a leading '.' are refused.
ShardIndex parse_shard_index(const base::Json& root, Problems& problems);

/// Reads the index of `dir`, or falls back to its only safetensors file. Problems: kNotFound, kDataCorruption.
ShardIndex find_shards(const std::string& dir, Problems& problems);

}  // namespace deepinfer::checkpoint
