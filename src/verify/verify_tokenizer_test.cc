// The golden vectors of the tokenizer, through the same code as `deepinfer verify tokenizer`.
#include "verify/verify_tokenizer.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/io.h"

namespace deepinfer::verify {
namespace {

using Outcome = CaseRow::Outcome;

const std::string kGolden = std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/tokenizer";
const std::string kReleased = std::string(DEEPINFER_SOURCE_DIR) + "/.cache/deepseek-tokenizer/tokenizer.json";

// encode 443, encode_long 14, decode 252, stream 167, and three rows about the vocabulary.
constexpr int kNeedVocabulary = 443 + 14 + 252 + 167 + 3;
// pretokenize 443, fold 442, tiny_encode 140.
constexpr int kNeedNothing = 443 + 442 + 140;

std::string failures(const Report& report) {
  std::string out;
  for (const CaseRow& row : report.rows()) {
    if (row.outcome == Outcome::kFail) out += row.name + ": " + row.detail + "\n";
  }
  return out;
}

TEST(VerifyTokenizer, PassesWithoutVocabularyAndCountsSkips) {
  const auto report = verify_tokenizer(kGolden, std::nullopt);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(failures(*report), "");
  EXPECT_EQ(report->count(Outcome::kPass), kNeedNothing);
  EXPECT_EQ(report->count(Outcome::kSkip), kNeedVocabulary);
}

TEST(VerifyTokenizer, PassesAllVectorsWithReleasedVocabulary) {
  if (!std::filesystem::exists(kReleased)) GTEST_SKIP() << "run tools/fetch_vocabulary for " << kReleased;
  const auto report = verify_tokenizer(kGolden, kReleased);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(failures(*report), "");
  EXPECT_EQ(report->count(Outcome::kPass), kNeedNothing + kNeedVocabulary);
  EXPECT_EQ(report->count(Outcome::kSkip), 0);
}

TEST(VerifyTokenizer, ReportsDifferencesAsFailures) {
  // With a foreign vocabulary the released ids must differ; vectors without vocabulary still pass.
  const auto report = verify_tokenizer(kGolden, kGolden + "/../model/micro/checkpoint/tokenizer.json");
  ASSERT_FALSE(report);  // ids of `decode` lie outside the small vocabulary
  EXPECT_NE(report.error().to_string().find("decode.jsonl:"), std::string::npos) << report.error().to_string();
}

class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::path(::testing::TempDir()) / "verify_tokenizer_test") {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(kGolden, path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(VerifyTokenizer, SeesAWrongFoldAndAMalformedLine) {
  const ScratchFolder folder;
  ASSERT_TRUE(base::write_file(folder.file("fold.jsonl"),
                               R"({"id":"fold/x","input":{"text":"A"},"expected":{"folded":"b"}})" "\n"));
  const auto report = verify_tokenizer(folder.path(), std::nullopt);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_FALSE(report->ok());
  EXPECT_EQ(failures(*report), "fold/x: folded is \"a\", expected \"b\"\n");
  ASSERT_TRUE(base::write_file(folder.file("fold.jsonl"), "{\"id\":\"fold/x\"}\n"));
  const auto malformed = verify_tokenizer(folder.path(), std::nullopt);
  ASSERT_FALSE(malformed);
  EXPECT_NE(malformed.error().to_string().find("fold.jsonl:1"), std::string::npos);
}

TEST(Report, CountsAndPrints) {
  Report report;
  report.add({"encode", "a", 0, 0, Outcome::kPass, ""});
  report.add({"encode", "b", 2, 0.5, Outcome::kFail, "ids[0] is 1, expected 2"});
  report.add({"decode", "c", 0, 0, Outcome::kSkip, "no file"});
  EXPECT_FALSE(report.ok());
  EXPECT_NE(report.to_text().find("ids[0] is 1, expected 2"), std::string::npos);
  EXPECT_TRUE(report.to_text().ends_with("\n1 passed, 1 failed, 1 skipped\n"));
  const base::Json json = report.to_json();
  EXPECT_EQ(json.find("failed")->as_int(), 1);
  EXPECT_EQ(json.find("cases")->items().size(), 3u);
  EXPECT_EQ(json.find("cases")->items()[1].find("outcome")->string(), "FAIL");
}

}  // namespace
}  // namespace deepinfer::verify
