// Test support: temporary checkpoint folders made from a golden one, with any part changed.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/io.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace deepinfer::checkpoint::testing_support {

inline std::string golden_dir(const std::string& set) {
  return std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/model/" + set + "/checkpoint";
}

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "di_checkpoint_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

/// One tensor with its own bytes.
struct OwnedTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
  std::size_t shard = 0;
};

/// A checkpoint in memory: change any part, then write it as a folder.
struct Folder {
  std::vector<OwnedTensor> tensors;
  std::string config;
  std::string flat;  ///< empty = not written
  std::size_t shards = 1;

  static Folder load(const std::string& dir) {
    Folder out;
    out.config = base::read_file(dir + "/config.json").value();
    if (auto flat = base::read_file(dir + "/inference/config.json")) out.flat = *flat;
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      if (entry.path().extension() == ".safetensors") names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    out.shards = names.size();
    for (std::size_t shard = 0; shard < names.size(); ++shard) {
      const auto file = SafetensorsFile::open(names[shard]);
      for (const TensorEntry& tensor : file->tensors()) {
        out.tensors.push_back({tensor.name, tensor.dtype, tensor.shape,
                               std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()),
                               shard});
      }
    }
    return out;
  }

  OwnedTensor& at(const std::string& name) {
    for (OwnedTensor& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }
  void erase(const std::string& name) {
    std::erase_if(tensors, [&](const OwnedTensor& tensor) { return tensor.name == name; });
  }
  /// Replaces the first `from` of the Hugging Face form (and drops the flat form).
  void edit_config(const std::string& from, const std::string& to) {
    const auto at = config.find(from);
    if (at == std::string::npos) throw std::runtime_error("config has no " + from);
    config.replace(at, from.size(), to);
    flat.clear();
  }

  std::string image(std::size_t shard) const {
    std::vector<RawTensor> raw;
    for (const OwnedTensor& tensor : tensors) {
      if (tensor.shard == shard) {
        raw.push_back({tensor.name, tensor.dtype, tensor.shape, std::as_bytes(std::span(tensor.bytes))});
      }
    }
    return safetensors_image(raw);
  }
  static std::string shard_name(std::size_t shard) { return "model-0000" + std::to_string(shard + 1) + ".safetensors"; }

  base::Json index() const {
    base::Json map = base::Json::object();
    std::int64_t total = 0;
    for (const OwnedTensor& tensor : tensors) {
      map.members().emplace_back(tensor.name, shard_name(tensor.shard));
      total += static_cast<std::int64_t>(tensor.bytes.size());
    }
    base::Json metadata = base::Json::object();
    metadata.set("total_size", total);
    base::Json root = base::Json::object();
    root.set("metadata", metadata).set("weight_map", map);
    return root;
  }

  void write(const TempDir& dir) const {
    if (!config.empty()) dir.write("config.json", config);
    if (!flat.empty()) dir.write("inference/config.json", flat);
    for (std::size_t shard = 0; shard < shards; ++shard) dir.write(shard_name(shard), image(shard));
    dir.write("model.safetensors.index.json", base::dump_json(index()));
  }
};

}  // namespace deepinfer::checkpoint::testing_support
