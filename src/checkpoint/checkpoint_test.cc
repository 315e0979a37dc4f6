// Loading: golden checkpoints, every refusal of checkpoint.md 6 on changed copies of one, dummy weights, inspection.
#include "checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "checkpoint/inspect.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/test_folder.h"
#include "checkpoint/value_scan.h"

namespace deepinfer::checkpoint {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::Folder;
using testing_support::golden_dir;
using testing_support::TempDir;

const std::string kTinyChat = std::string(DEEPINFER_SOURCE_DIR) + "/models/tiny-chat";

class GoldenCheckpoint : public testing::TestWithParam<std::pair<std::string, int>> {};

TEST_P(GoldenCheckpoint, OpensWithEveryTensorConsumed) {
  const auto& [dir, tensors] = GetParam();
  auto loaded = Checkpoint::open(dir, {.scan = ScanLevel::kFull});
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(loaded->report().tensors_bound + static_cast<std::int64_t>(loaded->report().ignored.size()), tensors);
  // Only the image bias of each draft gate is ignored.
  EXPECT_EQ(loaded->report().ignored.size(), static_cast<std::size_t>(loaded->config().num_nextn_predict_layers));
  const Checkpoint moved = std::move(*loaded);
  for (const WeightSpec& spec : moved.table()) {
    if (spec.use != WeightUse::kRequired) continue;
    const WeightView* view = moved.find(spec.name);
    ASSERT_NE(view, nullptr) << spec.name;
    EXPECT_EQ(view->name, spec.name);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view->data) % static_cast<std::uintptr_t>(dtype_bytes(spec.dtype())),
              0U);
  }
  EXPECT_EQ(moved.scaled("layers.0.attn.wq_a").scale.type.dtype, DType::kF8E8M0);
  EXPECT_EQ(moved.engram_layouts().size(), moved.config().engram_layer_ids.size());
  EXPECT_THROW(moved.weight("layers.0.attn.nothing"), CheckFailure);
}
INSTANTIATE_TEST_SUITE_P(All, GoldenCheckpoint,
                         testing::Values(std::pair(golden_dir("micro"), 538), std::pair(golden_dir("nosel"), 538),
                                         std::pair(golden_dir("ties"), 538), std::pair(golden_dir("geom"), 304),
                                         std::pair(golden_dir("wide"), 4678), std::pair(kTinyChat, 1156)));

TEST(WeightTable, ReleasedConfigurationHas96085Tensors) {
  const auto table = weight_table(released_config());
  EXPECT_EQ(table.size(), 96085U);
  std::set<std::string> names;
  std::int64_t bytes = 0;
  std::int64_t experts = 0;
  for (const WeightSpec& spec : table) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    bytes += spec.bytes();
    if (spec.group == WeightGroup::kExperts && spec.kind == WeightKind::kFp4) experts += spec.bytes();
  }
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  EXPECT_NEAR(static_cast<double>(bytes) / kGiB, 475.2, 0.1);  // checkpoint.md 1
  EXPECT_NEAR(static_cast<double>(experts) / kGiB, 253.1, 0.1);
}

struct Change {
  const char* name;
  std::function<void(Folder&)> apply;
  ErrorCode code;
  std::vector<std::string> messages;
};
class ChangedCheckpoint : public testing::TestWithParam<Change> {};

TEST_P(ChangedCheckpoint, IsRefusedWithTensorFoundAndAccepted) {
  Folder folder = Folder::load(golden_dir("micro"));
  GetParam().apply(folder);
  const TempDir dir;
  folder.write(dir);
  const auto loaded = Checkpoint::open(dir.path(), {.scan = ScanLevel::kFull});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, GetParam().code) << loaded.error().to_string();
  for (const std::string& message : GetParam().messages) EXPECT_THAT(loaded.error().to_string(), HasSubstr(message));
}

constexpr auto kInvalid = ErrorCode::kInvalidArgument;

