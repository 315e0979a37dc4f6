// The container: accepted forms, and every violation of checkpoint.md 6 on hand-made images.
#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/test_folder.h"

namespace deepinfer::checkpoint {
namespace {

using testing::HasSubstr;
using testing_support::TempDir;

std::string image(const std::string& header, std::size_t data_bytes, std::uint64_t length) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out.push_back(static_cast<char>((length >> (8 * i)) & 0xFF));
  return out + header + std::string(data_bytes, '\1');
}
std::string image(const std::string& header, std::size_t data_bytes) {
  return image(header, data_bytes, header.size());
}

struct Parsed {
  SafetensorsContent content;
  Problems problems;
  std::string text() const {
    const auto status = problems.to_status("file");
    return status ? "" : status.error().to_string();
  }
};
Parsed parse(const std::string& bytes) {
  Parsed out;
  out.content = parse_safetensors(std::as_bytes(std::span(bytes)), out.problems);
  return out;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& at) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + at + "}";
}

TEST(Safetensors, ReadsEntriesInHeaderOrderWithOutOfOrderOffsets) {
  const auto parsed = parse(image("{" + entry("b", "U8", "[4]", "[8,12]") + "," + entry("a", "BF16", "[2,2]", "[0,8]") +
                                      R"(,"__metadata__":{"format":"pt"}}   )",
                                  12));
  ASSERT_TRUE(parsed.problems.empty()) << parsed.text();
  ASSERT_EQ(parsed.content.tensors.size(), 2U);
  EXPECT_EQ(parsed.content.tensors[0].name, "b");
  EXPECT_EQ(parsed.content.tensors[1].shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(parsed.content.tensors[1].bytes.size(), 8U);
  EXPECT_EQ(parsed.content.data_bytes, 12);
  EXPECT_EQ(parsed.content.metadata[0].second, "pt");
}

TEST(Safetensors, AcceptsUnknownTypesEmptyTensorsAndScalars) {
  const auto parsed =
      parse(image("{" + entry("x", "F6_E2M3", "[3]", "[0,5]") + "," + entry("e", "F32", "[0,7]", "[5,5]") + "," +
                      entry("s", "F32", "[]", "[5,9]") + "," + entry("f4", "F4", "[2,4]", "[9,13]") + "}",
                  13));
  ASSERT_TRUE(parsed.problems.empty()) << parsed.text();
  EXPECT_EQ(parsed.content.tensors[0].dtype, "F6_E2M3");
  EXPECT_EQ(parsed.content.tensors[1].bytes.size(), 0U);
}

TEST(Safetensors, AcceptsAFileWithoutTensors) { EXPECT_TRUE(parse(image("{}", 0)).problems.empty()); }

struct Hostile {
  const char* name;
  std::string bytes;
  const char* message;
};
class HostileImage : public testing::TestWithParam<Hostile> {};

TEST_P(HostileImage, IsRefusedWithAReason) {
  const auto parsed = parse(GetParam().bytes);
  ASSERT_FALSE(parsed.problems.empty());
  EXPECT_EQ(parsed.problems.kept().front().code, ErrorCode::kDataCorruption);
  EXPECT_THAT(parsed.text(), HasSubstr(GetParam().message));
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& at, std::size_t data = 8) {
  return image("{" + entry("t", dtype, shape, at) + "}", data);
}
std::string two(const std::string& first, const std::string& second, std::size_t data) {
  return image("{" + entry("a", "U8", "[4]", first) + "," + entry("b", "U8", "[4]", second) + "}", data);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileImage,
    testing::Values(
        Hostile{"Empty", "", "at least 8"}, Hostile{"SevenBytes", "1234567", "file has 7 bytes"},
        Hostile{"LengthZero", image("", 0, 0), "one JSON object"},
        Hostile{"LengthSeven", image("{}     ", 0, 8), "length is 8"},
        Hostile{"LengthBeyondFile", image("{}", 0, 1000), "header length is 1000, accepted: 2 to 2"},
        Hostile{"LengthHuge", image("{}", 0, std::uint64_t{1} << 40), "header length is 1099511627776"},
        Hostile{"LengthTwoTo63", image("{}", 0, std::uint64_t{1} << 63), "header length is 9223372036854775808"},
        Hostile{"LengthAllOnes", image("{}", 0, ~std::uint64_t{0}), "header length is 18446744073709551615"},
        Hostile{"NotUtf8", image("{\"\xff\xfe\":1}", 0), "header"},
        Hostile{"NotJson", image("{not json}", 0), "header"},
        Hostile{"NotAnObject", image("[1,2]", 0), "one JSON object"},
        Hostile{"Deep", image("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", 0), "nesting"},
        Hostile{"TrailingGarbage", image("{}\n", 0), "nothing but spaces"},
        Hostile{"TwoObjects", image("{}{}", 0), "header"},
        Hostile{"DuplicateName", two("[0,4]", "[4,8]", 8).replace(two("[0,4]", "[4,8]", 8).find("\"b\""), 3, "\"a\""),
                "duplicate key"},
        Hostile{"MetadataNotStrings", image(R"({"__metadata__":{"a":1}})", 0), "must be a string"},
        Hostile{"EntryNotAnObject", image(R"({"t":3})", 0), "entry must be an object"},
        Hostile{"NoDtype", image(R"({"t":{"shape":[1],"data_offsets":[0,1]}})", 1), "entry must be an object"},
        Hostile{"NoShape", image(R"({"t":{"dtype":"U8","data_offsets":[0,1]}})", 1), "shape must be an array"},
        Hostile{"NoOffsets", image(R"({"t":{"dtype":"U8","shape":[1]}})", 1), "data_offsets must be an array"},
        Hostile{"NineDims", one("U8", "[1,1,1,1,1,1,1,1,8]", "[0,8]"), "9 dimensions, at most 8"},
        Hostile{"NegativeExtent", one("U8", "[-8]", "[0,8]"), "extent -8"},
        Hostile{"FractionExtent", one("U8", "[8.0]", "[0,8]"), "extent 8.0"},
        Hostile{"StringExtent", one("U8", "[\"8\"]", "[0,8]"), "extent \"8\""},
        Hostile{"ExtentAbove63Bits", one("U8", "[18446744073709551616]", "[0,8]"), "extent 18446744073709551616"},
        Hostile{"ProductOverflow", one("U8", "[4294967296,4294967296,16]", "[0,8]"), "below 2^60"},
        Hostile{"ProductWrapsToSize", one("U8", "[9223372036854775807,9223372036854775807,8]", "[0,8]"), "below 2^60"},
        Hostile{"OneByteShort", one("F32", "[2]", "[0,8]", 7), "accepted: 0 <= begin <= end <= 7"},
        Hostile{"HalfShort", one("F32", "[2]", "[0,8]", 4), "<= 4"},
        Hostile{"NegativeOffset", one("U8", "[8]", "[-8,0]"), "data_offsets are [-8,0]"},
        Hostile{"BeginAfterEnd", one("U8", "[8]", "[8,0]"), "data_offsets are [8,0]"},
        Hostile{"OffsetOverflow", one("U8", "[8]", "[9223372036854775800,9223372036854775808]"), "data_offsets are"},
        Hostile{"ThreeOffsets", one("U8", "[8]", "[0,4,8]"), "two integers"},
        Hostile{"WrongSize", one("BF16", "[8]", "[0,8]"), "span 8 bytes, dtype BF16 and shape [8] need 16"},
        Hostile{"OddNibbles", one("F4", "[3]", "[0,8]"), "whole number of bytes"},
        Hostile{"GapAtStart", two("[4,8]", "[8,12]", 12), "a gap before it"},
        Hostile{"GapBetween", two("[0,4]", "[5,9]", 9), "a gap before it"},
        Hostile{"Overlap", two("[0,4]", "[2,6]", 6), "overlaps"},
        Hostile{"SameRange", two("[0,4]", "[0,4]", 4), "overlaps"},
        Hostile{"TrailingBytes", two("[0,4]", "[4,8]", 9), "header and tensors need"},
        Hostile{"DataWithoutTensors", image("{}", 5), "header and tensors need 10"}),
    [](const testing::TestParamInfo<Hostile>& param) { return param.param.name; });

TEST(Safetensors, HeaderAboveTheLimitIsRefusedEvenIfPresent) {
  const auto parsed = parse(image("{" + std::string(kMaxHeaderBytes, ' ') + "}", 0));
  EXPECT_THAT(parsed.text(), HasSubstr("accepted: 2 to 100000000"));
}

TEST(Safetensors, ProblemsAreCappedButCounted) {
  std::string header = "{";
  for (int i = 0; i < 250; ++i) header += (i ? "," : "") + entry("t" + std::to_string(i), "U8", "[1]", "[9,3]");
  const auto parsed = parse(image(header + "}", 10));
  EXPECT_EQ(parsed.problems.total(), 250);
  EXPECT_EQ(parsed.problems.kept().size(), Problems::kMaxKept);
  EXPECT_THAT(parsed.text(), HasSubstr("and 150 more"));
}

TEST(Safetensors, NamesCannotForgeLinesOfTheReport) {
  const auto parsed =
      parse(image("{" + entry("a\\nkNotFound: \\u001b[31mall is well", "U8", "[-1]", "[0,1]") + "}", 1));
  const std::string text = parsed.text();
  EXPECT_THAT(text, HasSubstr("a\\x0akNotFound"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto sized = parse(image(
      "{" + entry("t", "I8", "[9]", "[0,1]") + "," + entry(std::string(5000, 'n'), "I8", "[9]", "[0,1]") + "}", 1));
  EXPECT_LT(sized.text().size(), 1000U);
}

TEST(Safetensors, WritesWhatItReads) {
  const TempDir dir;
  const std::vector<float> values = {1.5F, -2.0F, 3.25F};
  const auto tensor = Tensor::from<float>(DType::kF32, {3, 1}, values);
  const std::vector<NamedTensor> tensors = {{"logits", tensor.ref()}, {"again", tensor.ref()}};
  ASSERT_TRUE(write_safetensors(dir.path() + "/x.safetensors", tensors));
  const auto file = SafetensorsFile::open(dir.path() + "/x.safetensors");
  ASSERT_TRUE(file) << file.error().to_string();
  const auto back = file->tensor("logits");
  ASSERT_TRUE(back);
  EXPECT_EQ(to_string(back->type), "f32[3,1]");
  EXPECT_EQ(std::memcmp(back->data, values.data(), 12), 0);
  EXPECT_EQ(file->tensor("absent").error().code, ErrorCode::kNotFound);
}

TEST(Safetensors, WriterRefusesDuplicatesAndTypesWithoutAName) {
  const Tensor tensor(DType::kF8E4M3, {2});
  const std::vector<NamedTensor> foreign = {{"a", tensor.ref()}};
  EXPECT_EQ(write_safetensors("/nonexistent/x", foreign).error().code, ErrorCode::kInvalidArgument);
  const Tensor byte(DType::kU8, {2});
  const std::vector<NamedTensor> twice = {{"a", byte.ref()}, {"a", byte.ref()}};
  EXPECT_EQ(write_safetensors("/nonexistent/x", twice).error().code, ErrorCode::kInvalidArgument);
  const std::vector<NamedTensor> fine = {{"a", byte.ref()}};
  EXPECT_EQ(write_safetensors("/nonexistent/x", fine).error().code, ErrorCode::kUnavailable);
}

TEST(Safetensors, RefusesWhatIsNoRegularFile) {
  const TempDir dir;
  EXPECT_EQ(SafetensorsFile::open(dir.path()).error().code, ErrorCode::kNotFound);
  ASSERT_EQ(::mkfifo((dir.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(SafetensorsFile::open(dir.path() + "/fifo").error().code, ErrorCode::kNotFound);
  std::filesystem::create_symlink("loop", dir.path() + "/loop");
  EXPECT_EQ(SafetensorsFile::open(dir.path() + "/loop").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace deepinfer::checkpoint
