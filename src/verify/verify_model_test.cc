// Every golden model folder passes, and every ingredient of noise.json is noticed when it is left out.
#include "verify/verify_model.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "base/io.h"
#include "base/json.h"
#include "verify/model_checks.h"

namespace deepinfer::verify {
namespace {

const std::string kRoot = DEEPINFER_SOURCE_DIR;

Report run(const std::string& dir, const ModelOptions& options) {
  auto report = verify_model(kRoot + "/tests/golden/" + dir, options);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().to_string());
  return report ? *report : Report();
}

void expect_ok(const Report& report) {
  EXPECT_GT(report.rows().size(), 0U);
  for (const CaseRow& row : report.rows()) {
    EXPECT_NE(row.outcome, CaseRow::Outcome::kFail)
        << row.op << " " << row.name << " " << row.worst << " > " << row.bound << " " << row.detail;
  }
}

class VerifyModel : public ::testing::TestWithParam<const char*> {};
TEST_P(VerifyModel, Passes) { expect_ok(run(GetParam(), {.model_dir = kRoot + "/models/tiny-chat"})); }
INSTANTIATE_TEST_SUITE_P(Golden, VerifyModel,
                         ::testing::Values("model/micro", "model/nosel", "model/ties", "model/geom", "model/wide",
                                           "tiny-chat"));

TEST(VerifyModel, HashMismatchNamesBoth) {
  const auto report =
      verify_model(kRoot + "/tests/golden/tiny-chat", {.model_dir = kRoot + "/tests/golden/model/micro/checkpoint"});
  ASSERT_FALSE(report);
  EXPECT_EQ(exit_code_of(report.error().code), 3);
}

// Goldens are read from files: ids, shapes and types that do not fit are refused, never followed.
TEST(VerifyModel, DamagedGoldensAreRefused) {
  namespace fs = std::filesystem;
  const fs::path source = kRoot + "/tests/golden/tiny-chat";
  const fs::path dir = fs::path(::testing::TempDir()) / "damaged_tiny_chat";
  const std::string text = base::read_file((source / "greeting.json").string()).value();
  const auto verify = [&](std::string_view key, std::string_view value) {
    fs::remove_all(dir);
    fs::copy(source, dir, fs::copy_options::recursive);
    base::Json data = base::parse_json(text).value();
    data.set(key, base::parse_json(value).value());
    fs::remove(dir / "greeting.json");
    EXPECT_TRUE(base::write_file((dir / "greeting.json").string(), base::dump_json(data)));
    return verify_model(dir.string(), {.model_dir = kRoot + "/models/tiny-chat"});
  };
  for (const char* ids : {"[1, 2048]", "[-1]", "[\"x\"]", "[2147483647]", "[]", "{}"}) {
    const auto report = verify("prompt_ids", ids);
    ASSERT_FALSE(report) << ids;
    EXPECT_EQ(exit_code_of(report.error().code), 3) << report.error().to_string();
  }
}

class Ablation : public ::testing::TestWithParam<std::string> {};
TEST_P(Ablation, IsNoticed) {
  const Report report = run("model/micro", {.ablate = GetParam()});
  EXPECT_GT(report.count(CaseRow::Outcome::kFail), 0) << GetParam();
}
INSTANTIATE_TEST_SUITE_P(Noise, Ablation, ::testing::ValuesIn(ablation_names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace deepinfer::verify
