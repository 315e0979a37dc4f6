#include <charconv>
#include <cmath>

#include "base/error.h"
#include "graph/text.h"

namespace deepinfer::graph {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;
// Keeps element and byte counts far from overflow; the verifier applies the real bounds (G003).
constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;

bool is_ident_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_ident(char c) { return is_ident_start(c) || is_digit(c); }

/// Tokens of one text, with the line number for messages. Blanks are skipped; newlines are tokens.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  int line() const { return line_; }
  std::string_view file() const { return file_; }

  tl::unexpected<Error> fail(std::string_view expected) {
    return errorf(ErrorCode::kInvalidArgument, "{}:{}: found {}, expected {}", file_, line_, found(), expected);
  }
  tl::unexpected<Error> too_many(std::string_view what, std::size_t limit) const {
    return errorf(ErrorCode::kResourceExhausted, "{}:{}: more than {} {}", file_, line_, limit, what);
  }

  void skip_blanks() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\r')) ++pos_;
  }
  char peek() {
    skip_blanks();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  bool at_end() {
    skip_blanks();
    return pos_ == text_.size();
  }
  bool accept(std::string_view token) {
    skip_blanks();
    if (!text_.substr(pos_).starts_with(token)) return false;
    // A word must not continue: "returned" is not "return".
    const std::size_t end = pos_ + token.size();
    if (is_ident(token.back()) && end < text_.size() && is_ident(text_[end])) return false;
    pos_ = end;
    return true;
  }
  Status expect(std::string_view token) {
    if (accept(token)) return {};
    return fail(fmt::format("'{}'", token));
  }

  Result<std::string_view> ident() {
    if (!is_ident_start(peek())) return fail("a name");
    const std::size_t begin = pos_;
    while (pos_ < text_.size() && is_ident(text_[pos_])) ++pos_;
    return text_.substr(begin, pos_ - begin);
  }

  /// The characters of a number, not yet converted.
  std::string_view number_text() {
    skip_blanks();
    const std::size_t begin = pos_;
    while (pos_ < text_.size() &&
           (is_digit(text_[pos_]) ||
            (text_[pos_] != '\0' && std::string_view("+-.e").find(text_[pos_]) != std::string_view::npos)))
      ++pos_;
    return text_.substr(begin, pos_ - begin);
  }
  Result<std::int64_t> integer() {
    skip_blanks();
    std::int64_t value = 0;
    const char* begin = text_.data() + pos_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc()) return fail("a 64-bit integer");
    pos_ += static_cast<std::size_t>(end - begin);
    return value;
  }
  Result<std::int32_t> index() {
    DI_ASSIGN(const std::int64_t value, integer());
    if (value < 0 || value > INT32_MAX) return fail("an index below 2^31 before this");
    return static_cast<std::int32_t>(value);
  }

  Result<std::string> quoted_text() {
    DI_TRY(expect("\""));
    std::string out;
    while (pos_ < text_.size() && text_[pos_] != '"') {
      char c = text_[pos_++];
      if (c == '\n') return fail("the closing quote on the same line");
      if (c == '\\') {
        DI_ASSIGN(c, escaped());
      }
      out += c;
    }
    if (pos_ == text_.size()) return fail("a closing quote");
    ++pos_;
    return out;
  }
  /// Digits between the quotes of hex"...".
  Result<std::string> hex_bytes(std::size_t max_bytes) {
    DI_TRY(expect("hex\""));
    const std::size_t end = text_.find('"', pos_);
    if (end == std::string_view::npos) return fail("a closing quote");
    if ((end - pos_) / 2 > max_bytes) return too_many("bytes in one constant", max_bytes);
    std::string out;
    for (; pos_ + 1 < end; pos_ += 2) {
      DI_ASSIGN(const char byte, hex_byte());
      out += byte;
    }
    if (pos_ != end) return fail("an even number of hexadecimal digits");
    ++pos_;
    return out;
  }

  /// End of an item: returns the text of an optional comment, consumes newline and following empty lines.
  Result<std::string_view> end_of_item() {
    std::string_view comment;
    if (peek() == '#') {
      const std::size_t end = std::min(text_.find('\n', pos_), text_.size());
      comment = text_.substr(pos_ + 1, end - pos_ - 1);
      pos_ = end;
    }
    if (peek() != '\n') return fail("the end of the line");
    skip_lines();
    return comment;
  }
  /// Skips newlines and lines that hold only a comment.
  void skip_lines() {
    while (peek() == '\n' || peek() == '#') {
      if (peek() == '#') pos_ = std::min(text_.find('\n', pos_), text_.size());
      if (pos_ == text_.size()) return;
      ++pos_;
      ++line_;
    }
  }

 private:
  Result<char> escaped() {
    if (pos_ == text_.size()) return fail("an escape");
    const char c = text_[pos_++];
    if (c == '"' || c == '\\') return c;
    if (c == 'x') return hex_byte_advancing();
    return fail("one of \\\" \\\\ \\xHH");
  }
  Result<char> hex_byte_advancing() {
    DI_ASSIGN(const char byte, hex_byte());
    pos_ += 2;
    return byte;
  }
  Result<char> hex_byte() {
    unsigned value = 0;
    if (pos_ + 2 > text_.size()) return fail("two hexadecimal digits");
    const char* begin = text_.data() + pos_;
    if (std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) return fail("two hexadecimal digits");
    return static_cast<char>(value);
  }
  std::string found() {
    skip_blanks();
    if (pos_ >= text_.size()) return "the end of the text";
    if (text_[pos_] == '\n') return "the end of the line";
    std::string_view rest = text_.substr(pos_, 24);
    rest = rest.substr(0, rest.find('\n'));
    return quoted(rest);
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t pos_ = 0;
  int line_ = 1;
};