INSTANTIATE_TEST_SUITE_P(
    All, ChangedCheckpoint,
    testing::Values(
        Change{"Missing",
               [](Folder& f) { f.erase("norm.weight"); },
               kInvalid,
               {"norm.weight: is missing; expected BF16 [128]"}},
        Change{"ScaleMissing",
               [](Folder& f) { f.erase("layers.2.attn.wo_b.scale"); },
               kInvalid,
               {"layers.2.attn.wo_b.scale: is missing; expected F8_E8M0 or U8 [4, 2]"}},
        Change{"ExpertIncomplete",
               [](Folder& f) { f.erase("layers.2.ffn.experts.7.w3.weight"); },
               kInvalid,
               {"layers.2.ffn.experts.7.w3.weight: is missing"}},
        Change{"Extra",
               [](Folder& f) {
                 f.tensors.push_back({"layers.0.attn.bias", "F32", {1}, "abcd", 0});
               },
               kInvalid,
               {"layers.0.attn.bias: is no tensor of this configuration (dtype F32, shape [1])"}},
        Change{"ExtraExpert",
               [](Folder& f) {
                 auto extra = f.at("layers.0.ffn.experts.0.w1.weight");
                 extra.name = "layers.0.ffn.experts.8.w1.weight";
                 f.tensors.push_back(extra);
               },
               kInvalid,
               {"layers.0.ffn.experts.8.w1.weight: is no tensor"}},
        Change{"GateOfRatio1",
               [](Folder& f) {
                 auto extra = f.at("layers.1.attn.compressor.wgate.weight");
                 extra.name = "layers.3.attn.compressor.wgate.weight";
                 f.tensors.push_back(extra);
               },
               kInvalid,
               {"layers.3.attn.compressor.wgate.weight: is no tensor"}},
        Change{"WrongShape",
               [](Folder& f) {
                 f.at("layers.0.attn.wq_a.weight").shape = {128, 64};
               },
               kInvalid,
               {"layers.0.attn.wq_a.weight: has the shape [128, 64], accepted: [64, 128]"}},
        Change{"ScaleOfOtherBlock",
               [](Folder& f) {
                 auto& scale = f.at("layers.0.attn.wq_b.scale");
                 scale.shape = {2, 1};
                 scale.bytes.resize(2);
               },
               kInvalid,
               {"has the shape [2, 1], accepted: [8, 2] (one scale a 32 x 32 block"}},
        Change{"ExpertScaleByTile",
               [](Folder& f) {
                 auto& scale = f.at("layers.0.ffn.experts.0.w1.scale");
                 scale.shape = {2, 4};
                 scale.bytes.resize(8);
               },
               kInvalid,
               {"accepted: [64, 4] (one scale a 1 x 32 block"}},
        Change{"WrongType",
               [](Folder& f) { f.at("layers.0.attn.wq_a.weight").dtype = "I8"; },
               kInvalid,
               {"layers.0.attn.wq_a.weight: has dtype I8, accepted: F8_E4M3"}},
        Change{"UnknownTypeUsed",
               [](Folder& f) { f.at("layers.0.attn.wq_a.scale").dtype = "F8_E9M9"; },
               kInvalid,
               {"has dtype F8_E9M9, accepted: F8_E8M0, U8"}},
        Change{"Two",
               [](Folder& f) {
                 f.erase("norm.weight");
                 f.erase("head.weight");
               },
               kInvalid,
               {"2 problems", "norm.weight: is missing", "head.weight: is missing"}},
        Change{"NanWeight",
               [](Folder& f) {
                 f.at("layers.0.attn.wkv.weight").bytes[7] = '\x7f';
                 f.at("layers.0.attn.wkv.weight").bytes[9] = '\xff';
               },
               kInvalid,
               {"layers.0.attn.wkv.weight: 2 NaN codes"}},
        Change{"NanScale",
               [](Folder& f) { f.at("layers.4.attn.wkv.scale").bytes[3] = '\xff'; },
               kInvalid,
               {"layers.4.attn.wkv.scale: 1 NaN codes (0xFF)"}},
        Change{"HugeScale",
               [](Folder& f) { f.at("layers.4.attn.wkv.scale").bytes[3] = static_cast<char>(168); },
               kInvalid,
               {"1 scales above 2^40"}},
        Change{"ZeroScales",
               [](Folder& f) { f.at("layers.4.attn.wkv.scale").bytes.assign(8, '\0'); },
               kInvalid,
               {"every scale is code 0"}},
        Change{"NanExpertScale",
               [](Folder& f) { f.at("mtp.1.ffn.experts.3.w2.scale").bytes[0] = '\xff'; },
               kInvalid,
               {"mtp.1.ffn.experts.3.w2.scale"}},
        Change{"NanEngramRow",
               [](Folder& f) { f.at("layers.4.engram.embed.weight").bytes[629 * 32] = '\x7f'; },
               kInvalid,
               {"layers.4.engram.embed.weight"}},
        Change{"NormNotFinite",
               [](Folder& f) { f.at("norm.weight").bytes.replace(4, 2, "\x80\x7f"); },
               kInvalid,
               {"norm.weight: 1 infinite or NaN values"}},
        Change{"BiasNotFinite",
               [](Folder& f) { f.at("layers.1.ffn.gate.bias").bytes.replace(0, 4, std::string("\0\0\xc0\xff", 4)); },
               kInvalid,
               {"layers.1.ffn.gate.bias: 1 infinite or NaN"}},
        Change{"HyperNotFinite",
               [](Folder& f) { f.at("layers.1.hc_ffn_fn").bytes.replace(8, 4, std::string("\0\0\x80\x7f", 4)); },
               kInvalid,
               {"layers.1.hc_ffn_fn"}},
        Change{"EngramRows", [](Folder& f) { f.edit_config("462", "463"); }, kInvalid, {"463, accepted: 462"}},
        Change{"NoConfig",
               [](Folder& f) {
                 f.config.clear();
                 f.flat.clear();
               },
               ErrorCode::kNotFound,
               {"config.json"}},
        Change{"FormsDisagree",
               [](Folder& f) {
                 const std::string flat = f.flat;
                 f.edit_config("\"swiglu_limit\": 2.5", "\"swiglu_limit\": 3.5");
                 f.flat = flat;
               },
               kInvalid,
               {"swiglu_limit: is 3.5 in config.json"}},
        Change{"MoreLayersThanTensors",
               [](Folder& f) {
                 f.edit_config("\"num_nextn_predict_layers\": 2", "\"num_nextn_predict_layers\": 3");
                 f.edit_config("\"compress_ratios\": [", "\"compress_ratios\": [0,");
               },
               kInvalid,
               {"compress_ratios"}}),
    [](const testing::TestParamInfo<Change>& param) { return param.param.name; });

