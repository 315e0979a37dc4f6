// Reading golden folders: manifests, recorded tensors, and the measures that tolerances are stated in.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "deepinfer/status.h"
#include "verify/report.h"

namespace deepinfer::verify {

/// A folder with manifest.json and safetensors files, opened on demand.
class GoldenFolder {
 public:
  /// Errors: kNotFound, kInvalidArgument (no JSON object).
  static Result<GoldenFolder> open(const std::string& dir);

  const std::string& dir() const { return dir_; }
  const base::Json& manifest() const { return manifest_; }
  /// Parses another JSON file of the folder. Errors: as open().
  Result<base::Json> json(const std::string& file) const;
  bool has(const std::string& file) const;
  /// A recorded tensor. Errors: kNotFound, and those of SafetensorsFile.
  Result<ConstTensorRef> tensor(const std::string& file, const std::string& name);
  Result<std::vector<std::string>> names(const std::string& file);

 private:
  Result<const checkpoint::SafetensorsFile*> file(const std::string& name);
  std::string dir_;
  base::Json manifest_;
  std::map<std::string, std::shared_ptr<checkpoint::SafetensorsFile>> files_;
};

/// Elements as float (bf16, f32, s32, u8); the reference may be unaligned.
std::vector<float> to_floats(const ConstTensorRef& tensor);
std::vector<std::int32_t> to_ints(const ConstTensorRef& tensor);

/// Distance of logits [rows, vocab] from a golden, in the measures of goldens/model.
struct Distance {
  double rms_rel = 0;
  double max_abs = 0;
  double cos_min = 1;
  double top1 = 1;              ///< share of rows with equal argmax (lowest id)
  std::int64_t first_row = -1;  ///< first row whose rms_rel is above 1e-5, -1 = none
};
Distance distance(std::span<const float> found, std::span<const float> expected, std::int64_t row_size);
/// rms of the difference over rms of the expected values; -inf must meet -inf (or a masked score) in the same place.
double rms_relative(std::span<const float> found, std::span<const float> expected);
std::int64_t argmax(std::span<const float> row);

/// Compares with an object {rms_rel, max_abs, cos_min, top1?}; returns "" or the first measure that is exceeded.
std::string exceeded(const Distance& distance, const base::Json& tolerance);
double number(const base::Json& object, std::string_view key, double fallback);

}  // namespace deepinfer::verify
