#include <gtest/gtest.h>

#include "ops/registry.h"

namespace deepinfer::ops {
namespace {

TEST(OpRegistry, EveryOpIsComplete) {
  for (const graph::OpDef* op : registry().all()) {
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_TRUE(op->kernel != nullptr || op->view_offset != nullptr) << op->name;
    EXPECT_NE(op->reference, nullptr) << op->name;
    EXPECT_FALSE(op->no_lowering.empty()) << op->name;
    EXPECT_EQ(registry().find(op->name), op);
  }
  EXPECT_EQ(registry().find("no_such_op"), nullptr);
}

}  // namespace
}  // namespace deepinfer::ops
