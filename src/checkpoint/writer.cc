#include "checkpoint/writer.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/io.h"
#include "base/json.h"

namespace deepinfer::checkpoint {
namespace {

using base::Json;

std::vector<RawTensor> shard_tensors(const Checkpoint& checkpoint, bool engram_tables) {
  std::vector<RawTensor> out;
  for (const WeightSpec& spec : checkpoint.table()) {
    const WeightView* view = checkpoint.find(spec.name);
    if (view == nullptr || (spec.group == WeightGroup::kEngramTable) != engram_tables) continue;
    out.push_back({spec.name, std::string(accepted_dtypes(spec.kind).front()), spec.shape, view->bytes()});
  }
  std::stable_sort(out.begin(), out.end(), [](const RawTensor& a, const RawTensor& b) {
    return safetensors_dtype_bits(a.dtype) > safetensors_dtype_bits(b.dtype);
  });
  return out;
}

std::string pretty(const Json& value) { return base::dump_json(value, {.indent = 2}) + "\n"; }

}  // namespace

std::vector<FolderFile> checkpoint_files(const Checkpoint& checkpoint) {
  std::vector<std::vector<RawTensor>> shards;
  for (const bool tables : {false, true}) {
    auto tensors = shard_tensors(checkpoint, tables);
    if (!tensors.empty()) shards.push_back(std::move(tensors));
  }
  std::vector<FolderFile> files = {
      {"config.json", pretty(config_to_json(checkpoint.config(), ConfigForm::kHuggingFace))},
      {"inference/config.json", pretty(config_to_json(checkpoint.config(), ConfigForm::kFlat))}};
  Json map = Json::object();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    for (const RawTensor& tensor : shards[i]) {
      map.members().emplace_back(tensor.name, name);
      total += static_cast<std::int64_t>(tensor.bytes.size());
    }
    files.push_back({name, safetensors_image(shards[i])});
  }
  Json index = Json::object();
  index.set("metadata", Json(Json::Object{{"total_size", Json(total)}})).set("weight_map", std::move(map));
  files.push_back({"model.safetensors.index.json", pretty(index)});
  return files;
}

Status write_checkpoint(const Checkpoint& checkpoint, const std::string& dir) {
  for (const FolderFile& file : checkpoint_files(checkpoint)) {
    const std::filesystem::path path = std::filesystem::path(dir) / file.name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      return errorf(ErrorCode::kUnavailable, "cannot create {}: {}", path.parent_path().string(), error.message());
    DI_TRY(base::write_file(path.string(), file.bytes));
  }
  return {};
}

}  // namespace deepinfer::checkpoint
