// Random damage: a corrupted checkpoint is refused with a reason, or loads with exactly the bytes that are on disk and
// the structure of the original. Deterministic: the damage comes from a counter-based generator.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/test_folder.h"

namespace deepinfer::checkpoint {
namespace {

using testing_support::Folder;
using testing_support::golden_dir;
using testing_support::TempDir;

class Damage {
 public:
  explicit Damage(std::uint32_t round) : words_(base::philox4x32_10({round, 0, 0, 0}, {0xC0FFEEU, 1U})) {}
  // Changes 1 to 4 bytes, or cuts the end; `limit` restricts the positions to the head of the file.
  void apply(std::string& bytes, std::size_t limit) const {
    if (words_[3] % 16 == 0) {
      bytes.resize(words_[0] % bytes.size());
      return;
    }
    const std::uint32_t count = 1 + words_[3] % 4;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto at = (words_[i % 3] + i * 7919U) % std::min(limit, bytes.size());
      bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U + (words_[(i + 1) % 3] >> 8) % 255U));
    }
  }

 private:
  base::PhiloxCounter words_;
};

// The single-file micro checkpoint.
struct Source {
  Folder folder = Folder::load(golden_dir("micro"));
  std::string image;
  std::size_t header = 0;
  Source() {
    for (auto& tensor : folder.tensors) tensor.shard = 0;
    image = folder.image(0);
    for (std::size_t i = 0; i < 8; ++i) header |= std::size_t{static_cast<unsigned char>(image[i])} << (8 * i);
    header += 8;
  }
};

// Every bound tensor has the bytes that lie at its place in the undamaged layout.
void expect_unchanged_layout(const Checkpoint& loaded, const Source& source, const std::string& damaged) {
  std::size_t at = source.header;
  for (const auto& tensor : source.folder.tensors) {
    const WeightView* view = loaded.find(tensor.name);
    if (view != nullptr) {
      ASSERT_EQ(view->bytes().size(), tensor.bytes.size()) << tensor.name;
      ASSERT_EQ(std::memcmp(view->data, damaged.data() + at, tensor.bytes.size()), 0) << tensor.name;
    }
    at += tensor.bytes.size();
  }
}

TEST(Corruption, DamagedContainersAreRefusedOrLoadTheirBytes) {
  const Source source;
  const TempDir dir;
  dir.write("config.json", source.folder.config);
  int refused = 0;
  int loaded_count = 0;
  for (std::uint32_t round = 0; round < 600; ++round) {
    std::string damaged = source.image;
    Damage(round).apply(damaged, round % 4 == 0 ? damaged.size() : source.header);
    dir.write("model.safetensors", damaged);
    const auto loaded = Checkpoint::open(dir.path());
    if (!loaded) {
      ++refused;
      ASSERT_FALSE(loaded.error().message.empty());
      continue;
    }
    ++loaded_count;
    expect_unchanged_layout(*loaded, source, damaged);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  // Header damage is nearly always fatal; one round in four touches mostly weight bytes and may load.
  EXPECT_GT(refused, 400);
  EXPECT_GT(loaded_count, 30);
}

TEST(Corruption, DamagedConfigurationsAreRefusedOrParse) {
  const std::string text = Folder::load(golden_dir("micro")).config;
  int refused = 0;
  for (std::uint32_t round = 0; round < 1000; ++round) {
    std::string damaged = text;
    Damage(100000 + round).apply(damaged, damaged.size());
    const auto config = load_config_text(damaged, std::nullopt);
    if (config) continue;
    ++refused;
    ASSERT_FALSE(config.error().message.empty());
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace deepinfer::checkpoint
