#include "graph/verifier.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"

namespace deepinfer::graph {
namespace {

constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kMaxRootElements = std::int64_t{1} << 40;

bool is_word(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class Verifier {
 public:
  Verifier(const Graph& graph, const VerifyOptions& options) : graph_(graph), options_(options) {}

  std::vector<Violation> run() {
    if (check_defined()) {  // every other rule needs operands that exist
      index_inputs();
      for (std::size_t i = 0; i < graph_.inputs.size(); ++i) check_input(i);
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_node(i);
      check_used();
      check_outputs();
      check_donations();
    }
    return std::move(violations_);
  }

 private:
  // ---- messages
  void report(std::string_view rule, std::string where, std::string found, std::string expected) {
    violations_.push_back({rule, std::move(where), std::move(found), std::move(expected)});
  }
  std::string at_graph() const { return fmt::format("graph {}", graph_.name); }
  std::string at_input(std::size_t i) const {
    return fmt::format("graph {}, input {}", graph_.name, graph_.inputs[i].name);
  }
  std::string at_node(std::size_t i) const {
    const Node& node = graph_.nodes[i];
    std::string out = fmt::format("graph {}, %{} {} {}", graph_.name,
                                  graph_.num_inputs() + static_cast<std::int32_t>(i), node.op->name, node.path);
    if (!node.stage.empty()) out += fmt::format(" ({})", node.stage);
    if (node.site.line > 0) out += fmt::format(" {}:{}", node.site.file, node.site.line);
    return out;
  }

  // ---- G001
  bool check_defined() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::int32_t def = graph_.num_inputs() + static_cast<std::int32_t>(i);
      for (const ValueId operand : graph_.nodes[i].operands) {
        if (operand.def < def && graph_.has(operand)) continue;
        report("G001", at_node(i), fmt::format("operand %{}#{}", operand.def, operand.result),
               "a value defined earlier");
      }
    }
    for (const GraphOutput& output : graph_.outputs) {
      if (graph_.has(output.value)) continue;
      report("G001", at_graph(), fmt::format("output %{}#{}", output.value.def, output.value.result),
             "a defined value");
    }
    return violations_.empty();
  }

