// Attributes of a node: an ordered list of named plain values (graph.md 1.3). No pointers, no paths, no handles, so
// two traces of the same model give the same text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deepinfer/status.h"
#include "tensor/dtype.h"

namespace deepinfer::graph {

/// `Word` is a bare identifier in the text form (fmt=e4m3), a string is quoted.
struct Word {
  std::string text;
  bool operator==(const Word&) const = default;
};
using AttrValue =
    std::variant<bool, std::int64_t, double, std::string, Word, DType, std::vector<std::int64_t>>;

enum class AttrKind : std::uint8_t { kBool, kInt, kFloat, kString, kWord, kDType, kInts };

/// One declared attribute of an op; without a default it must be given.
struct AttrDecl {
  std::string_view name;
  AttrKind kind;
  std::optional<AttrValue> default_value = std::nullopt;
};

class Attrs {
 public:
  using Item = std::pair<std::string, AttrValue>;
  Attrs() = default;
  Attrs(std::initializer_list<Item> items) : items_(items) {}

  void set(std::string name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  std::span<const Item> items() const { return items_; }

  // Typed access to attributes that the verifier has seen (CheckFailure otherwise).
  bool boolean(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  const std::string& word(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;

  bool operator==(const Attrs&) const = default;

 private:
  std::vector<Item> items_;
};

/// Fills defaults, puts the items into declaration order, and refuses missing, unknown and wrongly typed ones (G004).
Result<Attrs> complete_attrs(std::span<const AttrDecl> declared, const Attrs& given);

/// The text between double quotes, with \" \\ and \xHH for quotes, backslashes and control characters.
std::string quoted(std::string_view text);

/// Text of one value as graph.md 1.4 prints it (floats with 17 significant digits).
std::string to_string(const AttrValue& value);

}  // namespace deepinfer::graph
