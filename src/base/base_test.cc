#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/io.h"
#include "base/philox.h"
#include "base/thread_pool.h"

namespace deepinfer::base {
namespace {

TEST(Philox, Goldens) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t range : {0, 1, 2, 7, 64, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(range));
      pool.parallel_for(range, 8, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) hits[static_cast<std::size_t>(i)]++;
      });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST(ThreadPool, RethrowsAndStaysUsable) {
  ThreadPool pool(3);
  const auto fail = [](std::int64_t, std::int64_t end) {
    if (end == 100) throw std::runtime_error("piece failed");
  };
  EXPECT_THROW(pool.parallel_for(100, 1, fail), std::runtime_error);
  std::atomic<std::int64_t> sum{0};
  pool.parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

TEST(Io, WriteIsAtomicAndHashesMatch) {
  const auto path = std::filesystem::temp_directory_path() / "deepinfer_io_test";
  ASSERT_TRUE(write_file(path.string(), "abc"));
  EXPECT_EQ(read_file(path.string()).value(), "abc");
  EXPECT_EQ(sha256_file(path.string()).value(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::filesystem::remove(path);
  EXPECT_EQ(read_file(path.string()).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(write_file("/nonexistent-folder/x", "abc"));
}

TEST(Io, WriteKeepsLinksPipesAndFolders) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::temp_directory_path() / fmt::format("deepinfer_io_kinds_{}", ::getpid());
  fs::create_directories(dir);
  fs::create_symlink("target", dir / "link");  // points to nothing yet
  for (const char* text : {"abc", "de"}) {
    ASSERT_TRUE(write_file((dir / "link").string(), text));
    EXPECT_TRUE(fs::is_symlink(dir / "link"));
    EXPECT_EQ(read_file((dir / "target").string()).value(), text);
  }

  const std::string pipe = (dir / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_file(pipe, "abc"));
  EXPECT_TRUE(fs::is_fifo(pipe));
  char got[8] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 3);
  ::close(reader);

  const Status folder = write_file(dir.string(), "abc");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 3) << "a temporary file was left";
  fs::remove_all(dir);
}

}  // namespace
}  // namespace deepinfer::base