// Changes after which the checkpoint is still a good one.
class HarmlessChange : public testing::TestWithParam<Change> {};

TEST_P(HarmlessChange, StillLoads) {
  Folder folder = Folder::load(golden_dir("micro"));
  GetParam().apply(folder);
  const TempDir dir;
  folder.write(dir);
  const auto loaded = Checkpoint::open(dir.path());
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  for (const auto& tensor : folder.tensors) {
    const WeightView* view = loaded->find(tensor.name);
    if (view == nullptr) continue;
    EXPECT_EQ(std::memcmp(view->data, tensor.bytes.data(), tensor.bytes.size()), 0) << tensor.name;
  }
}

void put_unaligned(Folder& folder) {
  // An ignored tensor of one byte in front of everything shifts all data of the shard by one.
  folder.tensors.insert(folder.tensors.begin(), {"vision.odd", "U8", {1}, "x", 0});
}
INSTANTIATE_TEST_SUITE_P(
    All, HarmlessChange,
    testing::Values(Change{"ScalesAsU8",
                           [](Folder& f) {
                             for (auto& t : f.tensors)
                               if (t.dtype == "F8_E8M0") t.dtype = "U8";
                           },
                           {},
                           {}},
                    Change{"PackedAsU8",
                           [](Folder& f) {
                             for (auto& t : f.tensors)
                               if (t.dtype == "I8") t.dtype = "U8";
                           },
                           {},
                           {}},
                    Change{"PackedAsF4",
                           [](Folder& f) {
                             for (auto& t : f.tensors)
                               if (t.dtype == "I8") {
                                 t.dtype = "F4";
                                 t.shape[1] *= 2;
                               }
                           },
                           {},
                           {}},
                    Change{"UnknownTypeUnused",
                           [](Folder& f) {
                             f.tensors.push_back({"vision.x", "F8_E9M9", {3}, "abcde", 2});
                           },
                           {},
                           {}},
                    Change{"ImageTensors",
                           [](Folder& f) {
                             f.tensors.push_back({"image_start", "BF16", {1}, "ab", 0});
                             f.tensors.push_back({"aligner.w1.bias", "BF16", {1}, "ab", 0});
                           },
                           {},
                           {}},
                    Change{"NoImageBias",
                           [](Folder& f) {
                             for (int i = 0; i < 5; ++i) f.erase("layers." + std::to_string(i) + ".ffn.gate.bias_vl");
                           },
                           {},
                           {}},
                    Change{"Unaligned", put_unaligned, {}, {}},
                    Change{"ScatteredExperts",
                           [](Folder& f) {
                             for (std::size_t i = 0; i < f.tensors.size(); ++i) f.tensors[i].shard = i % f.shards;
                           },
                           {},
                           {}},
                    Change{
                        "ReversedOrder", [](Folder& f) { std::reverse(f.tensors.begin(), f.tensors.end()); }, {}, {}},
                    Change{"OneShard",
                           [](Folder& f) {
                             for (auto& t : f.tensors) t.shard = 0;
                             f.shards = 1;
                           },
                           {},
                           {}},
                    Change{"FlatOnly", [](Folder& f) { f.config.clear(); }, {}, {}},
                    Change{"HuggingFaceOnly", [](Folder& f) { f.flat.clear(); }, {}, {}}),
    [](const testing::TestParamInfo<Change>& param) { return param.param.name; });

