#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/io.h"
#include "base/json.h"

namespace deepinfer::checkpoint {
namespace {

using base::Json;

constexpr std::int64_t kLengthBytes = 8;

// Shape of an entry, or nothing after a problem was added.
std::optional<std::vector<std::int64_t>> parse_shape(const Json* value, const std::string& where, Problems& problems) {
  if (value == nullptr || !value->is_array()) {
    problems.add(ErrorCode::kDataCorruption, where, "shape must be an array of integers");
    return std::nullopt;
  }
  if (value->items().size() > kMaxHeaderRank) {
    problems.add(ErrorCode::kDataCorruption, where, "shape has {} dimensions, at most {} are accepted",
                 value->items().size(), kMaxHeaderRank);
    return std::nullopt;
  }
  std::vector<std::int64_t> shape;
  for (const Json& item : value->items()) {
    const auto extent = item.as_int();
    if (!extent || *extent < 0) {
      problems.add(ErrorCode::kDataCorruption, where, "shape has the extent {}, accepted: integers from 0 to 2^63 - 1",
                   printable(base::dump_json(item)));
      return std::nullopt;
    }
    shape.push_back(*extent);
  }
  return shape;
}

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::optional<Range> parse_offsets(const Json* value, std::int64_t limit, const std::string& where,
                                   Problems& problems) {
  if (value == nullptr || !value->is_array() || value->items().size() != 2) {
    problems.add(ErrorCode::kDataCorruption, where, "data_offsets must be an array of two integers");
    return std::nullopt;
  }
  const auto begin = value->items()[0].as_int();
  const auto end = value->items()[1].as_int();
  if (!begin || !end || *begin < 0 || *end < *begin || *end > limit) {
    problems.add(ErrorCode::kDataCorruption, where,
                 "data_offsets are {}, accepted: 0 <= begin <= end <= {} (data bytes)",
                 printable(base::dump_json(*value)), limit);
    return std::nullopt;
  }
  return Range{*begin, *end};
}

// product(shape) x bits / 8, or nothing when it overflows or is no whole number of bytes.
std::optional<std::int64_t> byte_count(std::span<const std::int64_t> shape, int bits) {
  std::int64_t product = bits;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  if (product % 8 != 0) return std::nullopt;
  return product / 8;
}

class Parser {
 public:
  Parser(std::span<const std::byte> file, Problems& problems) : file_(file), problems_(problems) {}

  SafetensorsContent run() {
    const auto text = header_text();
    if (!text) return {};
    const auto header = base::parse_json(*text, {.max_bytes = kMaxHeaderBytes, .max_depth = 16});
    if (!header) {
      problems_.add(ErrorCode::kDataCorruption, "header", "{}", header.error().message);
      return {};
    }
    for (const auto& [name, value] : header->members()) {
      if (name == "__metadata__") {
        metadata(value);
      } else {
        entry(name, value);
      }
    }
    check_tiling();
    return std::move(content_);
  }

 private:
  // The JSON text without padding; sets data_start_.
  std::optional<std::string_view> header_text() {
    if (file_.size() < kLengthBytes) {
      problems_.add(ErrorCode::kDataCorruption, "header", "file has {} bytes, at least 8 are needed", file_.size());
      return std::nullopt;
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i) length |= std::to_integer<std::uint64_t>(file_[i]) << (8 * i);
    const std::uint64_t available = file_.size() - kLengthBytes;
    if (length > kMaxHeaderBytes || length > available) {
      problems_.add(ErrorCode::kDataCorruption, "header", "header length is {}, accepted: 2 to {}", length,
                    std::min<std::uint64_t>(kMaxHeaderBytes, available));
      return std::nullopt;
    }
    std::string_view text(reinterpret_cast<const char*>(file_.data()) + kLengthBytes, length);
    data_start_ = kLengthBytes + static_cast<std::int64_t>(length);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    if (text.empty() || text.front() != '{' || text.back() != '}') {
      problems_.add(ErrorCode::kDataCorruption, "header",
                    "header must be one JSON object, followed by nothing but spaces");
      return std::nullopt;
    }
    return text;
  }

  void metadata(const Json& value) {
    if (!value.is_object()) {
      problems_.add(ErrorCode::kDataCorruption, "__metadata__", "must be an object of strings, is {}",
                    value.type_name());
      return;
    }
    for (const auto& [key, item] : value.members()) {
      if (item.is_string()) {
        content_.metadata.emplace_back(key, item.string());
      } else {
        problems_.add(ErrorCode::kDataCorruption, "__metadata__", "{} must be a string, is {}", printable(key),
                      item.type_name());
      }
    }
  }

  void entry(const std::string& name, const Json& value) {
    const std::string where = printable(name);
    const Json* dtype = value.find("dtype");
    if (!value.is_object() || dtype == nullptr || !dtype->is_string()) {
      problems_.add(ErrorCode::kDataCorruption, where, "entry must be an object with dtype, shape and data_offsets");
      return;
    }
    const std::int64_t limit = static_cast<std::int64_t>(file_.size()) - data_start_;
    const auto shape = parse_shape(value.find("shape"), where, problems_);
    const auto range = parse_offsets(value.find("data_offsets"), limit, where, problems_);
    if (!shape || !range) return;
    const int bits = safetensors_dtype_bits(dtype->string());
    const auto expected = byte_count(*shape, bits);
    if (bits != 0 && (!expected || *expected != range->end - range->begin)) {
      problems_.add(ErrorCode::kDataCorruption, where, "data_offsets span {} bytes, dtype {} and shape [{}] need {}",
                    range->end - range->begin, printable(dtype->string()), fmt::join(*shape, ", "),
                    expected ? std::to_string(*expected) : std::string("a whole number of bytes below 2^60"));
      return;
    }
    const auto offset = data_start_ + range->begin;
    content_.tensors.push_back(
        {name, dtype->string(), *shape, offset,
         file_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(range->end - range->begin))});
    content_.data_bytes += range->end - range->begin;
  }

