#include "checkpoint/shard_index.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/io.h"

namespace deepinfer::checkpoint {
namespace {

using base::Json;

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr std::size_t kMaxIndexBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxShards = 4096;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

void parse_total(const Json& root, ShardIndex& index, Problems& problems) {
  const Json* metadata = root.find("metadata");
  const Json* total = metadata == nullptr ? nullptr : metadata->find("total_size");
  if (total == nullptr) return;
  index.total_size = total->as_int();
  if (!index.total_size || *index.total_size < 0) {
    problems.add(ErrorCode::kDataCorruption, "metadata.total_size", "is {}, accepted: an integer from 0",
                 printable(base::dump_json(*total)));
    index.total_size.reset();
  }
}

ShardIndex only_file(const std::string& dir, Problems& problems) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  ShardIndex index;
  if (found.size() == 1 || std::find(found.begin(), found.end(), "model.safetensors") != found.end()) {
    index.files = {found.size() == 1 ? found.front() : "model.safetensors"};
  } else if (found.empty()) {
    problems.add(ErrorCode::kNotFound, dir, "has neither {} nor model.safetensors", kIndexName);
  } else {
    problems.add(ErrorCode::kNotFound, dir, "has {} safetensors files but no {}", found.size(), kIndexName);
  }
  return index;
}

}  // namespace

ShardIndex parse_shard_index(const Json& root, Problems& problems) {
  ShardIndex index;
  const Json* map = root.find("weight_map");
  if (map == nullptr || !map->is_object() || map->members().empty()) {
    problems.add(ErrorCode::kDataCorruption, "weight_map", "must be an object that names at least one tensor");
    return index;
  }
  parse_total(root, index, problems);
  std::unordered_map<std::string, std::size_t> positions;
  for (const auto& [tensor, value] : map->members()) {
    if (!value.is_string() || !is_plain_name(value.string())) {
      problems.add(ErrorCode::kDataCorruption, "weight_map: " + tensor,
                   "is {}, accepted: a file name in the same folder", printable(base::dump_json(value)));
      continue;
    }
    const auto [at, is_new] = positions.emplace(value.string(), index.files.size());
    if (is_new) index.files.push_back(value.string());
    index.weight_map.emplace(tensor, at->second);
  }
  if (index.files.size() > kMaxShards) {
    problems.add(ErrorCode::kResourceExhausted, "weight_map", "names {} files, at most {} are accepted",
                 index.files.size(), kMaxShards);
    index.files.clear();
  }
  return index;
}

ShardIndex find_shards(const std::string& dir, Problems& problems) {
  const std::string path = dir + "/" + kIndexName;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return only_file(dir, problems);
  const auto text = base::read_file(path, kMaxIndexBytes);
  if (!text) {
    problems.add({text.error().code, kIndexName, text.error().message});
    return {};
  }
  const auto root = base::parse_json(*text, {.max_bytes = kMaxIndexBytes, .max_depth = 16});
  if (!root) {
    problems.add({ErrorCode::kDataCorruption, kIndexName, root.error().message});
    return {};
  }
  Problems own;
  ShardIndex index = parse_shard_index(*root, own);
  problems.merge(own, kIndexName);
  return index;
}

}  // namespace deepinfer::checkpoint
