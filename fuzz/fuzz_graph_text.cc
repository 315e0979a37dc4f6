// Reader of the graph text form: any input is refused with a message or prints back to the same graph; a graph that the
// verifier accepts has a plan no smaller than its live bytes. The toy ops have attributes of every kind.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "graph/plan.h"
#include "graph/testing/toy_ops.h"
#include "graph/text.h"
#include "graph/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace deepinfer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const graph::OpRegistry& ops = graph::testing::toy_registry();
  const graph::TextLimits limits{
      .max_bytes = 1 << 20, .max_defs = 4096, .max_list = 4096, .max_constant_bytes = 1 << 16};
  const auto graph = graph::parse_text(text, ops, "fuzz", limits);
  if (!graph) return 0;
  const std::string printed = graph::to_text(*graph);
  const auto again = graph::parse_text(printed, ops, "fuzz");
  DI_CHECK(again.has_value(), "{}", printed);
  DI_CHECK(*again == *graph && graph::to_text(*again) == printed, "{}", printed);
  if (graph::verify(*graph)) {
    const graph::Plan plan = graph::plan_buffers(*graph);
    DI_CHECK(plan.peak_bytes >= plan.max_live_bytes, "{}", printed);
  }
  return 0;
}
