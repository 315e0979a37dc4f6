#include "verify/golden_folder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/io.h"

namespace deepinfer::verify {

const base::Json& member(const base::Json& object, std::string_view key) {
  const base::Json* value = object.find(key);
  need_golden(value != nullptr, "member \"{}\" is missing in {:.200}", key, base::dump_json(object));
  return *value;
}

const std::string& text_member(const base::Json& object, std::string_view key) {
  const base::Json& value = member(object, key);
  need_golden(value.is_string(), "{} is a {}, expected a string", key, value.type_name());
  return value.string();
}

const base::Json::Array& list_of(const base::Json& value, std::string_view name) {
  need_golden(value.is_array(), "{} is a {}, expected a list", name, value.type_name());
  return value.items();
}

Result<GoldenFolder> GoldenFolder::open(const std::string& dir) {
  GoldenFolder out;
  out.dir_ = dir;
  DI_ASSIGN(out.manifest_, out.json("manifest.json"));
  return out;
}

Result<base::Json> GoldenFolder::json(const std::string& file) const {
  const std::string path = dir_ + "/" + file;
  DI_ASSIGN(const std::string text, base::read_file(path));
  auto value = base::parse_json(text);
  if (!value) return with_context(value.error(), path);
  if (!value->is_object()) {
    return errorf(ErrorCode::kInvalidArgument, "{} holds a {}, expected an object", path, value->type_name());
  }
  return value;
}

bool GoldenFolder::has(const std::string& file) const { return std::filesystem::exists(dir_ + "/" + file); }

Result<const checkpoint::SafetensorsFile*> GoldenFolder::file(const std::string& name) {
  auto& entry = files_[name];
  if (!entry) {
    DI_ASSIGN(checkpoint::SafetensorsFile opened, checkpoint::SafetensorsFile::open(dir_ + "/" + name));
    entry = std::make_shared<checkpoint::SafetensorsFile>(std::move(opened));
  }
  return entry.get();
}

Result<ConstTensorRef> GoldenFolder::tensor(const std::string& file_name, const std::string& name) {
  DI_ASSIGN(const checkpoint::SafetensorsFile* opened, file(file_name));
  return opened->tensor(name);
}

Result<std::vector<std::string>> GoldenFolder::names(const std::string& file_name) {
  DI_ASSIGN(const checkpoint::SafetensorsFile* opened, file(file_name));
  std::vector<std::string> out;
  for (const checkpoint::TensorEntry& entry : opened->tensors()) out.push_back(entry.name);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<float> to_floats(const ConstTensorRef& tensor) {
  const std::int64_t n = tensor.type.num_elements();
  std::vector<float> out(static_cast<std::size_t>(n));
  const auto* bytes = static_cast<const std::byte*>(tensor.data);
  const std::int64_t size = dtype_bytes(tensor.type.dtype);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::byte* at = bytes + i * size;
    float& value = out[static_cast<std::size_t>(i)];
    switch (tensor.type.dtype) {
      case DType::kF32: std::memcpy(&value, at, sizeof value); break;
      case DType::kBF16: {
        BF16 half;
        std::memcpy(&half, at, sizeof half);
        value = to_float(half);
        break;
      }
      case DType::kS32: {
        std::int32_t integer = 0;
        std::memcpy(&integer, at, sizeof integer);
        value = static_cast<float>(integer);
        break;
      }
      case DType::kU8: value = static_cast<float>(std::to_integer<int>(*at)); break;
      default: need_golden(false, "a tensor is {}, accepted: bf16, f32, s32, u8", to_string(tensor.type));
    }
  }
  return out;
}

std::vector<std::int32_t> to_ints(const ConstTensorRef& tensor) {
  need_golden(tensor.type.dtype == DType::kS32, "a tensor is {}, accepted: s32", to_string(tensor.type));
  std::vector<std::int32_t> out(static_cast<std::size_t>(tensor.type.num_elements()));
  std::memcpy(out.data(), tensor.data, out.size() * sizeof(std::int32_t));
  return out;
}

std::int64_t argmax(std::span<const float> row) {
  return std::distance(row.begin(), std::max_element(row.begin(), row.end()));
}

double rms_relative(std::span<const float> found, std::span<const float> expected) {
  if (found.size() != expected.size()) return HUGE_VAL;
  constexpr float kMasked = -1e30F;
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool masked = std::isinf(expected[i]) && expected[i] < 0;
    if (masked != (found[i] <= kMasked * 0.99F)) return HUGE_VAL;
    if (masked || (std::isinf(expected[i]) && found[i] == expected[i])) continue;
    if (!std::isfinite(found[i])) return HUGE_VAL;
    difference += std::pow(double{found[i]} - double{expected[i]}, 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return difference == 0 ? 0 : std::sqrt(difference / std::max(size, 1e-300));
}

Distance distance(std::span<const float> found, std::span<const float> expected, std::int64_t row_size) {
  Distance out;
  if (found.size() != expected.size() || found.empty()) return {HUGE_VAL, HUGE_VAL, -1, 0, 0};
  out.rms_rel = rms_relative(found, expected);
  const auto rows = static_cast<std::int64_t>(found.size()) / row_size;
  std::int64_t agreeing = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto a = found.subspan(static_cast<std::size_t>(r * row_size), static_cast<std::size_t>(row_size));
    const auto b = expected.subspan(static_cast<std::size_t>(r * row_size), static_cast<std::size_t>(row_size));
    double ab = 0;
    double aa = 0;
    double bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ab += double{a[i]} * double{b[i]};
      aa += double{a[i]} * double{a[i]};
      bb += double{b[i]} * double{b[i]};
      out.max_abs = std::max(out.max_abs, std::abs(double{a[i]} - double{b[i]}));
    }
    out.cos_min = std::min(out.cos_min, ab / std::sqrt(aa * bb));
    agreeing += argmax(a) == argmax(b) ? 1 : 0;
    if (out.first_row < 0 && rms_relative(a, b) > 1e-5) out.first_row = r;
  }
  out.top1 = static_cast<double>(agreeing) / static_cast<double>(rows);
  return out;
}

double number(const base::Json& object, std::string_view key, double fallback) {
  const base::Json* value = object.find(key);
  return value != nullptr && value->as_double() ? *value->as_double() : fallback;
}

std::string exceeded(const Distance& d, const base::Json& tolerance) {
  if (!(d.rms_rel <= number(tolerance, "rms_rel", HUGE_VAL))) {
    return fmt::format("rms_rel {:.3g} > {}", d.rms_rel, number(tolerance, "rms_rel", 0));
  }
  if (!(d.max_abs <= number(tolerance, "max_abs", HUGE_VAL))) {
    return fmt::format("max_abs {:.3g} > {}", d.max_abs, number(tolerance, "max_abs", 0));
  }
  if (!(d.cos_min >= number(tolerance, "cos_min", -1))) {
    return fmt::format("cos_min {:.6g} < {}", d.cos_min, number(tolerance, "cos_min", 0));
  }
  if (!(d.top1 >= number(tolerance, "top1", 0) - 1e-6)) {
    return fmt::format("top1 {:.4g} < {}", d.top1, number(tolerance, "top1", 0));
  }
  return {};
}

}  // namespace deepinfer::verify