TEST(Checkpoint, MisalignedNumbersAreCopiedAndReported) {
  Folder folder = Folder::load(golden_dir("micro"));
  put_unaligned(folder);
  const TempDir dir;
  folder.write(dir);
  const auto loaded = Checkpoint::open(dir.path());
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->report().realigned.empty());
  EXPECT_GT(loaded->owned_bytes(), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded->weight("layers.0.hc_attn_fn").data) % 4, 0U);
}

TEST(Checkpoint, LazyGroupsAreScannedWhenSmallOrAsked) {
  Folder folder = Folder::load(golden_dir("micro"));
  folder.at("layers.0.ffn.experts.3.w2.scale").bytes[0] = '\xff';
  const TempDir dir;
  folder.write(dir);
  EXPECT_TRUE(Checkpoint::open(dir.path(), {.scan_mapped_bytes = 0}));
  EXPECT_FALSE(Checkpoint::open(dir.path(), {.scan = ScanLevel::kFull, .scan_mapped_bytes = 0}));
  const auto by_default = Checkpoint::open(dir.path());
  ASSERT_FALSE(by_default);
  EXPECT_THAT(by_default.error().to_string(), HasSubstr("layers.0.ffn.experts.3.w2.scale: 1 NaN codes"));
}

TEST(Checkpoint, DraftStagesCanBeSkipped) {
  const auto loaded = Checkpoint::open(golden_dir("micro"), {.drafts = DraftLayers::kSkip});
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->find("mtp.0.main_proj.weight"), nullptr);
  EXPECT_GT(loaded->report().ignored.size(), 100U);
}

TEST(Checkpoint, BudgetIsKept) {
  const auto loaded = Checkpoint::open(golden_dir("micro"), {.memory_budget = 1000});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(loaded.error().to_string(), HasSubstr("the budget is 1000"));
}

// Damage of files and index, on a folder that was written whole.
class DamagedFolder : public testing::Test {
 protected:
  void SetUp() override { folder_.write(dir_); }
  std::string open_error(ErrorCode code) {
    const auto loaded = Checkpoint::open(dir_.path());
    if (loaded) return "loaded";
    EXPECT_EQ(loaded.error().code, code) << loaded.error().to_string();
    return loaded.error().to_string();
  }
  void rewrite_index(const std::function<void(base::Json&)>& change) {
    base::Json index = folder_.index();
    change(index);
    dir_.write("model.safetensors.index.json", base::dump_json(index));
  }
  static base::Json& map_of(base::Json& index) {
    for (auto& [key, value] : index.members()) {
      if (key == "weight_map") return value;
    }
    throw std::runtime_error("no weight_map");
  }

  Folder folder_ = Folder::load(golden_dir("micro"));
  TempDir dir_;
};

