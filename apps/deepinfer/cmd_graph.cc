// `deepinfer graph dump` and `graph plan`: the static graphs of a model, or one read from its text form.
#include "action.h"
#include "base/error.h"
#include "base/io.h"
#include "engine/graph_runner.h"
#include "graph/plan.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "ops/registry.h"
#include "settings.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

using base::Json;

/// Which graph.
struct GraphFlags {
  ModelFlags model;
  std::string file;
  std::int64_t batch = 1;
  std::string pass = "decode";
  std::int64_t max_model_len = 4096;

  void define(Arguments& a) {
    model.define(a);
    a.text("--graph", "FILE", "text form of a graph, instead of a model's", file);
    a.integer("--batch", "query tokens of a decode step, or requests of a draft pass", {1, 4096}, batch);
    a.choice("--pass", "which step of the model; default: decode", {{"decode", "draft"}}, pass);
    a.integer("--max-model-len", "context that the block tables are made for", {1, INT32_MAX}, max_model_len);
    a.later({"--region"});
  }

  Result<graph::Graph> make(const Context& context) const {
    if (!file.empty()) {
      DI_ASSIGN(const std::string text, base::read_file(file));
      DI_ASSIGN(graph::Graph parsed, graph::parse_text(text, ops::registry(), file));
      DI_TRY(graph::verify(parsed));
      return parsed;
    }
    DI_ASSIGN(const std::string folder, model.folder(context));
    engine::RunnerOptions options = model.runner_options(context);
    options.graph_mode = decltype(options.graph_mode)::kEager;  // captured sizes are not needed for a trace
    options.max_model_len = max_model_len;
    DI_ASSIGN(LoadedRunner loaded, load_weights(folder));
    if (pass == "draft" && loaded.model->config().num_nextn_predict_layers == 0) {
      return errorf(ErrorCode::kInvalidArgument, "{}: the checkpoint has no draft layers", folder);
    }
    DI_TRY(start_runner(loaded, options));
    return pass == "draft" ? engine::trace_draft(*loaded.runner, batch) : engine::trace_decode(*loaded.runner, batch);
  }
};

std::string value_name(graph::ValueId value) {
  return value.result == 0 ? fmt::format("%{}", value.def) : fmt::format("%{}#{}", value.def, value.result);
}

Json graph_json(const graph::Graph& g) {
  Json inputs = Json::array();
  for (const graph::GraphInput& input : g.inputs) {
    inputs.push(Json(
        Json::Object{{"name", input.name}, {"type", to_string(input.type)}, {"role", graph::role_name(input.role)}}));
  }
  Json nodes = Json::array();
  for (const graph::Node& node : g.nodes) {
    Json operands = Json::array();
    for (const graph::ValueId operand : node.operands) operands.push(value_name(operand));
    Json results = Json::array();
    for (const TensorType& type : node.results) results.push(to_string(type));
    nodes.push(Json(Json::Object{{"op", node.op->name},
                                 {"path", node.path},
                                 {"stage", node.stage},
                                 {"operands", std::move(operands)},
                                 {"results", std::move(results)}}));
  }
  Json outputs = Json::array();
  for (const graph::GraphOutput& output : g.outputs) {
    outputs.push(Json(Json::Object{{"name", output.name}, {"value", value_name(output.value)}}));
  }
  return Json(Json::Object{{"name", g.name},
                           {"target", g.target},
                           {"hash", graph::graph_hash(g)},
                           {"inputs", std::move(inputs)},
                           {"nodes", std::move(nodes)},
                           {"outputs", std::move(outputs)}});
}

