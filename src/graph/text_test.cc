#include "graph/text.h"

#include <gtest/gtest.h>

#include "graph/testing/toy_ops.h"
#include "graph/trace_emitter.h"
#include "graph/verifier.h"

namespace deepinfer::graph::testing {
namespace {

Graph toy_graph(const std::string& name = "toy") {
  TraceEmitter trace("any", name);
  return trace.finish(ToyModel{}(trace));
}

Result<Graph> parse(std::string_view text) { return parse_text(text, toy_registry(), "sample"); }

std::string error_of(std::string_view text) {
  const auto graph = parse(text);
  return graph ? "" : graph.error().to_string();
}

TEST(GraphText, RoundTripKeepsEverythingPrinted) {
  const Graph graph = toy_graph();
  const std::string text = to_text(graph);
  const auto again = parse(text);
  ASSERT_TRUE(again.has_value()) << again.error().to_string() << "\n" << text;
  EXPECT_EQ(*again, graph) << text;
  EXPECT_EQ(to_text(*again), text);
  EXPECT_EQ(graph_hash(*again), graph_hash(graph));
  EXPECT_TRUE(verify(*again).has_value());
}

TEST(GraphText, PrintsTheDocumentedForm) {
  EXPECT_EQ(to_text(toy_graph()),
            "graph \"toy\" target=any {\n"
            "  %0 = input \"x\" f32[4,8] role=host\n"
            "  %1 = input \"slots\" s32[2] role=host range=[0,4]\n"
            "  %2 = input \"bytes\" u8[2,4] role=host\n"
            "  %3 = input \"kv_states\" u8[5,32] role=state\n"
            "  %4 = input \"layers.0.w\" f32[3,8] role=weight\n"
            "  %5 = toy_store(%3, %1, %2) {base=8, rows=2, row_bytes=4} : u8[5,32]  # layers.0.store @ attn/core\n"
            "  %6 = toy_load(%5, %1) {base=8, rows=2, row_bytes=4} : u8[2,4]  # layers.0.load @ attn/core\n"
            "  %7 = toy_split(%0) {} : (f32[4,8], f32[4,8])  # layers.0.split @ attn/core\n"
            "  %8 = toy_add(%7#0, %7#1, %0) {scale=0.5} : f32[4,8]  # layers.0.sum @ attn/core\n"
            "  %9 = toy_rows(%8) {begin=1, count=2} : f32[2,8]  # layers.0.head @ attn/core\n"
            "  %10 = toy_add(%9, %9) {scale=1.0} : f32[2,8]  # layers.0.twice @ attn/core\n"
            "  %11 = toy_experts(%8, %4) {} : f32[4,8]  # layers.0.mixed @ attn/core\n"
            "  return %6, %10, %11, %5\n"
            "  donate 3->3\n"
            "}\n");
}

TEST(GraphText, RoundTripsEveryAttributeKindAndConstant) {
  const std::string text =
      "graph \"a \\\"b\\\\ \\x0a\" target=host {\n"
      "  %0 = toy_kinds(%1) {} : f32[]\n";
  EXPECT_NE(error_of(text), "");  // %1 is not defined
  const std::string good =
      "graph \"a \\\"b\\\\ \\x0a\" target=host {\n"
      "  %0 = constant() {value=-7} : s32[2,2]\n"
      "  %1 = constant() {value=0.10000000149011612} : f32[3]\n"
      "  %2 = constant() {value=hex\"00ff807f\"} : f32[]\n"
      "  %3 = toy_kinds(%2) {flag=false, count=-9223372036854775808, ratio=9.9999999999999995e-21, "
      "text=\"q\\\"#\\\\\\x01\", form=e4m3, out=f8e4m3fn, axes=[]} : f32[]  # @ moe/gate\n"
      "  %4 = toy_kinds(%1) {flag=true, count=0, ratio=-1e+30, text=\"\", form=x_1, out=s64, axes=[1,-2,3]} : f32[3]  "
      "# a.b\n"
      "  return %0, %3, %4\n"
      "}\n";
  const auto graph = parse(good);
  ASSERT_TRUE(graph.has_value()) << graph.error().to_string();
  EXPECT_EQ(to_text(*graph), good);
  EXPECT_EQ(graph->name, "a \"b\\ \n");
  EXPECT_EQ(graph->nodes[3].stage, "moe/gate");
  EXPECT_EQ(graph->nodes[3].attrs.real("ratio"), 1e-20);
  EXPECT_TRUE(verify(*graph).has_value()) << verify(*graph).error().to_string();
}

TEST(GraphText, ReaderAcceptsAnyBlanksResultCountsAndComments) {
  const auto graph = parse(
      "# a sample\n\ngraph \"s\"   target = any{  # first\n\n"
      "%0=input \"x\" f32[ 4 , 8 ] role = host range = [ -1 , 2 ]\n  # alone\n"
      "\t%1:2 = toy_split( %0 ) { } : ( f32[4,8] , f32[4,8] ) # free text: no path\n"
      "return %1#1\n}\n\n# end\n");
  ASSERT_TRUE(graph.has_value()) << graph.error().to_string();
  EXPECT_EQ(graph->inputs[0].range, (InputRange{-1, 2}));
  EXPECT_EQ(graph->nodes[0].path, "");
  EXPECT_EQ(graph->nodes[0].site.line, 7);
  EXPECT_EQ(graph->nodes[0].site.file, "sample");
}

TEST(GraphText, ErrorsNameTheLineAndWhatIsExpected) {
  const std::string head = "graph \"s\" target=any {\n  %0 = input \"x\" f32[4,8] role=host\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", "sample:1: found the end of the text, expected 'graph'"},
      {"graph s {", "expected '\"'"},
      {"graph \"s\" color=red {\n", "expected 'target' instead of 'color'"},
      {head + "  %0 = input \"y\" f32[] role=host\n",
       "sample:3: found \"= input \\\"y\\\" f32[] role=h\", expected definition %1"},
      {head + "  %1 = input \"y\" f99[] role=host\n", "an element type instead of 'f99'"},
      {head + "  %1 = input \"y\" f32[] role=guest\n", "role weight, state, host or stage instead of 'guest'"},
      {head + "  %1 = input \"y\" f32[1,1,1,1,1,1,1] role=host\n", "at most 6 extents"},
      {head + "  %1 = input \"y\" f32[-1] role=host\n", "extents from 0 to 2^40"},
      {head + "  %1 = input \"y\" f32[1000000000000,1000000] role=host\n", "at most 2^56 elements"},
      {head + "  %1 = input \"y\" f32[99999999999999999999] role=host\n", "a 64-bit integer"},
      {head + "  %1 = nosuch(%0) {} : f32[4,8]\n", "a known op instead of 'nosuch'"},
      {head + "  %1 = toy_add(%1) {} : f32[4,8]\n", "a value defined above instead of %1#0"},
      {head + "  %1 = toy_add(%0#0) {} : f32[4,8]\n", "'#k'"},
      {head + "  %1 = toy_add(%0) {scale=x} : f32[4,8]\n", "a 64-bit integer"},
      {head + "  %1 = toy_add(%0) {scale=1.0, scale=1.0} : f32[4,8]\n", "attribute 'scale' once"},
      {head + "  %1 = toy_add(%0) {other=1.0} : f32[4,8]\n", "an attribute of toy_add instead of 'other'"},
      {head + "  %1:2 = toy_add(%0) {scale=1.0} : f32[4,8]\n", "2 result types, found 1"},
      {head + "  %1 = constant() {value=hex\"0\"} : u8[1]\n", "an even number of hexadecimal digits"},
      {head + "  %1 = constant() {value=hex\"0g\"} : u8[1]\n", "two hexadecimal digits"},
      {head + "  return %0 %0\n}\n", "the end of the line"},
      {head + "  return %0\n", "expected '}'"},
      {head + "  return %0\n}\nmore", "the end of the text"},
      {head + "  return %0\n  donate 0=0\n}\n", "expected '->'"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(error_of(text).find(expected), std::string::npos) << text << "\n" << error_of(text);
  }
}

TEST(GraphText, ReaderStopsAtItsLimits) {
  const std::string text = to_text(toy_graph());
  TextLimits limits;
  const auto code = [&] {
    const auto graph = parse_text(text, toy_registry(), "s", limits);
    return graph ? ErrorCode::kInternal : graph.error().code;
  };
  EXPECT_EQ(code(), ErrorCode::kInternal);
  limits.max_bytes = 10;
  EXPECT_EQ(code(), ErrorCode::kResourceExhausted);
  limits = {.max_defs = 3};
  EXPECT_EQ(code(), ErrorCode::kResourceExhausted);
  limits = {.max_list = 2};
  EXPECT_EQ(code(), ErrorCode::kResourceExhausted);
}

TEST(GraphText, EveryPrefixAndEveryChangedByteIsReadWithoutFailure) {
  const std::string text = to_text(toy_graph());
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < text.size(); ++size) accepted += parse(text.substr(0, size)).has_value() ? 1 : 0;
  EXPECT_LE(accepted, 1U);  // the text without its last newline
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char replacement : {'\0', '9', '#', '"', '\n', '}', '%'}) {
      std::string changed = text;
      changed[i] = replacement;
      const auto graph = parse(changed);
      if (graph && verify(*graph)) {
        EXPECT_EQ(*parse(to_text(*graph)), *graph);
      }
    }
  }
}

TEST(GraphHash, IgnoresNameAndCommentsOnly) {
  const Graph graph = toy_graph();
  EXPECT_EQ(graph_hash(graph).size(), 64U);
  Graph other = toy_graph("another_name");
  EXPECT_EQ(graph_hash(other), graph_hash(graph));
  other.nodes[2].path = "elsewhere";
  other.nodes[2].stage = "moe/out";
  other.nodes[2].site.line = 1;
  EXPECT_EQ(graph_hash(other), graph_hash(graph));
  EXPECT_NE(to_text(other), to_text(graph));
  other.target = "trn2";
  EXPECT_NE(graph_hash(other), graph_hash(graph));
  other = toy_graph();
  other.nodes[3].attrs.set("scale", 0.25);
  EXPECT_NE(graph_hash(other), graph_hash(graph));
}

TEST(GraphHash, IsTheSameInEveryTraceAndProcess) {
  EXPECT_EQ(graph_hash(toy_graph()), graph_hash(toy_graph()));
  // The value another process computed for the same model.
  EXPECT_EQ(graph_hash(toy_graph()), "8ac9aa6e4c84c3d8931de011ea1211cb0ded68cdfd66127b57c40a2b685d7312");
}

}  // namespace
}  // namespace deepinfer::graph::testing