TEST_F(DamagedFolder, TruncatedByOneByte) {
  const std::string image = folder_.image(1);
  dir_.write(Folder::shard_name(1), image.substr(0, image.size() - 1));
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("model-00002.safetensors"));
}
TEST_F(DamagedFolder, TruncatedByHalf) {
  const std::string image = folder_.image(1);
  dir_.write(Folder::shard_name(1), image.substr(0, image.size() / 2));
  open_error(ErrorCode::kDataCorruption);
}
TEST_F(DamagedFolder, OneByteMore) {
  dir_.write(Folder::shard_name(1), folder_.image(1) + "x");
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("header and tensors need"));
}
TEST_F(DamagedFolder, MissingShardIsNamedWithItsTensors) {
  std::filesystem::remove(dir_.path() + "/" + Folder::shard_name(2));
  const std::string error = open_error(ErrorCode::kNotFound);
  EXPECT_THAT(error, HasSubstr("model-00003.safetensors"));
  EXPECT_THAT(error, HasSubstr("the index expects 4 tensors in it: layers.1.engram.embed.scale, layers.1.engram"));
  EXPECT_THAT(error, Not(HasSubstr("is missing")));
}
TEST_F(DamagedFolder, NoFilesAtAll) {
  const TempDir empty;
  empty.write("config.json", folder_.config);
  EXPECT_EQ(Checkpoint::open(empty.path()).error().code, ErrorCode::kNotFound);
}
TEST_F(DamagedFolder, SeveralShardsWithoutIndex) {
  std::filesystem::remove(dir_.path() + "/model.safetensors.index.json");
  EXPECT_THAT(open_error(ErrorCode::kNotFound), HasSubstr("3 safetensors files but no model.safetensors.index.json"));
}
TEST_F(DamagedFolder, SingleFileNeedsNoIndex) {
  for (auto& tensor : folder_.tensors) tensor.shard = 0;
  const TempDir single;
  single.write("config.json", folder_.config);
  single.write("model.safetensors", folder_.image(0));
  EXPECT_TRUE(Checkpoint::open(single.path()));
}
TEST_F(DamagedFolder, IndexNamesAnotherFolder) {
  for (const char* name : {"../model.safetensors", "a/b.safetensors", "..", ".hidden", ""}) {
    rewrite_index([&](base::Json& index) { map_of(index).set("norm.weight", name); });
    EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("a file name in the same folder"));
  }
}
TEST_F(DamagedFolder, IndexedTensorIsAbsent) {
  rewrite_index([](base::Json& index) { map_of(index).set("layers.9.ghost", Folder::shard_name(0)); });
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("layers.9.ghost: is listed in the index but not"));
}
TEST_F(DamagedFolder, IndexedForAnotherShard) {
  rewrite_index([](base::Json& index) { map_of(index).set("embed.weight", Folder::shard_name(2)); });
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("is listed in the index for model-00003"));
}
TEST_F(DamagedFolder, UnlistedTensor) {
  rewrite_index([](base::Json& index) {
    std::erase_if(map_of(index).members(), [](const auto& member) { return member.first == "embed.weight"; });
  });
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("embed.weight: is not listed in the index"));
}
TEST_F(DamagedFolder, TensorInTwoShards) {
  auto copy = folder_.at("embed.weight");
  copy.shard = 1;
  folder_.tensors.push_back(copy);
  dir_.write(Folder::shard_name(1), folder_.image(1));
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("is also in model-00001"));
}
TEST_F(DamagedFolder, WrongTotal) {
  rewrite_index([](base::Json& index) { index.set("metadata", base::Json::object()); });
  const auto loaded = Checkpoint::open(dir_.path());
  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->report().warnings.at(0), HasSubstr("no metadata.total_size"));
  rewrite_index([](base::Json& index) {
    base::Json metadata = base::Json::object();
    index.set("metadata", metadata.set("total_size", 5));
  });
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("metadata.total_size: is 5"));
}
TEST_F(DamagedFolder, IndexIsNoJson) {
  dir_.write("model.safetensors.index.json", "{\"weight_map\": {\"a\": \"b\", \"a\": \"c\"}}");
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("duplicate key"));
  dir_.write("model.safetensors.index.json", "[]");
  EXPECT_THAT(open_error(ErrorCode::kDataCorruption), HasSubstr("weight_map"));
}
TEST_F(DamagedFolder, ConfigIsADirectory) {
  std::filesystem::remove(dir_.path() + "/config.json");
  std::filesystem::create_directory(dir_.path() + "/config.json");
  open_error(ErrorCode::kNotFound);
}

