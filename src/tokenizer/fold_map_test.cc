#include "tokenizer/fold_map.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/io.h"
#include "base/json.h"

namespace deepinfer::tokenizer {
namespace {

const std::string kRoot = DEEPINFER_SOURCE_DIR;
const std::string kReleased = kRoot + "/.cache/deepseek-tokenizer/tokenizer.json";

/// An I32 tensor of a safetensors file.
std::vector<std::int32_t> read_i32(const std::string& path, std::string_view name) {
  const std::string file = base::read_file(path).value();
  std::uint64_t header_size = 0;
  for (std::size_t i = 8; i-- > 0;) header_size = header_size << 8 | static_cast<std::uint8_t>(file.at(i));
  const base::Json header = base::parse_json(std::string_view(file).substr(8, header_size)).value();
  const base::Json* entry = header.find(name);
  EXPECT_EQ(entry->find("dtype")->string(), "I32");
  const auto& offsets = entry->find("data_offsets")->items();
  const std::size_t begin = *offsets[0].as_uint();
  std::vector<std::int32_t> out((*offsets[1].as_uint() - begin) / 4);
  std::memcpy(out.data(), file.data() + 8 + header_size + begin, out.size() * 4);
  return out;
}

TEST(FoldMap, EqualsTheMapOfTheTinyCheckpoints) {
  for (const std::string model : {"micro", "geom", "nosel", "ties"}) {
    const std::string folder = kRoot + "/tests/golden/model/" + model;
    const Tokenizer tokenizer = Tokenizer::from_file(folder + "/checkpoint/tokenizer.json").value();
    const auto expected = read_i32(folder + "/engram.safetensors", "token_map");
    ASSERT_EQ(expected.size(), 512u);
    EXPECT_EQ(fold_map(tokenizer), expected) << model;
  }
}

TEST(FoldMap, NumbersClassesByFirstAppearance) {
  const Tokenizer tokenizer = Tokenizer::from_file(kRoot + "/models/tiny-chat/tokenizer.json").value();
  const auto map = fold_map(tokenizer);
  ASSERT_EQ(std::ssize(map), tokenizer.vocab_size());
  std::int32_t next = 0;
  for (const std::int32_t token_class : map) {
    ASSERT_LE(token_class, next);
    next = std::max(next, token_class + 1);
  }
  EXPECT_LT(next, tokenizer.vocab_size());
}

TEST(FoldMap, EqualsTheReleasedMap) {
  if (!std::filesystem::exists(kReleased)) GTEST_SKIP() << "run tools/fetch_vocabulary for " << kReleased;
  const std::string bytes = base::read_file(kRoot + "/tests/golden/tokenizer/token_classes.u32").value();
  std::vector<std::int32_t> expected(bytes.size() / 4);
  std::memcpy(expected.data(), bytes.data(), bytes.size());
  EXPECT_EQ(fold_map(Tokenizer::from_file(kReleased).value()), expected);
  EXPECT_EQ(fold_map(Tokenizer::from_file(kReleased, V4Names::kKeep).value()), expected);
}

TEST(FoldText, AppliesEveryStep) {
  EXPECT_EQ(fold_text("\u00C9T\u00C9"), "ete");
  EXPECT_EQ(fold_text(" \t Hello\r\n World  "), "hello world");
  EXPECT_EQ(fold_text("\uFF21\uFB01"), "afi");           // compatibility forms
  EXPECT_EQ(fold_text("a\u20DDb\u0903"), "ab");           // enclosing and spacing marks go too
  EXPECT_EQ(fold_text("\u07FDx\u1CF2"), "\u07FDx");       // a mark of Unicode 11 stays, one of Unicode 9 goes
  EXPECT_EQ(fold_text("\u0130"), "i");
  EXPECT_EQ(fold_text("\u03A3\u03A3"), "\u03C3\u03C3");   // no final sigma
}

TEST(FoldText, TreatsBlanksAsTheDefinitionSays) {
  EXPECT_EQ(fold_text(" "), " ");
  EXPECT_EQ(fold_text("\n\t\r  "), " ");
  EXPECT_EQ(fold_text("\u00A0"), " ");                     // NFKC makes it a blank before runs are folded
  EXPECT_EQ(fold_text(" \u0301"), " ");                    // the mark is gone by then
  EXPECT_EQ(fold_text("\u2028"), "");                      // trimmed, and not a lone blank
  EXPECT_EQ(fold_text("\x1C"), "\x1C");                    // not White_Space
  EXPECT_EQ(fold_text("\uE000x\uE000"), " x ");            // the stand-in, wherever it occurs
  EXPECT_EQ(fold_text(""), "");
}

}  // namespace
}  // namespace deepinfer::tokenizer
