// The operator vectors on the scalar and on the fastest instruction set, and proof that each kind of rule can fail.
#include "verify/verify_kernels.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/io.h"
#include "ops/isa/isa.h"

namespace deepinfer::verify {
namespace {

namespace fs = std::filesystem;
const std::string kVectors = std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/kernels";

std::string failures_of(const Report& report) {
  std::string out;
  for (const CaseRow& row : report.rows()) {
    if (row.outcome != CaseRow::Outcome::kPass) out += row.op + " / " + row.name + ": " + row.detail + "\n";
  }
  return out;
}

void expect_all_pass(const std::string& isa) {
  const auto report = verify_kernels(kVectors, {.isa = isa});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_TRUE(report->ok()) << failures_of(*report);
  EXPECT_EQ(report->count(CaseRow::Outcome::kSkip), 0);
  EXPECT_GE(report->rows().size(), 105U) << "the manifest lists 105 cases";
}

TEST(VerifyKernels, AllVectorsPassOnScalar) { expect_all_pass("scalar"); }
TEST(VerifyKernels, AllVectorsPassOnTheFastestInstructionSet) {
  expect_all_pass(std::string(isa::available().back()->name));
}

TEST(VerifyKernels, OnlySelectsByOpCaseAndFile) {
  const auto rows = [](const std::string& only) { return verify_kernels(kVectors, {.only = only})->rows().size(); };
  EXPECT_EQ(rows("decode e4m3"), 1U);
  EXPECT_EQ(rows("tables/*"), 10U);
  EXPECT_EQ(rows("gate_384"), 1U);
  const auto none = verify_kernels(kVectors, {.only = "no such case"});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
}

TEST(VerifyKernels, UnknownInstructionSetIsAnError) {
  EXPECT_FALSE(verify_kernels(kVectors, {.isa = "avx1024"}).has_value());
}

// A copy of the folder that tests may damage.
class DamagedVectors : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / (std::string("verify_kernels_") + info->name());
    fs::remove_all(dir_);
    fs::copy(kVectors, dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string path(const std::string& file) const { return (dir_ / file).string(); }
  Result<Report> run(const std::string& only) const { return verify_kernels(dir_.string(), {.only = only}); }

  // Offset of a tensor's first byte in the file image.
  static std::size_t begin_of(const std::string& content, const std::string& tensor) {
    std::uint64_t header = 0;
    std::memcpy(&header, content.data(), sizeof(header));
    const base::Json json = base::parse_json(std::string_view(content).substr(8, header)).value();
    return 8 + header + json.find(tensor)->find("data_offsets")->items()[0].as_uint().value();
  }
  // XORs one byte of a tensor: `byte` counts from its first one.
  void flip(const std::string& file, const std::string& tensor, std::int64_t byte, unsigned char mask) {
    std::string content = base::read_file(path(file)).value();
    char& target = content[begin_of(content, tensor) + byte];
    target = static_cast<char>(target ^ mask);
    write(file, content);
  }
  void write(const std::string& file, const std::string& content) {
    std::ofstream(path(file), std::ios::binary | std::ios::trunc) << content;
  }
  void edit_manifest(const std::string& from, const std::string& to) {
    std::string content = base::read_file(path("manifest.json")).value();
    const auto at = content.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write("manifest.json", content.replace(at, from.size(), to));
  }
  void expect_failures(const std::string& only, std::int64_t count) {
    const auto report = run(only);
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    EXPECT_EQ(report->count(CaseRow::Outcome::kFail), count) << report->to_text();
  }

  fs::path dir_;
};

TEST_F(DamagedVectors, OneWrongElementFailsEveryKindOfRule) {
  struct Damage {
    const char* file;
    const char* output;
    std::int64_t byte;
    unsigned char mask;
    const char* only;
  };
  const Damage damages[] = {
      {"tables.safetensors", "e4m3_decode/values", 4 * 5, 0x01, "e4m3_decode"},                        // bit_exact
      {"quantisers.safetensors", "act_quant32/q", 77, 0x01, "act_quant32"},                            // bit_exact
      {"gemm_fp8.safetensors", "n64_k512_m3/c", 1, 0x01, "gemm_fp8/n64_k512_m3"},                      // bf16_ulp
      {"gemm_fp4.safetensors", "all_codes/c.truth", 8 * 3 + 6, 0x10, "gemm_fp4/all_codes"},            // truth_bound
      {"norm_rope.safetensors", "rope_main/cos", 4 * 40 + 1, 0x80, "rope_main"},                       // abs
      {"hyper_connections.safetensors", "split_sinkhorn_hc4/comb", 4 * 9 + 2, 0x01, "*_hc4"},          // rel
      {"moe.safetensors", "layer/y", 2 * 7 + 1, 0x02, "layer"},                                        // rel_to_row_max
      {"moe.safetensors", "gate_384/ids", 0, 0x01, "gate_384"},                                        // list_per_row
      {"indexer.safetensors", "score/top_fp32", 0, 0x40, "score"},                                     // set_per_row
      {"indexer.safetensors", "score/top_bf16", 0, 0x40, "score"},  // exact_from_scores
      {"engram.safetensors", "hash_released/hash_ids", 8, 0x01, "hash_released"},                      // 64-bit exact
      {"head_sampler.safetensors", "exponential_race/token", 0, 0x01, "exponential_race"},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.output);
    flip(damage.file, damage.output, damage.byte, damage.mask);
    const auto report = run(damage.only);
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    EXPECT_FALSE(report->ok()) << report->to_text();
    flip(damage.file, damage.output, damage.byte, damage.mask);
    EXPECT_TRUE(run(damage.only)->ok());
  }
}

TEST_F(DamagedVectors, AnErrorAboveTheReferencesOwnFails) {
  edit_manifest(R"("max_abs": 0.05403441174)", R"("max_abs": 0.04403441174)");
  expect_failures("rmsnorm_5120", 1);
}

TEST_F(DamagedVectors, TooManyElementsWithinToleranceFail) {
  // One ulp is allowed in each of the 2,944 elements, but not in more than 0.1 % of them.
  for (std::int64_t element = 0; element < 2; ++element) flip("gemm_fp4.safetensors", "grouped/c", 2 * element, 0x01);
  expect_failures("grouped", 0);
  for (std::int64_t element = 2; element < 4; ++element) flip("gemm_fp4.safetensors", "grouped/c", 2 * element, 0x01);
  expect_failures("grouped", 1);
}

TEST_F(DamagedVectors, ParameterOutOfRangeIsAnError) {
  edit_manifest(R"("top": 6)", R"("top": 600000000000)");
  EXPECT_FALSE(run("gate_384").has_value());
}

TEST_F(DamagedVectors, SkippedRowsAreOnlyThoseTheManifestNames) {
  flip("moe.safetensors", "gate_384/ids", 0, 0x01);
  expect_failures("gate_384", 1);
  // A gap of 2^-1022 is below the limit and no tie: the row may be skipped.
  std::string zero_gap(8, '\0');
  std::string tiny_gap("\0\0\0\0\0\0\x10\0", 8);
  for (const auto& [gap, failed] : {std::pair{tiny_gap, 0}, std::pair{zero_gap, 1}}) {
    std::string content = base::read_file(path("moe.safetensors")).value();
    write("moe.safetensors", content.replace(begin_of(content, "gate_384/gap"), 8, gap));
    const auto report = run("gate_384");
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    EXPECT_EQ(report->rows()[0].detail.find("ids: row 0 differs") != std::string::npos, failed == 1)
        << report->to_text();
  }
}

TEST_F(DamagedVectors, UnknownOperationFails) {
  edit_manifest(R"("op": "decode e8m0")", R"("op": "decode e9m0")");
  expect_failures("decode e9m0", 1);
}

TEST_F(DamagedVectors, CorruptManifestIsAnError) {
  const std::pair<const char*, const char*> edits[] = {
      {R"("files": {)", R"("file": {)"},
      {R"("kind": "bit_exact")", R"("kind": "bit_exat")"},
      {R"("e4m3_decode/codes")", R"("e4m3_decode/no_codes")"},
      {R"("outputs": [)", R"("outputs": 3, "other": [)"},
      {R"("tables.safetensors")", R"("absent.safetensors")"},
      {R"("tables.safetensors")", R"("../kernels/tables.safetensors")"},
      {R"("e4m3_decode/codes")", R"("e4m3_decode/values")"},
      {"\"version\"", "version"},
  };
  const std::string intact = base::read_file(path("manifest.json")).value();
  for (const auto& [from, to] : edits) {
    SCOPED_TRACE(to);
    edit_manifest(from, to);
    const auto report = run("");
    ASSERT_FALSE(report.has_value());
    EXPECT_FALSE(report.error().message.empty());
    write("manifest.json", intact);
  }
}

TEST_F(DamagedVectors, ShortVectorFileIsAnError) {
  const std::string content = base::read_file(path("tables.safetensors")).value();
  write("tables.safetensors", content.substr(0, content.size() - 1));
  EXPECT_FALSE(run("tables/*").has_value());
}

TEST_F(DamagedVectors, IndexOutsideATableIsAnError) {
  flip("engram.safetensors", "rows/index", 7, 0x7F);
  const auto report = run("engram/rows");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, ErrorCode::kDataCorruption);
}

}  // namespace
}  // namespace deepinfer::verify
