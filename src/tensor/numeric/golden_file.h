// Test support: reads the golden safetensors of tests/golden/kernels without the checkpoint library (which lies above).
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/io.h"
#include "base/json.h"

namespace deepinfer::numeric::testing {

class GoldenFile {
 public:
  /// Throws std::bad_expected_access / CheckFailure on a broken file: the test fails.
  explicit GoldenFile(const std::string& name)
      : bytes_(base::read_file(DEEPINFER_SOURCE_DIR "/tests/golden/kernels/" + name).value()) {
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes_.data(), sizeof(header_bytes));
    data_ = sizeof(header_bytes) + header_bytes;
    const base::Json header = base::parse_json(std::string_view(bytes_).substr(8, header_bytes)).value();
    for (const auto& [tensor, entry] : header.members()) {
      if (tensor == "__metadata__") continue;
      const base::Json::Array& offsets = entry.find("data_offsets")->items();
      ranges_[tensor] = {offsets[0].as_uint().value(), offsets[1].as_uint().value()};
    }
  }

  template <typename T>
  std::vector<T> read(const std::string& tensor) const {
    const auto [begin, end] = ranges_.at(tensor);
    std::vector<T> out((end - begin) / sizeof(T));
    std::memcpy(out.data(), bytes_.data() + data_ + begin, end - begin);
    return out;
  }

 private:
  std::string bytes_;
  std::size_t data_ = 0;
  std::map<std::string, std::pair<std::size_t, std::size_t>> ranges_;
};

}  // namespace deepinfer::numeric::testing
