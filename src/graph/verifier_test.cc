#include "graph/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/testing/toy_ops.h"
#include "graph/text.h"
#include "graph/trace_emitter.h"

namespace deepinfer::graph::testing {
namespace {

using ::testing::HasSubstr;

/// A well-formed graph read from text; `body` are its lines between the inputs and the end.
Graph sample(const std::string& body, const std::string& target = "any") {
  auto graph = parse_text("graph \"g\" target=" + target + " {\n" + body + "}\n", toy_registry(), "sample");
  DI_CHECK(graph.has_value(), "{}", graph.error().to_string());
  return *graph;
}

/// The violations of a graph as one text; every rule must be `rule`.
std::string only(std::string_view rule, const Graph& graph, const VerifyOptions& options = {}) {
  std::string out;
  for (const Violation& violation : find_violations(graph, options)) {
    EXPECT_EQ(violation.rule, rule) << violation.to_string();
    out += violation.to_string() + "\n";
  }
  EXPECT_EQ(out.empty(), verify(graph, options).has_value());
  return out;
}

const std::string kX = "%0 = input \"x\" f32[4,8] role=host\n";
const std::string kAdd = "%1 = toy_add(%0) {scale=1.0} : f32[4,8]  # layers.0.sum @ attn/core\n";
const std::string kRootInputs =
    "%0 = input \"kv\" u8[5,32] role=state\n%1 = input \"slots\" s32[2] role=host\n%2 = input \"rows\" u8[2,4] "
    "role=host\n";
const std::string kStore = "%3 = toy_store(%0, %1, %2) {base=0, rows=1, row_bytes=4} : u8[5,32]\n";

TEST(Verifier, AcceptsWellFormedGraphs) {
  EXPECT_EQ(only("", sample(kX + kAdd + "return %1\n")), "");
  EXPECT_EQ(only("", sample(kRootInputs + kStore + "return %3\ndonate 0->0\n")), "");
  TraceEmitter trace("any", "toy");
  EXPECT_EQ(only("", trace.finish(ToyModel{}(trace))), "");
}

TEST(Verifier, MessageNamesGraphNodeRuleFoundAndExpected) {
  Graph graph = sample(kX + kAdd + "return %1\n");
  graph.nodes[0].results[0] = {DType::kF32, {4, 7}};
  EXPECT_EQ(only("G002", graph),
            "G002 graph g, %1 toy_add layers.0.sum (attn/core) sample:3: found (f32[4,7]), expected (f32[4,8])\n");
}

TEST(Verifier, G001UndefinedOperandAndUnusedNode) {
  Graph graph = sample(kX + kAdd + "return %1\n");
  graph.nodes[0].operands[0] = {1, 0};
  EXPECT_THAT(only("G001", graph), HasSubstr("operand %1#0"));
  graph.nodes[0].operands[0] = {0, 1};
  EXPECT_THAT(only("G001", graph), HasSubstr("operand %0#1"));
  graph = sample(kX + kAdd + "return %1\n");
  graph.outputs[0].value = {9, 0};
  EXPECT_THAT(only("G001", graph), HasSubstr("output %9#0"));
  EXPECT_THAT(only("G001", sample(kX + kAdd + "%2 = toy_add(%0) {scale=1.0} : f32[4,8]\nreturn %2\n")),
              HasSubstr("no result used"));
  EXPECT_EQ(only("", sample(kX + "%1 = toy_split(%0) {} : (f32[4,8], f32[4,8])\nreturn %1#1\n")), "");
  graph = sample(kX + kAdd + "return %1\n");
  graph.outputs.clear();
  EXPECT_THAT(only("G001", graph), HasSubstr("no output"));
}

TEST(Verifier, G002TypesAndConstants) {
  EXPECT_THAT(
      only("G002", sample("%0 = input \"x\" s32[4] role=host\n%1 = toy_add(%0) {scale=1.0} : s32[4]\nreturn %1\n")),
      HasSubstr("x must be f32"));
  EXPECT_THAT(only("G002", sample("%0 = constant() {value=300} : u8[4]\nreturn %0\n")),
              HasSubstr("constant 300 does not fit u8"));
  EXPECT_THAT(only("G002", sample("%0 = constant() {value=0.1} : f32[4]\nreturn %0\n")),
              HasSubstr("is not a value of f32"));
  EXPECT_THAT(only("G002", sample("%0 = constant() {value=hex\"00\"} : f32[4]\nreturn %0\n")),
              HasSubstr("found 1 bytes, expected 16 bytes"));
}

TEST(Verifier, G003ExtentsAndElementCounts) {
  const auto input = [](const std::string& type, const std::string& role) {
    return sample(kX + "%1 = input \"y\" " + type + " role=" + role +
                  "\n%2 = toy_add(%0) {scale=1.0} : f32[4,8]\nreturn %2\n");
  };
  EXPECT_THAT(only("G003", input("f32[0]", "host")), HasSubstr("expected extents >= 1"));
  EXPECT_THAT(only("G003", input("u8[2147483648]", "host")), HasSubstr("at most 2147483647 elements"));
  EXPECT_EQ(only("", input("u8[2147483647]", "host")), "");
  EXPECT_EQ(only("", input("u8[1099511627776]", "weight")), "");
  EXPECT_EQ(only("", input("u8[1048576,1048576]", "state")), "");
  EXPECT_THAT(only("G003", input("u8[1048576,1048577]", "state")), HasSubstr("at most 1099511627776"));
  Graph large = sample(kRootInputs + kStore + "return %3\ndonate 0->0\n");
  large.inputs[0].type = large.nodes[0].results[0] = {DType::kU8, {1 << 20, 1 << 20}};
  EXPECT_EQ(only("", large), "");  // versions of a root may be as large as the root
}

TEST(Verifier, G004Attributes) {
  Graph graph = sample(kX + "%1 = toy_add(%0) {} : f32[4,8]\nreturn %1\n");
  EXPECT_THAT(only("G004", graph), HasSubstr("missing or out of order"));
  EXPECT_THAT(only("G004", sample(kX + "%1 = toy_add(%0) {scale=1} : f32[4,8]\nreturn %1\n")), HasSubstr("wrong type"));
  graph.nodes[0].attrs = {{"scale", 1.0}, {"other", 1.0}};
  EXPECT_THAT(only("G004", graph), HasSubstr("unknown attribute other"));
  graph.nodes[0].attrs = {{"scale", std::numeric_limits<double>::infinity()}};
  EXPECT_THAT(only("G004", graph), HasSubstr("scale is not finite"));
  Graph kinds = sample(kX +
                       "%1 = toy_kinds(%0) {flag=true, count=0, ratio=0.0, text=\"\", form=a, out=f32, axes=[]} : "
                       "f32[4,8]\nreturn %1\n");
  kinds.nodes[0].attrs.set("form", Word{"two words"});
  EXPECT_THAT(only("G004", kinds), HasSubstr("form=\"two words\""));
  Graph stores = sample(kRootInputs + kStore + "return %3\ndonate 0->0\n");
  stores.nodes[0].attrs = {{"rows", std::int64_t{1}}, {"base", std::int64_t{0}}, {"row_bytes", std::int64_t{4}}};
  EXPECT_THAT(only("G004", stores), HasSubstr("out of order"));
}

TEST(Verifier, G005HostOnlyOpsAndTypes) {
  const std::string op = kX + "%1 = toy_host(%0) {scale=1.0} : f32[4,8]\nreturn %1\n";
  EXPECT_THAT(only("G005", sample(op)), HasSubstr("host-only op"));
  EXPECT_EQ(only("", sample(op, "host")), "");
  const std::string type = kX + "%1 = toy_wide(%0) {} : s64[4,8]\nreturn %1\n";
  EXPECT_THAT(only("G005", sample(type, "trn2")), HasSubstr("no host-only dtype for target trn2"));
  EXPECT_EQ(only("", sample(type, "host")), "");
}

TEST(Verifier, G006Donations) {
  const std::string stored = kRootInputs + kStore + "return %3\n";
  EXPECT_THAT(only("G006", sample(stored)), HasSubstr("a written state that is not donated"));
  EXPECT_THAT(only("G006", sample(stored + "donate 0->0, 0->0\n")), HasSubstr("uses an index twice"));
  EXPECT_THAT(only("G006", sample(stored + "donate 0->0, 7->0\n")), HasSubstr("existing input and output indices"));
  EXPECT_THAT(only("G006", sample(kX + kAdd + "return %1\ndonate 0->0\n")), HasSubstr("role host"));
  EXPECT_EQ(only("", sample("%0 = input \"x\" f32[4,8] role=stage\n" + kAdd + "return %1\ndonate 0->0\n")), "");
  EXPECT_THAT(
      only("G006", sample("%0 = input \"x\" f32[4,8] role=stage\n%1 = toy_rows(%0) {begin=0, count=2} : f32[2,8]\n"
                          "return %1\ndonate 0->0\n")),
      HasSubstr("f32[4,8] to f32[2,8]"));
  EXPECT_THAT(
      only("G006", sample("%0 = input \"kv\" u8[2,4] role=state\n%1 = input \"slots\" s32[2] role=host\n"
                          "%2 = toy_load(%0, %1) {base=0, rows=1, row_bytes=4} : u8[2,4]\nreturn %2\ndonate 0->0\n")),
      HasSubstr("donation of a state that is only read"));
  EXPECT_THAT(only("G006", sample("%0 = input \"kv\" u8[5,32] role=weight\n%1 = input \"slots\" s32[2] role=host\n"
                                  "%2 = input \"rows\" u8[2,4] role=host\n" +
                                  kStore + "return %3\n")),
              HasSubstr("a write to weight input kv"));
}

TEST(Verifier, G007ConsumedVersions) {
  const std::string second = "%4 = toy_store(%0, %1, %2) {base=8, rows=1, row_bytes=4} : u8[5,32]\n";
  EXPECT_THAT(only("G007", sample(kRootInputs + kStore + second + "return %3, %4\ndonate 0->1\n")),
              HasSubstr("use of %0"));
  const std::string chain = "%4 = toy_store(%3, %1, %2) {base=8, rows=1, row_bytes=4} : u8[5,32]\n";
  EXPECT_EQ(only("", sample(kRootInputs + kStore + chain + "return %4\ndonate 0->0\n")), "");
  EXPECT_THAT(only("G007", sample(kRootInputs + kStore + chain + "return %3, %4\ndonate 0->1\n")),
              HasSubstr("output %3, consumed"));
  const std::string load = "%4 = toy_load(%3, %1) {base=0, rows=1, row_bytes=4} : u8[2,4]\n";
  const auto lost = find_violations(sample(kRootInputs + kStore + load + "return %4\n"));
  ASSERT_EQ(lost.size(), 2U);  // not returned, therefore not donated either
  EXPECT_EQ(lost[0].rule, "G007");
  EXPECT_THAT(lost[0].found, HasSubstr("a written state that is not returned"));
  EXPECT_THAT(
      only("G007",
           sample("%0 = input \"kv\" u8[2,4] role=state\n%1 = input \"slots\" s32[2] role=host\n"
                  "%2 = toy_store(%0, %1, %0) {base=0, rows=1, row_bytes=4} : u8[2,4]\nreturn %2\ndonate 0->0\n")),
      HasSubstr("written and read by one node"));
}

TEST(Verifier, G008CollectiveNumbers) {
  const auto pair = [](int first, int second) {
    return sample(
        kX +
        fmt::format("%1 = toy_collective(%0) {{seq={}}} : f32[4,8]\n%2 = toy_collective(%1) {{seq={}}} : f32[4,8]\n"
                    "return %2\n",
                    first, second));
  };
  EXPECT_EQ(only("", pair(0, 1)), "");
  EXPECT_THAT(only("G008", pair(0, 2)), HasSubstr("found seq=2, expected seq=1"));
  EXPECT_THAT(only("G008", pair(1, 0)), HasSubstr("found seq=1, expected seq=0"));
}

TEST(Verifier, G009Views) {
  const auto load = [](int base, int rows) {
    return sample(
        "%0 = input \"kv\" u8[5,32] role=state\n%1 = input \"slots\" s32[2] role=host\n" +
        fmt::format("%2 = toy_load(%0, %1) {{base={}, rows={}, row_bytes=4}} : u8[2,4]\nreturn %2\n", base, rows));
  };
  EXPECT_EQ(only("", load(24, 2)), "");
  EXPECT_THAT(only("G009", load(28, 2)), HasSubstr("a view inside a row of 32 bytes"));
  EXPECT_THAT(only("G009", load(-4, 1)), HasSubstr("base=-4"));
  EXPECT_THAT(only("G009", load(0, 0)), HasSubstr("rows=0"));
  const DeclaredView views[] = {{"kv", 0, 2}, {"other", 8, 2}};
  EXPECT_EQ(only("", load(0, 2), {views}), "");
  EXPECT_THAT(only("G009", load(8, 2), {views}), HasSubstr("expected a view of the cache layout"));
  EXPECT_THAT(
      only("G009",
           sample(
               "%0 = input \"kv\" u8[5,32] role=state\n%1 = toy_rows(%0) {begin=0, count=2} : u8[2,32]\nreturn %1\n")),
      HasSubstr("an op with attributes base and rows"));
}

TEST(Verifier, G010UnchangedInput) {
  EXPECT_THAT(only("G010", sample(kX + kAdd + "return %1, %0\n")),
              HasSubstr("input x: found an unchanged input returned"));
}

TEST(Verifier, G011InputNames) {
  const auto named = [](const std::string& name) {
    return sample(kX + "%1 = input \"" + name +
                  "\" f32[2] role=host\n%2 = toy_add(%0) {scale=1.0} : f32[4,8]\nreturn %2\n");
  };
  EXPECT_EQ(only("", named("layers.0.attn.wq_a.weight")), "");
  EXPECT_THAT(only("G011", named("x")), HasSubstr("the name twice"));
  EXPECT_THAT(only("G011", named("a b")), HasSubstr("name \"a b\""));
  EXPECT_THAT(only("G011", named("")), HasSubstr("name \"\""));
}

TEST(Verifier, ReportsAllViolationsAndShortensTheText) {
  Graph graph = sample(kX + kAdd + "return %1\n");
  for (int i = 0; i < 30; ++i) graph.nodes.push_back(graph.nodes[0]);
  EXPECT_EQ(find_violations(graph).size(), 30U);
  EXPECT_THAT(verify(graph).error().message, HasSubstr("and 10 more"));
}

}  // namespace
}  // namespace deepinfer::graph::testing