class Parser {
 public:
  Parser(Scanner scanner, const OpRegistry& registry, const TextLimits& limits)
      : in_(scanner), registry_(registry), limits_(limits) {}

  Result<Graph> graph() {
    in_.skip_lines();
    DI_TRY(header());
    bool returned = false;
    while (!returned) {
      if (in_.accept("return")) {
        DI_TRY(outputs());
        returned = true;
      } else {
        DI_TRY(definition());
      }
    }
    if (in_.accept("donate")) DI_TRY(donations());
    DI_TRY(in_.expect("}"));
    if (!in_.at_end()) DI_TRY(in_.end_of_item());
    if (!in_.at_end()) return in_.fail("the end of the text");
    return std::move(graph_);
  }

 private:
  Status header() {
    DI_TRY(in_.expect("graph"));
    DI_ASSIGN(graph_.name, in_.quoted_text());
    while (in_.peek() != '{') {
      DI_ASSIGN(const std::string_view key, in_.ident());
      if (key != "target") return in_.fail(fmt::format("'target' instead of '{}'", key));
      DI_TRY(in_.expect("="));
      DI_ASSIGN(graph_.target, in_.ident());
    }
    DI_TRY(in_.expect("{"));
    DI_TRY(in_.end_of_item());
    return {};
  }

  /// "%N = input ..." or "%N[:R] = op(...) ...".
  Status definition() {
    DI_TRY(in_.expect("%"));
    DI_ASSIGN(const std::int32_t def, in_.index());
    if (def != graph_.num_defs()) return in_.fail(fmt::format("definition %{} instead of %{}", graph_.num_defs(), def));
    if (static_cast<std::size_t>(def) >= limits_.max_defs) return in_.too_many("definitions", limits_.max_defs);
    std::optional<std::int32_t> count;
    if (in_.accept(":")) {
      DI_ASSIGN(count, in_.index());
    }
    DI_TRY(in_.expect("="));
    if (!count && in_.accept("input")) return input();
    return node(count);
  }

  Status input() {
    if (!graph_.nodes.empty()) return in_.fail("all inputs in front of the nodes");
    GraphInput input;
    DI_ASSIGN(input.name, in_.quoted_text());
    DI_ASSIGN(input.type, type());
    DI_TRY(in_.expect("role"));
    DI_TRY(in_.expect("="));
    DI_ASSIGN(const std::string_view name, in_.ident());
    DI_ASSIGN(input.role, role(name));
    if (in_.accept("range")) {
      DI_TRY(in_.expect("="));
      DI_TRY(in_.expect("["));
      InputRange range;
      DI_ASSIGN(range.lo, in_.integer());
      DI_TRY(in_.expect(","));
      DI_ASSIGN(range.hi, in_.integer());
      DI_TRY(in_.expect("]"));
      input.range = range;
    }
    DI_TRY(in_.end_of_item());
    graph_.inputs.push_back(std::move(input));
    return {};
  }

  Result<InputRole> role(std::string_view name) {
    for (const InputRole role : {InputRole::kWeight, InputRole::kState, InputRole::kHost, InputRole::kStage}) {
      if (role_name(role) == name) return role;
    }
    return in_.fail(fmt::format("role weight, state, host or stage instead of '{}'", name));
  }