TEST(ValueScan, EveryCodeIsClassified) {
  for (int code = 0; code < 256; ++code) {
    const std::byte byte{static_cast<unsigned char>(code)};
    const std::span<const std::byte> one(&byte, 1);
    EXPECT_EQ(count_e4m3_nan(one), code == 0x7F || code == 0xFF);
    EXPECT_EQ(count_e8m0_nan(one), code == 0xFF);
    EXPECT_EQ(count_e8m0_huge(one), code > 167 && code < 255);
    EXPECT_TRUE(scan_values(WeightKind::kFp4, one).empty());
  }
  for (int bits = 0; bits < 65536; ++bits) {
    const BF16 value{static_cast<std::uint16_t>(bits)};
    EXPECT_EQ(count_nonfinite_bf16(std::as_bytes(std::span(&value, 1))), std::isfinite(to_float(value)) ? 0 : 1);
    const float single = to_float(value);
    EXPECT_EQ(count_nonfinite_f32(std::as_bytes(std::span(&single, 1))), std::isfinite(single) ? 0 : 1);
  }
}

TEST(DummyCheckpoint, HasTheLayoutOfTheConfigurationAndSaneValues) {
  const ModelConfig config = load_config(golden_dir("micro")).value();
  const auto first = Checkpoint::dummy(config, 7);
  ASSERT_TRUE(first) << first.error().to_string();
  const auto again = Checkpoint::dummy(config, 7);
  const auto other = Checkpoint::dummy(config, 8);
  const auto real = Checkpoint::open(golden_dir("micro"));
  EXPECT_EQ(first->report().tensors_bound, real->report().tensors_bound);
  EXPECT_EQ(first->report().bytes_bound, real->report().bytes_bound);
  for (const WeightSpec& spec : first->table()) {
    const WeightView* view = first->find(spec.name);
    if (view == nullptr) continue;
    EXPECT_EQ(view->type, real->weight(spec.name).type);
    EXPECT_EQ(scan_values(spec.kind, view->bytes()), "") << spec.name;
    const auto size = view->bytes().size();
    EXPECT_EQ(std::memcmp(view->data, again->weight(spec.name).data, size), 0) << spec.name;
    if (size >= 16) {
      EXPECT_NE(std::memcmp(view->data, other->weight(spec.name).data, size), 0) << spec.name;
    }
  }
  EXPECT_EQ(Checkpoint::dummy(released_config(), 1, {.memory_budget = 1 << 30}).error().code,
            ErrorCode::kResourceExhausted);
  ModelConfig bad = config;
  bad.hidden_size = 33;
  EXPECT_EQ(Checkpoint::dummy(bad, 1).error().code, kInvalid);
}

TEST(Inspect, SumsAndRolesAgreeWithTheFolder) {
  const auto loaded = Checkpoint::open(kTinyChat);
  ASSERT_TRUE(loaded);
  const auto seen = inspect(*loaded, FileHashes::kCompute);
  ASSERT_TRUE(seen);
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  for (const GroupSummary& group : seen->groups) {
    bytes += group.bytes;
    tensors += group.tensors;
  }
  EXPECT_EQ(tensors, loaded->report().tensors_bound);
  EXPECT_EQ(bytes, seen->plan.resident_bytes + seen->plan.mapped_bytes);
  ASSERT_EQ(seen->layers.size(), 10U);
  EXPECT_EQ(seen->layers[0].role, "Window");
  EXPECT_EQ(seen->layers[2].role, "Full");
  EXPECT_EQ(seen->layers[3].role, "Reuse");
  EXPECT_EQ(seen->layers[6].role, "Reindex");
  EXPECT_EQ(seen->layers[7].role, "Draft");
  EXPECT_GT(seen->plan.allowed_bytes, 0);
  const base::Json json = to_json(*seen);
  EXPECT_EQ(json.find("files")->items()[0].find("sha256")->string().size(), 64U);
  EXPECT_EQ(static_cast<std::int64_t>(json.find("tensors")->items().size()), tensors);
  Problems problems;
  EXPECT_EQ(parse_config(*json.find("config"), ConfigForm::kHuggingFace, problems), loaded->config());
}

}  // namespace
}  // namespace deepinfer::checkpoint
