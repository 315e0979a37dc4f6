#include "base/environ.h"

#include <gtest/gtest.h>

namespace deepinfer::base {
namespace {

TEST(Environ, DefaultsValuesAndUnknownNames) {
  const std::vector<std::string> entries = {"DEEPINFER_ENFORCE_EAGER=1", "DEEPINFER_NO_SUCH=2", "HOME=/x"};
  const auto env = Environ::from(entries);
  ASSERT_TRUE(env);
  EXPECT_EQ(env->get("ENFORCE_EAGER"), "1");
  EXPECT_TRUE(env->is_set("ENFORCE_EAGER"));
  EXPECT_EQ(env->get("USE_NEXTN_DECODE"), "5");
  EXPECT_FALSE(env->is_set("USE_NEXTN_DECODE"));
  EXPECT_EQ(env->unknown(), std::vector<std::string>{"DEEPINFER_NO_SUCH"});
}

TEST(Environ, UnknownNeuronNameIsAnErrorThatListsNearOnes) {
  const std::vector<std::string> entries = {"DEEPINFER_NEURON_GRAPH=1"};
  const auto env = Environ::from(entries);
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(env.error().message.find("DEEPINFER_NEURON_GRAPH_MODE"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::base