  // Ranges sorted by start must follow each other without gap or overlap, from the data start to the end of the file.
  void check_tiling() {
    if (!problems_.empty()) return;  // entries are missing, so every gap would be reported twice
    std::vector<const TensorEntry*> order;
    for (const TensorEntry& tensor : content_.tensors) order.push_back(&tensor);
    std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
      return std::pair(a->offset, a->bytes.size()) < std::pair(b->offset, b->bytes.size());
    });
    std::int64_t position = data_start_;
    for (const TensorEntry* tensor : order) {
      if (tensor->offset != position) {
        problems_.add(ErrorCode::kDataCorruption, printable(tensor->name), "data starts at byte {}, expected {} ({})",
                      tensor->offset - data_start_, position - data_start_,
                      tensor->offset > position ? "a gap before it" : "it overlaps another tensor");
      }
      position = std::max(position, tensor->offset + static_cast<std::int64_t>(tensor->bytes.size()));
    }
    if (position != static_cast<std::int64_t>(file_.size())) {
      problems_.add(ErrorCode::kDataCorruption, "data", "file has {} bytes, header and tensors need {}", file_.size(),
                    position);
    }
  }

  std::span<const std::byte> file_;
  Problems& problems_;
  std::int64_t data_start_ = 0;
  SafetensorsContent content_;
};

}  // namespace

int safetensors_dtype_bits(std::string_view dtype) {
  if (dtype == "F4") return 4;
  const auto known = dtype_from_safetensors(dtype);
  return known ? static_cast<int>(8 * dtype_bytes(*known)) : 0;
}

SafetensorsContent parse_safetensors(std::span<const std::byte> file, Problems& problems) {
  Problems own;
  SafetensorsContent content = Parser(file, own).run();
  problems.merge(own, "");
  return content;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  SafetensorsFile out;
  DI_ASSIGN(out.file_, base::MappedFile::open(path));
  Problems problems;
  out.content_ = parse_safetensors(out.file_.bytes(), problems);
  DI_TRY(problems.to_status(path));
  return out;
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::find_if(content_.tensors.begin(), content_.tensors.end(),
                               [&](const TensorEntry& tensor) { return tensor.name == name; });
  return at == content_.tensors.end() ? nullptr : &*at;
}

Result<ConstTensorRef> SafetensorsFile::tensor(std::string_view name) const {
  const TensorEntry* entry = find(name);
  if (entry == nullptr) return errorf(ErrorCode::kNotFound, "{} has no tensor {}", path(), name);
  const auto dtype = dtype_from_safetensors(entry->dtype);
  if (!dtype || entry->shape.size() > static_cast<std::size_t>(Shape::kMaxRank)) {
    return errorf(ErrorCode::kUnsupported, "{}: {} has dtype {} and {} dimensions; dtypes of this build, at most {}",
                  path(), name, entry->dtype, entry->shape.size(), Shape::kMaxRank);
  }
  if (std::find(entry->shape.begin(), entry->shape.end(), 0) != entry->shape.end()) {
    return errorf(ErrorCode::kInvalidArgument, "{}: {} has the shape [{}], extents must be at least 1", path(), name,
                  fmt::join(entry->shape, ", "));
  }
  return ConstTensorRef{{*dtype, Shape(std::span<const std::int64_t>(entry->shape))}, entry->bytes.data(), nullptr};
}

std::string safetensors_image(std::span<const RawTensor> tensors) {
  Json header = Json::object();
  std::int64_t offset = 0;
  for (const RawTensor& tensor : tensors) {
    Json shape = Json::array();
    for (const std::int64_t extent : tensor.shape) shape.push(extent);
    const auto end = offset + static_cast<std::int64_t>(tensor.bytes.size());
    header.members().emplace_back(tensor.name,
                                  Json(Json::Object{{"dtype", tensor.dtype},
                                                    {"shape", std::move(shape)},
                                                    {"data_offsets", Json(Json::Array{Json(offset), Json(end)})}}));
    offset = end;
  }
  std::string text = base::dump_json(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string image;
  image.reserve(text.size() + 8 + static_cast<std::size_t>(offset));
  for (std::size_t i = 0; i < 8; ++i) image.push_back(static_cast<char>((text.size() >> (8 * i)) & 0xFF));
  image += text;
  for (const RawTensor& tensor : tensors) {
    image.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return image;
}

Status write_safetensors(const std::string& path, std::span<const NamedTensor> tensors) {
  std::vector<RawTensor> raw;
  std::unordered_set<std::string_view> names;
  for (const NamedTensor& item : tensors) {
    const auto dtype = dtype_safetensors(item.tensor.type.dtype);
    if (!names.insert(item.name).second || item.name == "__metadata__") {
      return errorf(ErrorCode::kInvalidArgument, "{}: tensor name {} is used twice or reserved", path, item.name);
    }
    if (dtype.empty() || item.tensor.segments != nullptr) {
      return errorf(ErrorCode::kInvalidArgument, "{}: {} is {}, which a safetensors file cannot hold as one tensor",
                    path, item.name, to_string(item.tensor.type));
    }
    const auto extents = item.tensor.type.shape.extents();
    raw.push_back(
        {item.name,
         std::string(dtype),
         {extents.begin(), extents.end()},
         {static_cast<const std::byte*>(item.tensor.data), static_cast<std::size_t>(item.tensor.type.bytes())}});
  }
  return base::write_file(path, safetensors_image(raw));
}

}  // namespace deepinfer::checkpoint