  void check_used() {
    std::vector<bool> used(static_cast<std::size_t>(graph_.num_defs()));
    for (const Node& node : graph_.nodes) {
      for (const ValueId operand : node.operands) used[static_cast<std::size_t>(operand.def)] = true;
    }
    for (const GraphOutput& output : graph_.outputs) used[static_cast<std::size_t>(output.value.def)] = true;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!used[graph_.inputs.size() + i]) report("G001", at_node(i), "no result used", "at least one used result");
    }
  }

  // ---- inputs: G003, G005, G006 (root versions start here), G011
  void index_inputs() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].role == InputRole::kState)
        root_of_[{static_cast<std::int32_t>(i), 0}] = static_cast<std::int32_t>(i);
    }
  }

  void check_input(std::size_t i) {
    const GraphInput& input = graph_.inputs[i];
    const bool large = input.role == InputRole::kState || input.role == InputRole::kWeight;
    check_extents(input.type, large ? kMaxRootElements : kMaxElements, at_input(i));
    check_dtype(input.type, at_input(i));
    const bool plain = !input.name.empty() && std::all_of(input.name.begin(), input.name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    });
    if (!plain) report("G011", at_input(i), fmt::format("name {}", quoted(input.name)), "characters of [A-Za-z0-9_.]");
    if (!names_.insert(input.name).second) report("G011", at_input(i), "the name twice", "a unique name");
  }

  void check_extents(const TensorType& type, std::int64_t max_elements, const std::string& where) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : type.shape.extents()) {
      if (extent < 1) return report("G003", where, deepinfer::to_string(type), "extents >= 1");
      if (extent > max_elements / elements) {
        return report("G003", where, deepinfer::to_string(type), fmt::format("at most {} elements", max_elements));
      }
      elements *= extent;
    }
  }

  void check_dtype(const TensorType& type, const std::string& where) {
    if (graph_.target == "host" || !is_host_only(type.dtype)) return;
    report("G005", where, deepinfer::to_string(type), fmt::format("no host-only dtype for target {}", graph_.target));
  }

  // ---- nodes
  void check_node(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const std::size_t before = violations_.size();
    check_roots(i);
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const bool root = root_of_.contains({def_of(i), static_cast<std::int32_t>(r)});
      check_extents(node.results[r], root ? kMaxRootElements : kMaxElements, at_node(i));
      check_dtype(node.results[r], at_node(i));
    }
    if (graph_.target != "host" && node.op->level == OpLevel::kHost) {
      report("G005", at_node(i), "host-only op", fmt::format("an op of target {}", graph_.target));
    }
    check_attrs(i);
    if (node.op->level == OpLevel::kCollective) check_collective(i);
    if (violations_.size() == before) check_types(i);  // inference trusts attributes and extents
  }

  std::int32_t def_of(std::size_t i) const { return graph_.num_inputs() + static_cast<std::int32_t>(i); }

  void check_attrs(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const auto complete = complete_attrs(node.op->attrs, node.attrs);
    if (!complete) {
      report("G004", at_node(i), complete.error().to_string(), "the declared attributes");
    } else if (*complete != node.attrs) {
      report("G004", at_node(i), "attributes missing or out of order", "all declared attributes in declaration order");
    }
    for (const auto& [name, value] : node.attrs.items()) {
      const auto* real = std::get_if<double>(&value);
      if (real != nullptr && !std::isfinite(*real))
        report("G004", at_node(i), name + " is not finite", "a finite number");
      const auto* word = std::get_if<Word>(&value);
      if (word != nullptr && !is_word(word->text))
        report("G004", at_node(i), fmt::format("{}={}", name, quoted(word->text)), "a word");
    }
  }

  void check_types(std::size_t i) {
    const Node& node = graph_.nodes[i];
    if (node.op == &constant_op()) return check_constant(i);
    if (node.constant) return report("G002", at_node(i), "a constant value", "none");
    std::vector<TensorType> operands;
    for (const ValueId operand : node.operands) operands.push_back(graph_.type_of(operand));
    const auto inferred = node.op->infer(operands, node.attrs);
    if (!inferred) return report("G002", at_node(i), inferred.error().to_string(), "operands that the op accepts");
    if (*inferred == node.results) return;
    report("G002", at_node(i), types_text(node.results), types_text(*inferred));
  }

  static std::string types_text(const std::vector<TensorType>& types) {
    std::string out;
    for (const TensorType& type : types) out += (out.empty() ? "" : ", ") + deepinfer::to_string(type);
    return "(" + out + ")";
  }

  void check_constant(std::size_t i) {
    const Node& node = graph_.nodes[i];
    if (!node.constant || !node.operands.empty() || node.results.size() != 1) {
      return report("G002", at_node(i),
                    fmt::format("{} operands, {} results", node.operands.size(), node.results.size()),
                    "a value, no operands, one result");
    }
    // A splat is checked on one element, raw bytes on the whole type.
    TensorType type = node.results[0];
    if (const auto* bytes = std::get_if<std::string>(&*node.constant)) {
      if (static_cast<std::int64_t>(bytes->size()) != type.bytes()) {
        report("G002", at_node(i), fmt::format("{} bytes", bytes->size()), fmt::format("{} bytes", type.bytes()));
      }
      return;
    }
    type.shape = Shape{};
    const auto value = materialise(*node.constant, type);
    if (!value) report("G002", at_node(i), value.error().message, "a value of the type");
  }

  void check_collective(std::size_t i) {
    const AttrValue* seq = graph_.nodes[i].attrs.find("seq");
    const auto* number = seq == nullptr ? nullptr : std::get_if<std::int64_t>(seq);
    const std::int64_t expected = next_seq_++;
    if (number != nullptr && *number == expected) return;
    report("G008", at_node(i), number == nullptr ? "no seq" : fmt::format("seq={}", *number),
           fmt::format("seq={}", expected));
  }

  // ---- root versions: G006 (role), G007, G009
  void check_roots(std::size_t i) {
    const Node& node = graph_.nodes[i];
    for (const ValueId operand : node.operands) {
      if (const auto used = consumed_.find(operand); used != consumed_.end()) {
        report("G007", at_node(i), fmt::format("use of %{}, consumed by {}", operand.def, used->second),
               "its newest version");
      }
      if (const auto root = root_of_.find(operand); root != root_of_.end()) check_view(i, root->second);
    }
    for (const InPlace& pair : node.op->in_place) check_write(i, pair);
  }

  void check_write(std::size_t i, const InPlace& pair) {
    const Node& node = graph_.nodes[i];
    if (static_cast<std::size_t>(pair.operand) >= node.operands.size() ||
        static_cast<std::size_t>(pair.result) >= node.results.size()) {
      return;  // reported as G002
    }
    const ValueId operand = node.operands[static_cast<std::size_t>(pair.operand)];
    if (std::count(node.operands.begin(), node.operands.end(), operand) > 1) {
      report("G007", at_node(i), fmt::format("%{} written and read by one node", operand.def),
             "one use of the consumed version");
    }
    consumed_.try_emplace(operand, at_node(i));
    if (graph_.is_input(operand)) {
      const GraphInput& input = graph_.inputs[static_cast<std::size_t>(operand.def)];
      if (input.role != InputRole::kState && input.role != InputRole::kStage) {
        report("G006", at_node(i), fmt::format("a write to {} input {}", role_name(input.role), input.name),
               "a state or stage input");
      }
    }
    const auto root = root_of_.find(operand);
    if (root == root_of_.end()) return;
    const ValueId version{def_of(i), pair.result};
    root_of_[version] = root->second;
    newest_[root->second] = version;
  }

  /// The op must name the bytes it touches (base, rows), inside the root's row and among the declared views.
  void check_view(std::size_t i, std::int32_t root) {
    const Node& node = graph_.nodes[i];
    const GraphInput& input = graph_.inputs[static_cast<std::size_t>(root)];
    const auto number = [&](std::string_view name) -> const std::int64_t* {
      const AttrValue* value = node.attrs.find(name);
      return value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
    };
    const std::int64_t* base = number("base");
    const std::int64_t* rows = number("rows");
    if (base == nullptr || rows == nullptr) {
      return report("G009", at_node(i), fmt::format("{} as operand of {}", input.name, node.op->name),
                    "an op with attributes base and rows");
    }
    const std::int64_t row_bytes = number("row_bytes") != nullptr ? *number("row_bytes") : 1;
    const std::int64_t width =
        input.type.shape.rank() == 2 ? input.type.bytes() / std::max<std::int64_t>(input.type.shape[0], 1) : 0;
    const std::string view =
        fmt::format("view of {} with base={} rows={} row_bytes={}", input.name, *base, *rows, row_bytes);
    if (*base < 0 || *base > width || *rows < 1 || row_bytes < 1 || *rows > (width - *base) / row_bytes) {
      return report("G009", at_node(i), view, fmt::format("a view inside a row of {} bytes", width));
    }
    const bool declared = std::any_of(options_.views.begin(), options_.views.end(), [&](const DeclaredView& candidate) {
      return candidate.root == input.name && candidate.base == *base && candidate.rows == *rows;
    });
    if (!declared && !options_.views.empty()) report("G009", at_node(i), view, "a view of the cache layout");
  }

  // ---- G007 (returned), G010
  void check_outputs() {
    for (const auto& [root, version] : newest_) {
      const bool returned =
          std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                      [version = version](const GraphOutput& output) { return output.value == version; });
      if (!returned) {
        report("G007", at_input(static_cast<std::size_t>(root)), "a written state that is not returned",
               fmt::format("output %{}", version.def));
      }
    }
    if (graph_.outputs.empty()) report("G001", at_graph(), "no output", "at least one output");
    for (const GraphOutput& output : graph_.outputs) {
      if (const auto used = consumed_.find(output.value); used != consumed_.end()) {
        report("G007", at_graph(), fmt::format("output %{}, consumed by {}", output.value.def, used->second),
               "its newest version");
      }
      if (!graph_.is_input(output.value)) continue;
      report("G010", at_input(static_cast<std::size_t>(output.value.def)), "an unchanged input returned",
             "no such output");
    }
  }

  // ---- G006
  void check_donations() {
    std::set<std::int32_t> inputs;
    std::set<std::int32_t> outputs;
    for (const Donation& pair : graph_.donations) {
      const std::string text = fmt::format("donate {}->{}", pair.input, pair.output);
      if (pair.input < 0 || pair.input >= graph_.num_inputs() || pair.output < 0 ||
          static_cast<std::size_t>(pair.output) >= graph_.outputs.size()) {
        report("G006", at_graph(), text, "existing input and output indices");
        continue;
      }
      if (!inputs.insert(pair.input).second || !outputs.insert(pair.output).second) {
        report("G006", at_graph(), text + " uses an index twice", "each index once");
      }
      check_donation(pair, text);
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].role != InputRole::kState) continue;
      const bool written = newest_.contains(static_cast<std::int32_t>(i));
      const bool donated = inputs.contains(static_cast<std::int32_t>(i));
      if (written && !donated) report("G006", at_input(i), "a written state that is not donated", "a donation");
      if (!written && donated) report("G006", at_input(i), "donation of a state that is only read", "no donation");
    }
  }

  void check_donation(const Donation& pair, const std::string& text) {
    const GraphInput& input = graph_.inputs[static_cast<std::size_t>(pair.input)];
    const ValueId output = graph_.outputs[static_cast<std::size_t>(pair.output)].value;
    if (input.role != InputRole::kState && input.role != InputRole::kStage) {
      report("G006", at_graph(), fmt::format("{} of role {}", text, role_name(input.role)), "role state or stage");
    }
    if (!(input.type == graph_.type_of(output))) {
      report("G006", at_graph(),
             fmt::format("{}: {} to {}", text, deepinfer::to_string(input.type),
                         deepinfer::to_string(graph_.type_of(output))),
             "equal types");
    }
    const auto newest = newest_.find(pair.input);
    if (newest != newest_.end() && newest->second != output) {
      report("G006", at_graph(), fmt::format("{} to %{}", text, output.def),
             fmt::format("the newest version %{}", newest->second.def));
    }
  }

  const Graph& graph_;
  const VerifyOptions& options_;
  std::vector<Violation> violations_;
  std::set<std::string_view> names_;
  std::map<ValueId, std::int32_t> root_of_;  // root version -> state input
  std::map<ValueId, std::string> consumed_;  // value -> node that wrote over it
  std::map<std::int32_t, ValueId> newest_;   // written state input -> newest version
  std::int64_t next_seq_ = 0;
};

}  // namespace

std::string Violation::to_string() const {
  return fmt::format("{} {}: found {}, expected {}", rule, where, found, expected);
}

std::vector<Violation> find_violations(const Graph& graph, const VerifyOptions& options) {
  return Verifier(graph, options).run();
}

Status verify(const Graph& graph, const VerifyOptions& options) {
  constexpr std::size_t kShown = 20;
  const auto violations = find_violations(graph, options);
  if (violations.empty()) return {};
  std::string text = violations[0].to_string();
  for (std::size_t i = 1; i < std::min(violations.size(), kShown); ++i) text += "\n" + violations[i].to_string();
  if (violations.size() > kShown) text += fmt::format("\nand {} more", violations.size() - kShown);
  return make_error(ErrorCode::kInvalidArgument, std::move(text));
}

}  // namespace deepinfer::graph
