// Generated fixtures: valid, reloadable, and the same bytes everywhere.
#include "checkpoint/fixtures.h"

#include <gtest/gtest.h>

#include <map>

#include "base/io.h"
#include "checkpoint/test_folder.h"
#include "checkpoint/writer.h"

namespace deepinfer::checkpoint {
namespace {

const std::map<std::string_view, std::string_view> kPinned = {
    {"order", "f112bef3d9dee6375e39c2dde364e4e8a0d3b6c31b114161c71b731aed2f329f"},
    {"lone", "7857943d2dab3463363eca29da2e67ee85d803deb5c385ba34306b90e82b8d80"},
    {"owners", "bc98b9a1fe98bf6dc5e535b63332f01d375a7fcae70051533a4220778c4c5346"},
    {"groups", "8ba495fc35812fbe9626d01beb0389569460d266c6aa6d409001aa7ae0b481ca"},
    {"bigram", "f93c879b40a919333f199e2ceab876a6d09d19f610f753b7edb68b57743224ba"},
};

TEST(Fixtures, ReloadWithTheSameBytesAndHaveThePinnedHash) {
  for (const Fixture& fixture : fixtures()) {
    const auto made = fixture_checkpoint(fixture.name);
    ASSERT_TRUE(made) << made.error().to_string();
    std::string digests;
    for (const FolderFile& file : checkpoint_files(*made)) digests += file.name + base::sha256_hex(file.bytes);
    EXPECT_EQ(base::sha256_hex(digests), kPinned.at(fixture.name)) << fixture.name;

    const testing_support::TempDir dir;
    ASSERT_TRUE(write_checkpoint(*made, dir.path()));
    const auto loaded = Checkpoint::open(dir.path(), {.scan = ScanLevel::kFull});
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    EXPECT_EQ(loaded->config(), made->config());
    EXPECT_TRUE(loaded->report().realigned.empty());
    EXPECT_TRUE(loaded->report().warnings.empty());
    ASSERT_EQ(loaded->report().tensors_bound, made->report().tensors_bound);
    for (const WeightSpec& spec : made->table()) {
      const WeightView* view = made->find(spec.name);
      if (view == nullptr) continue;
      EXPECT_EQ(std::memcmp(view->data, loaded->weight(spec.name).data, view->bytes().size()), 0) << spec.name;
    }
  }
}

TEST(Fixtures, UnknownNamesAreListed) {
  const auto config = fixture_config("T6");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("accepted: order, lone"), std::string::npos);
}

TEST(Writer, ReportsAFolderThatCannotBeMade) {
  const auto made = fixture_checkpoint("lone");
  ASSERT_TRUE(made);
  EXPECT_EQ(write_checkpoint(*made, "/proc/nothing").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace deepinfer::checkpoint
