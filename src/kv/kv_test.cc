#include <gtest/gtest.h>

#include "base/io.h"
#include "base/json.h"
#include "kv/block_manager.h"
#include "kv/cache_layout.h"

namespace deepinfer::kv {
namespace {

// The released shape, as far as the layout depends on it.
checkpoint::ModelConfig released() {
  checkpoint::ModelConfig config;
  config.head_dim = 512;
  config.index_head_dim = 128;
  config.sliding_window = 128;
  config.num_hidden_layers = 40;
  config.num_nextn_predict_layers = 3;
  config.kv_source_layer_ids = {2, 8, 14, 20};
  config.compress_ratios.assign(43, 0);
  for (std::size_t layer = 2; layer < 40; ++layer) config.compress_ratios[layer] = layer < 20 ? 2 : 1;
  return config;
}

TEST(CacheLayout, NumbersOfTheReleasedShape) {
  const CacheLayout layout(released(), {});
  EXPECT_EQ(layout.bytes_per_block(), 114048);
  EXPECT_EQ(layout.bytes_per_state(), 3128928);
  EXPECT_EQ(layout.ica(2).base, 0);
  EXPECT_EQ(layout.ca(2).base, 64 * 68);
  EXPECT_EQ(layout.ica(8).base, 22784);
  EXPECT_EQ(layout.swa(1).base, 134 * 528);
  EXPECT_EQ(layout.ca_state(2).base, 43 * 134 * 528);
  EXPECT_EQ(layout.ca_state(2).rows, 7);
  EXPECT_EQ(layout.ca(20).row_bytes, 288);
  EXPECT_EQ(layout.ica(20).row_bytes, 68);
}

TEST(BlockManager, LowestFirstAllOrNothingAndReservedNeverLeave) {
  BlockManager manager(5, 3);
  std::vector<std::int32_t> a;
  std::vector<std::int32_t> b;
  ASSERT_TRUE(manager.allocate(2, a));
  ASSERT_TRUE(manager.allocate(2, b));
  EXPECT_EQ(a, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(b, (std::vector<std::int32_t>{3, 4}));
  EXPECT_FALSE(manager.allocate(1, a));
  manager.free_blocks(a);
  EXPECT_FALSE(manager.allocate(3, b));
  EXPECT_EQ(manager.num_free_blocks(), 2);
  EXPECT_EQ(*manager.allocate_slot(), 1);
  EXPECT_EQ(*manager.allocate_slot(), 2);
  EXPECT_FALSE(manager.allocate_slot());
  manager.free_slot(1);
  EXPECT_EQ(*manager.allocate_slot(), 1);
  EXPECT_EQ(manager.scratch_block(), 5);
}

}  // namespace
}  // namespace deepinfer::kv
