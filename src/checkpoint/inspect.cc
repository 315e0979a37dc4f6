#include "checkpoint/inspect.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "base/error.h"
#include "base/io.h"

namespace deepinfer::checkpoint {
namespace {

using base::Json;

template <typename Item, typename Make>
Json array_of(const std::vector<Item>& items, Make make) {
  Json out = Json::array();
  for (const Item& item : items) out.push(make(item));
  return out;
}

LayerSummary summarize_layer(const ModelConfig& config, std::int64_t layer) {
  LayerSummary out;
  out.ratio = config.ratio(layer);
  if (layer >= config.num_hidden_layers) {
    out.name = fmt::format("mtp.{}", layer - config.num_hidden_layers);
    out.role = "Draft";
    return out;
  }
  out.name = fmt::format("layers.{}", layer);
  out.role = layer_role_name(config.role(layer));
  out.kv_source = config.kv_source(layer);
  out.index_source = config.index_source(layer);
  out.candidate_source = config.is_candidate_source(layer);
  out.engram = config.has_engram(layer);
  out.draft_tap = config.is_draft_tap(layer);
  return out;
}

void summarize_tensors(const Checkpoint& checkpoint, Inspection& out) {
  std::array<GroupSummary, kNumWeightGroups> groups{};
  for (const WeightSpec& spec : checkpoint.table()) {
    const WeightView* view = checkpoint.find(spec.name);
    if (view == nullptr) continue;
    GroupSummary& group = groups[static_cast<std::size_t>(spec.group)];
    group.group = spec.group;
    ++group.tensors;
    group.bytes += spec.bytes();
    out.tensors.push_back(
        {spec.name, std::string(accepted_dtypes(spec.kind).front()), spec.shape, spec.bytes(), spec.group});
  }
  for (const GroupSummary& group : groups) {
    if (group.tensors > 0) out.groups.push_back(group);
  }
}

MemoryPlan plan_memory(const Checkpoint& checkpoint) {
  MemoryPlan plan;
  plan.resident_bytes = checkpoint.report().resident_bytes;
  plan.mapped_bytes = checkpoint.report().bytes_bound - plan.resident_bytes;
  plan.copied_bytes = checkpoint.owned_bytes();
  plan.allowed_bytes = allowed_memory_bytes();
  plan.budget_bytes = plan.allowed_bytes / 4 * 3;
  return plan;
}

// Pseudo files have size 0, so they are read as a stream instead of through base/io. "max" and absence give 0.
std::int64_t read_limit(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  if (!(in >> word)) return 0;
  std::int64_t value = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  return read.ec == std::errc() && read.ptr == word.data() + word.size() ? value : 0;
}

Json layer_json(const LayerSummary& layer) {
  Json out = Json::object();
  out.set("name", layer.name).set("role", layer.role).set("ratio", layer.ratio);
  if (layer.kv_source >= 0) out.set("kv_source", layer.kv_source).set("index_source", layer.index_source);
  if (layer.candidate_source) out.set("candidate_source", true);
  if (layer.engram) out.set("engram", true);
  if (layer.draft_tap) out.set("draft_tap", true);
  return out;
}

Json file_json(const FileSummary& file) {
  Json out = Json::object();
  out.set("path", file.path).set("bytes", file.bytes).set("tensors", file.tensors);
  if (!file.sha256.empty()) out.set("sha256", file.sha256);
  return out;
}

Json tensor_json(const TensorSummary& tensor) {
  Json out = Json::object();
  out.set("name", tensor.name).set("dtype", tensor.dtype);
  out.set("shape", array_of(tensor.shape, [](std::int64_t extent) { return Json(extent); }));
  out.set("bytes", tensor.bytes).set("group", weight_group_name(tensor.group));
  return out;
}

Json plan_json(const MemoryPlan& plan) {
  Json out = Json::object();
  out.set("resident_bytes", plan.resident_bytes).set("mapped_bytes", plan.mapped_bytes);
  out.set("copied_bytes", plan.copied_bytes).set("allowed_bytes", plan.allowed_bytes);
  out.set("budget_bytes", plan.budget_bytes);
  return out;
}

}  // namespace

std::int64_t allowed_memory_bytes() {
  std::int64_t allowed = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const std::int64_t limit = read_limit(path);
    if (limit > 0) allowed = allowed > 0 ? std::min(allowed, limit) : limit;
  }
  return std::max<std::int64_t>(allowed, 0);
}

Result<Inspection> inspect(const Checkpoint& checkpoint, FileHashes hashes) {
  Inspection out;
  out.config = checkpoint.config();
  out.style = name_style_name(checkpoint.report().style);
  out.ignored = checkpoint.report().ignored;
  out.warnings = checkpoint.report().warnings;
  for (const SafetensorsFile& file : checkpoint.files()) {
    FileSummary summary{file.path(), file.file_bytes(), static_cast<std::int64_t>(file.tensors().size()), {}};
    if (hashes == FileHashes::kCompute) {
      DI_ASSIGN(summary.sha256, base::sha256_file(file.path()));
    }
    out.files.push_back(std::move(summary));
  }
  for (std::int64_t layer = 0; layer < out.config.num_layers_with_drafts(); ++layer) {
    out.layers.push_back(summarize_layer(out.config, layer));
  }
  summarize_tensors(checkpoint, out);
  out.plan = plan_memory(checkpoint);
  return out;
}

Json to_json(const Inspection& inspection) {
  const auto text = [](const std::string& item) { return Json(item); };
  Json out = Json::object();
  out.set("name_style", inspection.style);
  out.set("config", config_to_json(inspection.config, ConfigForm::kHuggingFace));
  out.set("files", array_of(inspection.files, file_json));
  out.set("groups", array_of(inspection.groups, [](const GroupSummary& group) {
            return Json::object()
                .set("name", weight_group_name(group.group))
                .set("tensors", group.tensors)
                .set("bytes", group.bytes);
          }));
  out.set("layers", array_of(inspection.layers, layer_json));
  out.set("memory", plan_json(inspection.plan));
  out.set("tensors", array_of(inspection.tensors, tensor_json));
  out.set("ignored", array_of(inspection.ignored, text));
  out.set("warnings", array_of(inspection.warnings, text));
  return out;
}

}  // namespace deepinfer::checkpoint
