// Reading golden folders: manifests, recorded tensors, and the measures that tolerances are stated in.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "deepinfer/status.h"
#include "verify/report.h"

namespace deepinfer::verify {

/// A golden whose data has another form than its kind needs: thrown where the data is used, many calls below the
/// verification, and turned into kDataCorruption at its border by `refuse_bad_golden`.
class BadGolden : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// BadGolden unless `condition`.
template <typename... Args>
void need_golden(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw BadGolden(fmt::format(format, std::forward<Args>(args)...));
}
/// What `fn` gives, or kDataCorruption naming `dir` for a BadGolden.
template <typename F>
auto refuse_bad_golden(const std::string& dir, const F& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const BadGolden& bad) {
    return errorf(ErrorCode::kDataCorruption, "{}: {}", dir, bad.what());
  }
}
/// Parts of a JSON value; BadGolden naming the member if it is absent or of another type.
const base::Json& member(const base::Json& object, std::string_view key);
const std::string& text_member(const base::Json& object, std::string_view key);
const base::Json::Array& list_of(const base::Json& value, std::string_view name);

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

/// Elements as float (bf16, f32, s32, u8); the reference may be unaligned. BadGolden for other types.
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