  Status node(std::optional<std::int32_t> count) {
    Node node;
    node.site = {std::string(in_.file()), in_.line()};
    DI_ASSIGN(const std::string_view name, in_.ident());
    node.op = name == constant_op().name ? &constant_op() : registry_.find(name);
    if (node.op == nullptr) return in_.fail(fmt::format("a known op instead of '{}' before this", name));
    DI_TRY(in_.expect("("));
    if (in_.peek() != ')') DI_TRY(values([&](ValueId value) { node.operands.push_back(value); }));
    DI_TRY(in_.expect(")"));
    DI_TRY(in_.expect("{"));
    DI_TRY(node.op == &constant_op() ? constant_value(node) : attributes(node));
    DI_TRY(in_.expect("}"));
    DI_TRY(in_.expect(":"));
    DI_TRY(result_types(node));
    if (count && static_cast<std::size_t>(*count) != node.results.size()) {
      return in_.fail(fmt::format("{} result types, found {}", *count, node.results.size()));
    }
    DI_ASSIGN(const std::string_view comment, in_.end_of_item());
    place_from_comment(comment, node);
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  template <typename Sink>
  Status values(Sink sink) {
    std::size_t count = 0;
    do {
      if (++count > limits_.max_list) return in_.too_many("values in one list", limits_.max_list);
      ValueId value;
      DI_TRY(in_.expect("%"));
      DI_ASSIGN(value.def, in_.index());
      const bool selected = in_.peek() == '#' && in_.accept("#");
      if (selected) {
        DI_ASSIGN(value.result, in_.index());
      }
      if (!graph_.has(value))
        return in_.fail(fmt::format("a value defined above instead of %{}#{}", value.def, value.result));
      const bool several = !graph_.is_input(value) && graph_.node_of(value).results.size() > 1;
      if (selected != several) return in_.fail("'#k' behind values of nodes with several results, and only there");
      sink(value);
    } while (in_.accept(","));
    return {};
  }

  Status constant_value(Node& node) {
    DI_TRY(in_.expect("value"));
    DI_TRY(in_.expect("="));
    if (in_.peek() == 'h') {
      DI_ASSIGN(node.constant, in_.hex_bytes(limits_.max_constant_bytes));
      return {};
    }
    DI_ASSIGN(const AttrValue number, this->number());
    if (const auto* real = std::get_if<double>(&number)) node.constant = *real;
    if (const auto* integer = std::get_if<std::int64_t>(&number)) node.constant = *integer;
    return {};
  }

  Status attributes(Node& node) {
    while (in_.peek() != '}') {
      if (!node.attrs.items().empty()) DI_TRY(in_.expect(","));
      DI_ASSIGN(const std::string_view name, in_.ident());
      const AttrDecl* decl = nullptr;
      for (const AttrDecl& candidate : node.op->attrs) {
        if (candidate.name == name) decl = &candidate;
      }
      if (decl == nullptr)
        return in_.fail(fmt::format("an attribute of {} instead of '{}' before this", node.op->name, name));
      if (node.attrs.find(name) != nullptr) return in_.fail(fmt::format("attribute '{}' once", name));
      DI_TRY(in_.expect("="));
      DI_ASSIGN(AttrValue value, attribute(decl->kind));
      node.attrs.set(std::string(name), std::move(value));
    }
    return {};
  }

  /// A value of the declared kind, or (numbers) of the kind that the text has: the verifier then refuses it (G004).
  Result<AttrValue> attribute(AttrKind kind) {
    switch (kind) {
      case AttrKind::kBool:
        if (in_.accept("true")) return AttrValue(true);
        if (in_.accept("false")) return AttrValue(false);
        return in_.fail("true or false");
      case AttrKind::kInt:
      case AttrKind::kFloat: return number();
      case AttrKind::kString: {
        DI_ASSIGN(std::string text, in_.quoted_text());
        return AttrValue(std::move(text));
      }
      case AttrKind::kWord: {
        DI_ASSIGN(const std::string_view word, in_.ident());
        return AttrValue(Word{std::string(word)});
      }
      case AttrKind::kDType: {
        DI_ASSIGN(const DType dtype, this->dtype());
        return AttrValue(dtype);
      }
      case AttrKind::kInts: {
        DI_ASSIGN(std::vector<std::int64_t> list, integers());
        return AttrValue(std::move(list));
      }
    }
    return in_.fail("an attribute value");
  }

  Result<AttrValue> number() {
    const std::string_view text = in_.number_text();
    const char* const end = text.data() + text.size();
    if (text.find_first_of(".e") == std::string_view::npos) {
      std::int64_t value = 0;
      const auto parsed = std::from_chars(text.data(), end, value);
      if (parsed.ec != std::errc() || parsed.ptr != end) return in_.fail("a 64-bit integer before this");
      return AttrValue(value);
    }
    double value = 0;
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) return in_.fail("a finite number before this");
    return AttrValue(value);
  }

