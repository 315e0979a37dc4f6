// Stop strings: every split of random texts gives the released text of a naive search.
#include "engine/sampling/stop_scanner.h"

#include <gtest/gtest.h>

#include <random>

namespace deepinfer::engine {
namespace {

struct Expected {
  std::string text;
  std::optional<std::size_t> stop;
};

// Earliest end, then the longest string.
Expected naive(const std::vector<std::string>& stops, const std::string& text, StopText where) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const bool here = end >= stops[i].size() && text.compare(end - stops[i].size(), stops[i].size(), stops[i]) == 0;
      if (here && (!best || stops[i].size() > stops[*best].size())) best = i;
    }
    if (best) return {text.substr(0, where == StopText::kInclude ? end : end - stops[*best].size()), best};
  }
  return {text, std::nullopt};
}

TEST(StopScanner, EqualsNaiveSearchForAnySplit) {
  std::mt19937 random(5);
  const auto word = [&](std::size_t longest) {
    std::string out(1 + random() % longest, 'a');
    for (char& c : out) c = static_cast<char>('a' + random() % 2);
    return out;
  };
  int found = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::vector<std::string> stops;
    for (std::size_t i = random() % 5; i > 0; --i) stops.push_back(word(7));
    const std::string text = word(24);
    const StopText where = trial % 2 == 0 ? StopText::kExclude : StopText::kInclude;
    StopScanner scanner(stops, where);
    Expected out;
    for (std::size_t at = 0; at < text.size() && !out.stop;) {
      const std::size_t n = 1 + random() % 4;
      const auto step = scanner.push(text.substr(at, n));
      out.text += step.text;
      out.stop = step.stop;
      at += n;
    }
    if (!out.stop) out.text += scanner.finish();
    const Expected expected = naive(stops, text, where);
    ASSERT_EQ(out.text, expected.text) << trial;
    ASSERT_EQ(out.stop.has_value(), expected.stop.has_value());
    if (out.stop) {
      ASSERT_EQ(stops[*out.stop], stops[*expected.stop]);
    }
    found += out.stop.has_value();
  }
  EXPECT_GT(found, 5000);
}

TEST(StopScanner, HoldsExactlyWhatMayStillMatch) {
  StopScanner scanner({"END", "DONE"}, StopText::kExclude);
  EXPECT_EQ(scanner.push("xE").text, "x");
  EXPECT_EQ(scanner.push("N").text, "");
  EXPECT_EQ(scanner.push("?").text, "EN?");
  EXPECT_EQ(scanner.push("DON").text, "");
  EXPECT_EQ(scanner.finish(), "DON");
  EXPECT_EQ(scanner.push("E").text, "");  // a match does not span finish()
  const auto out = scanner.push("ND");
  EXPECT_EQ(out.stop, 0U);
  EXPECT_EQ(out.text, "");
}

TEST(StopScanner, WithoutStringsReleasesAll) {
  StopScanner scanner({}, StopText::kExclude);
  EXPECT_EQ(scanner.push("abc").text, "abc");
  EXPECT_EQ(scanner.finish(), "");
}

}  // namespace
}  // namespace deepinfer::engine
