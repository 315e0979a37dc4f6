#include "ops/isa/isa.h"

#include <gtest/gtest.h>

namespace deepinfer::isa {
namespace {

TEST(Isa, ChoosesByName) {
  EXPECT_EQ(choose("scalar").value(), &scalar());
  EXPECT_EQ(choose("").value(), available().back());
  const auto unknown = choose("mmx");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message.find("scalar"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::isa