// Weights and constants would hide the structure, so only nodes, host inputs and roots are drawn.
std::string graph_dot(const graph::Graph& g) {
  std::string out = fmt::format("digraph \"{}\" {{\n  node [shape=box, fontsize=10];\n", g.name);
  const auto drawn = [&](graph::ValueId value) {
    return !g.is_input(value) || g.inputs[static_cast<std::size_t>(value.def)].role != graph::InputRole::kWeight;
  };
  for (std::int32_t i = 0; i < g.num_inputs(); ++i) {
    const graph::GraphInput& input = g.inputs[static_cast<std::size_t>(i)];
    if (!drawn({i, 0})) continue;
    out += fmt::format("  n{} [label=\"{}\\n{}\", style=dashed];\n", i, input.name, to_string(input.type));
  }
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const graph::Node& node = g.nodes[i];
    const std::size_t def = static_cast<std::size_t>(g.num_inputs()) + i;
    out += fmt::format("  n{} [label=\"{}\\n{}\"];\n", def, node.op->name, node.path);
    for (const graph::ValueId operand : node.operands) {
      if (drawn(operand)) out += fmt::format("  n{} -> n{};\n", operand.def, def);
    }
  }
  return out + "}\n";
}

class GraphDump : public Action {
 public:
  void define(Arguments& a) override {
    flags_.define(a);
    a.choice("--format", "default: text", {{"text", "json", "dot"}, {"stablehlo"}}, format_);
    a.text("--out", "FILE", "write there instead of standard output", out_);
    a.flag("--json", "the same as --format json", json_);
    a.examples("  deepinfer graph dump --batch 8\n  deepinfer graph dump --format dot | dot -Tsvg > graph.svg\n");
  }
  Result<int> run(const Context& context) override {
    DI_ASSIGN(const graph::Graph g, flags_.make(context));
    const bool json = json_ || format_ == "json";
    const std::string text = json               ? base::dump_json(graph_json(g)) + "\n"
                             : format_ == "dot" ? graph_dot(g)
                                                : graph::to_text(g);
    if (out_.empty()) {
      print(text);
    } else {
      DI_TRY(base::write_file(out_, text));
    }
    return 0;
  }

 private:
  GraphFlags flags_;
  std::string format_ = "text", out_;
  bool json_ = false;
};

class GraphPlan : public Action {
 public:
  void define(Arguments& a) override {
    flags_.define(a);
    a.flag("--summary", "leave out the row for every value", summary_);
    a.flag("--json", "one object", json_);
    a.examples("  deepinfer graph plan --batch 6 --summary\n  deepinfer graph plan --graph decode.txt --json\n");
  }
  Result<int> run(const Context& context) override {
    DI_ASSIGN(const graph::Graph g, flags_.make(context));
    const graph::Plan plan = graph::plan_buffers(g);
    // A break ends the trace with an error, so a graph that exists has none. What the host reads after a replay are the
    // outputs that are not donated roots.
    constexpr std::int64_t kBreaks = 0;
    const auto host_reads = static_cast<std::int64_t>(g.outputs.size() - g.donations.size());
    if (json_) {
      Json out = graph::plan_json(g, plan);
      out.set("breaks", kBreaks).set("host_reads", host_reads).set("peak_bytes", plan.peak_bytes);
      print_json(out);
      return 0;
    }
    if (!summary_) print(graph::plan_table(g, plan));
    printf_line("graph {}: {} nodes, breaks={}, host_reads={}", g.name, g.nodes.size(), kBreaks, host_reads);
    printf_line(
        "arena {} B, peak {} B, live at once {} B, naive {} B ({:.1f} times the arena)", plan.arena_bytes,
        plan.peak_bytes, plan.max_live_bytes, plan.naive_bytes,
        static_cast<double>(plan.naive_bytes) / static_cast<double>(std::max<std::int64_t>(plan.arena_bytes, 1)));
    return 0;
  }

 private:
  GraphFlags flags_;
  bool summary_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Action> make_graph_dump() { return std::make_unique<GraphDump>(); }
std::unique_ptr<Action> make_graph_plan() { return std::make_unique<GraphPlan>(); }

}  // namespace deepinfer::cli
