// Loading of the golden checkpoints and the bundled one.
#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

namespace deepinfer::checkpoint {
namespace {

std::string golden(const std::string& set) {
  return std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/model/" + set + "/checkpoint";
}

class GoldenCheckpoint : public testing::TestWithParam<std::pair<std::string, int>> {};

TEST_P(GoldenCheckpoint, OpensWithEveryTensorConsumed) {
  const auto& [dir, tensors] = GetParam();
  auto loaded = Checkpoint::open(dir, {.scan = ScanLevel::kFull});
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(loaded->report().tensors_bound + static_cast<std::int64_t>(loaded->report().ignored.size()), tensors);
  EXPECT_EQ(loaded->report().ignored.size(), static_cast<std::size_t>(loaded->config().num_nextn_predict_layers));
  for (const WeightSpec& spec : loaded->table()) {
    if (spec.use != WeightUse::kRequired) continue;
    const WeightView* view = loaded->find(spec.name);
    ASSERT_NE(view, nullptr) << spec.name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view->data) % static_cast<std::uintptr_t>(dtype_bytes(spec.dtype())), 0U);
  }
}
INSTANTIATE_TEST_SUITE_P(All, GoldenCheckpoint,
                         testing::Values(std::pair(golden("micro"), 538), std::pair(golden("nosel"), 538),
                                         std::pair(golden("ties"), 538), std::pair(golden("geom"), 304),
                                         std::pair(golden("wide"), 4678),
                                         std::pair(std::string(DEEPINFER_SOURCE_DIR) + "/models/tiny-chat", 1156)));

TEST(WeightTable, ReleasedConfigurationHas96085Tensors) {
  const auto table = weight_table(released_config());
  EXPECT_EQ(table.size(), 96085U);
}

}  // namespace
}  // namespace deepinfer::checkpoint