  Result<std::vector<std::int64_t>> integers() {
    DI_TRY(in_.expect("["));
    std::vector<std::int64_t> list;
    while (in_.peek() != ']') {
      if (!list.empty()) DI_TRY(in_.expect(","));
      if (list.size() >= limits_.max_list) return in_.too_many("integers in one list", limits_.max_list);
      DI_ASSIGN(const std::int64_t value, in_.integer());
      list.push_back(value);
    }
    DI_TRY(in_.expect("]"));
    return list;
  }

  Result<DType> dtype() {
    DI_ASSIGN(const std::string_view name, in_.ident());
    const auto dtype = dtype_from_name(name);
    if (!dtype) return in_.fail(fmt::format("an element type instead of '{}' before this", name));
    return *dtype;
  }

  Result<TensorType> type() {
    TensorType out;
    DI_ASSIGN(out.dtype, dtype());
    DI_ASSIGN(const std::vector<std::int64_t> extents, integers());
    if (extents.size() > Shape::kMaxRank)
      return in_.fail(fmt::format("at most {} extents before this", int{Shape::kMaxRank}));
    std::int64_t elements = 1;
    for (const std::int64_t extent : extents) {
      if (extent < 0 || extent > kMaxExtent) return in_.fail("extents from 0 to 2^40 before this");
      if (extent > 0 && elements > kMaxElements / extent) return in_.fail("at most 2^56 elements before this");
      elements *= std::max<std::int64_t>(extent, 1);
    }
    out.shape = Shape(extents);
    return out;
  }

  Status result_types(Node& node) {
    if (!in_.accept("(")) {
      DI_ASSIGN(const TensorType only, type());
      node.results.push_back(only);
      return {};
    }
    while (in_.peek() != ')') {
      if (!node.results.empty()) DI_TRY(in_.expect(","));
      if (node.results.size() >= limits_.max_list) return in_.too_many("results of one node", limits_.max_list);
      DI_ASSIGN(const TensorType next, type());
      node.results.push_back(next);
    }
    return in_.expect(")");
  }

  static bool is_path(std::string_view text) {
    for (const char c : text) {
      if (!is_ident(c) && c != '.' && c != '/') return false;
    }
    return true;
  }

  /// "# path @ stage", as the printer writes it; any other comment is only a comment.
  static void place_from_comment(std::string_view comment, Node& node) {
    if (comment.empty() || comment.front() != ' ') return;
    comment.remove_prefix(1);
    while (!comment.empty() && (comment.back() == ' ' || comment.back() == '\r')) comment.remove_suffix(1);
    std::string_view path = comment;
    std::string_view stage;
    if (comment.starts_with("@ ")) {
      path = {};
      stage = comment.substr(2);
    } else if (const std::size_t at = comment.find(" @ "); at != std::string_view::npos) {
      path = comment.substr(0, at);
      stage = comment.substr(at + 3);
    }
    if (!is_path(path) || !is_path(stage)) return;
    node.path = path;
    node.stage = stage;
  }

  Status outputs() {
    DI_TRY(values([&](ValueId value) { graph_.outputs.push_back({value, {}}); }));
    DI_TRY(in_.end_of_item());
    return {};
  }

  Status donations() {
    do {
      if (graph_.donations.size() >= limits_.max_list) return in_.too_many("donations", limits_.max_list);
      Donation pair;
      DI_ASSIGN(pair.input, in_.index());
      DI_TRY(in_.expect("->"));
      DI_ASSIGN(pair.output, in_.index());
      graph_.donations.push_back(pair);
    } while (in_.accept(","));
    DI_TRY(in_.end_of_item());
    return {};
  }

  Scanner in_;
  const OpRegistry& registry_;
  const TextLimits& limits_;
  Graph graph_;
};

}  // namespace

Result<Graph> parse_text(std::string_view text, const OpRegistry& registry, std::string_view file,
                         const TextLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return errorf(ErrorCode::kResourceExhausted, "{}: {} bytes, at most {} are accepted", file, text.size(),
                  limits.max_bytes);
  }
  return Parser(Scanner(text, file), registry, limits).graph();
}

}  // namespace deepinfer::graph
