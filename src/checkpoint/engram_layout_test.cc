// Hash constants against the published values and the golden layouts.
#include "checkpoint/engram_layout.h"

#include <gtest/gtest.h>

#include "base/io.h"
#include "base/json.h"
#include "checkpoint/config.h"

namespace deepinfer::checkpoint {
namespace {

using base::Json;
using Ints = std::vector<std::int64_t>;

std::int64_t number(const Json& value) { return value.is_string() ? std::stoll(value.string()) : *value.as_int(); }
Ints numbers(const Json& list) {
  Ints out;
  for (const Json& item : list.items()) out.push_back(number(item));
  return out;
}
Json golden(const std::string& name) {
  const auto text = base::read_file(std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/model/" + name);
  return *base::parse_json(*text);
}

TEST(Pcg64, MatchesNumpySeedingAndStream) {
  EXPECT_EQ(Pcg64::seed_words(10007), (std::array<std::uint64_t, 4>{0x77d32a348ad70d07U, 0x993ed609b84a4fa5U,
                                                                    0xd5f972dec8698e49U, 0x7d79ebaebcf148deU}));
  Pcg64 generator(10007);
  for (const std::uint64_t expected :
       {0xd2c3f84026661e33U, 0x0d4fb6969eb57435U, 0x62e6e1c58c3bd72bU, 0xcb7dd1a94ca96343U}) {
    EXPECT_EQ(generator.next(), expected);
  }
}

TEST(Pcg64, BoundedStaysBelowTheBoundAndRedraws) {
  Pcg64 generator(3);
  const std::uint64_t bound = (std::uint64_t{1} << 63) + 1;  // nearly every second draw is rejected
  for (int i = 0; i < 1000; ++i) ASSERT_LT(generator.bounded(bound), bound);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(generator.bounded(1), 0U);
}

TEST(EngramLayout, ReleasedConstants) {
  const auto layouts = engram_layouts(released_config().engram_shape());
  ASSERT_TRUE(layouts);
  const Json release = golden("engram_released.json");
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string layer = std::to_string((*layouts)[i].layer);
    EXPECT_EQ((*layouts)[i].primes, numbers(*release.find("primes")->find(layer)));
    EXPECT_EQ((*layouts)[i].offsets, numbers(*release.find("offsets")->find(layer)));
    EXPECT_EQ((*layouts)[i].multipliers, numbers(*release.find("multipliers")->find(layer)));
  }
  EXPECT_EQ((*layouts)[0].rows, 384006168);
  EXPECT_EQ((*layouts)[1].rows, 384016682);
}

TEST(EngramLayout, SmallVocabularies) {
  const auto layer1 = [](std::int64_t classes) { return (*engram_layouts({64, 4, 2, classes, {1}}))[0].multipliers; };
  EXPECT_EQ(layer1(9), (Ints{843736406823848137, 53288111315402585, 395923983274329303, 814617027047447257}));
  EXPECT_EQ(layer1(64), (Ints{118650432209603643, 7493640653728489, 55676810147952557, 114555519428547269}));
  EXPECT_EQ(layer1(130), (Ints{58412520472420255, 3689176937220179, 27410121918992029, 56396563410977117}));
  EXPECT_EQ((*engram_layouts({1000, 4, 2, 1566, {1, 4}}))[0].rows, 6126);
  EXPECT_EQ((*engram_layouts({1000, 4, 2, 1566, {1, 4}}))[1].rows, 6332);
}

TEST(EngramLayout, GoldenFolders) {
  for (const std::string set : {"micro", "nosel", "ties", "geom"}) {
    const auto config = load_config(std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/model/" + set + "/checkpoint");
    ASSERT_TRUE(config) << config.error().to_string();
    const auto layouts = engram_layouts(config->engram_shape());
    ASSERT_TRUE(layouts);
    const Json manifest = golden(set + "/manifest.json");
    const Json& engram = *manifest.find("engram");
    ASSERT_EQ(layouts->size(), engram.find("primes")->items().size());
    for (std::size_t i = 0; i < layouts->size(); ++i) {
      EXPECT_EQ((*layouts)[i].primes, numbers(engram.find("primes")->items()[i]));
      EXPECT_EQ((*layouts)[i].offsets, numbers(engram.find("offsets")->items()[i]));
      EXPECT_EQ((*layouts)[i].multipliers, numbers(engram.find("multipliers")->items()[i]));
    }
  }
}

TEST(EngramLayout, RefusesCountsOutsideItsLimits) {
  for (const EngramShape& shape : {EngramShape{64, 1, 2, 9, {1}}, EngramShape{64, 17, 2, 9, {1}},
                                   EngramShape{64, 4, 0, 9, {1}}, EngramShape{64, 4, 5000, 9, {1}},
                                   EngramShape{0, 4, 2, 9, {1}}, EngramShape{std::int64_t{1} << 31, 4, 2, 9, {1}},
                                   EngramShape{64, 4, 2, 0, {1}}, EngramShape{64, 4, 1000, 9, {1, 2}}}) {
    EXPECT_FALSE(engram_layouts(shape));
  }
  EXPECT_TRUE(engram_layouts({64, 4, 2, 9, {}})->empty());
}

}  // namespace
}  // namespace deepinfer::checkpoint
