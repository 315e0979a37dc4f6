#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/io.h"
#include "graph/text.h"

namespace deepinfer::graph {
namespace {

using Out = fmt::memory_buffer;

template <typename... Args>
void put(Out& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

void put_value(Out& out, const Graph& graph, ValueId value) {
  put(out, "%{}", value.def);
  if (!graph.is_input(value) && graph.node_of(value).results.size() > 1) put(out, "#{}", value.result);
}

template <typename List, typename PutItem>
void put_list(Out& out, const List& items, PutItem put_item) {
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) put(out, ", ");
    put_item(item);
  }
}

std::string constant_text(const ConstantValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return to_string(AttrValue(*integer));
  if (const auto* real = std::get_if<double>(&value)) return to_string(AttrValue(*real));
  std::string hex;
  for (const char byte : std::get<std::string>(value)) {
    fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(byte));
  }
  return "hex\"" + hex + "\"";
}

void put_input(Out& out, const GraphInput& input, std::int32_t def) {
  put(out, "  %{} = input {} {} role={}", def, quoted(input.name), deepinfer::to_string(input.type),
      role_name(input.role));
  if (input.range) put(out, " range=[{},{}]", input.range->lo, input.range->hi);
  put(out, "\n");
}

void put_node(Out& out, const Graph& graph, std::int32_t def) {
  const Node& node = graph.node_of({def, 0});
  put(out, "%{} = {}(", def, node.op->name);
  put_list(out, node.operands, [&](ValueId value) { put_value(out, graph, value); });
  put(out, ") {{");
  if (node.constant) {
    put(out, "value={}", constant_text(*node.constant));
  } else {
    put_list(out, node.attrs.items(),
             [&](const Attrs::Item& item) { put(out, "{}={}", item.first, to_string(item.second)); });
  }
  put(out, "}} : ");
  if (node.results.size() != 1) put(out, "(");
  put_list(out, node.results, [&](const TensorType& type) { put(out, "{}", deepinfer::to_string(type)); });
  if (node.results.size() != 1) put(out, ")");
}

void put_comment(Out& out, const Node& node) {
  if (node.path.empty() && node.stage.empty()) return;
  put(out, "  #{}{}", node.path.empty() ? "" : " ", node.path);
  if (!node.stage.empty()) put(out, " @ {}", node.stage);
}

enum class Form { kSnapshot, kHashed };

std::string print(const Graph& graph, Form form) {
  Out out;
  put(out, "graph ");
  if (form == Form::kSnapshot) put(out, "{} ", quoted(graph.name));
  put(out, "target={} {{\n", graph.target);
  for (std::int32_t i = 0; i < graph.num_inputs(); ++i) put_input(out, graph.inputs[static_cast<std::size_t>(i)], i);
  for (std::int32_t def = graph.num_inputs(); def < graph.num_defs(); ++def) {
    put(out, "  ");
    put_node(out, graph, def);
    if (form == Form::kSnapshot) put_comment(out, graph.node_of({def, 0}));
    put(out, "\n");
  }
  put(out, "  return ");
  put_list(out, graph.outputs, [&](const GraphOutput& output) { put_value(out, graph, output.value); });
  put(out, "\n");
  if (!graph.donations.empty()) {
    put(out, "  donate ");
    put_list(out, graph.donations, [&](const Donation& pair) { put(out, "{}->{}", pair.input, pair.output); });
    put(out, "\n");
  }
  put(out, "}}\n");
  return fmt::to_string(out);
}

}  // namespace

std::string to_text(const Graph& graph) { return print(graph, Form::kSnapshot); }

std::string node_text(const Graph& graph, std::size_t node_idx) {
  Out out;
  put_node(out, graph, graph.num_inputs() + static_cast<std::int32_t>(node_idx));
  return fmt::to_string(out);
}

std::string graph_hash(const Graph& graph) { return base::sha256_hex(print(graph, Form::kHashed)); }

}  // namespace deepinfer::graph
