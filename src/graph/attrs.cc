#include "graph/attrs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/error.h"

namespace deepinfer::graph {

void Attrs::set(std::string name, AttrValue value) {
  for (auto& [key, old] : items_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  items_.emplace_back(std::move(name), std::move(value));
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [key, value] : items_) {
    if (key == name) return &value;
  }
  return nullptr;
}

namespace {
template <typename T>
const T& typed(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  DI_CHECK(value != nullptr && std::holds_alternative<T>(*value), "attribute {}", name);
  return std::get<T>(*value);
}
}  // namespace

bool Attrs::boolean(std::string_view name) const { return typed<bool>(*this, name); }
std::int64_t Attrs::integer(std::string_view name) const { return typed<std::int64_t>(*this, name); }
double Attrs::real(std::string_view name) const { return typed<double>(*this, name); }
const std::string& Attrs::word(std::string_view name) const { return typed<Word>(*this, name).text; }
DType Attrs::dtype(std::string_view name) const { return typed<DType>(*this, name); }
const std::vector<std::int64_t>& Attrs::integers(std::string_view name) const {
  return typed<std::vector<std::int64_t>>(*this, name);
}

namespace {

std::size_t variant_index(AttrKind kind) { return static_cast<std::size_t>(kind); }
static_assert(std::is_same_v<std::variant_alternative_t<static_cast<std::size_t>(AttrKind::kInts), AttrValue>,
                             std::vector<std::int64_t>>);

bool is_declared(std::span<const AttrDecl> declared, std::string_view name) {
  for (const AttrDecl& decl : declared) {
    if (decl.name == name) return true;
  }
  return false;
}

}  // namespace

Result<Attrs> complete_attrs(std::span<const AttrDecl> declared, const Attrs& given) {
  for (const auto& [name, value] : given.items()) {
    if (!is_declared(declared, name)) return errorf(ErrorCode::kInvalidArgument, "G004 unknown attribute {}", name);
  }
  Attrs out;
  for (const AttrDecl& decl : declared) {
    const AttrValue* value = given.find(decl.name);
    if (value == nullptr && decl.default_value) value = &*decl.default_value;
    if (value == nullptr) return errorf(ErrorCode::kInvalidArgument, "G004 missing attribute {}", decl.name);
    if (value->index() != variant_index(decl.kind)) {
      return errorf(ErrorCode::kInvalidArgument, "G004 attribute {} = {} has the wrong type", decl.name,
                    to_string(*value));
    }
    out.set(std::string(decl.name), *value);
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

namespace {
struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    std::string text = fmt::format("{:.17g}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const Word& value) const { return value.text; }
  std::string operator()(DType value) const { return std::string(dtype_name(value)); }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ","));
  }
};
}  // namespace

std::string to_string(const AttrValue& value) { return std::visit(Printer{}, value); }

}  // namespace deepinfer::graph
