// What one running sequence leaves behind: its tokens, its place in the caches, and how far it is computed.
#pragma once

#include <cstdint>
#include <vector>

namespace deepinfer::engine {

struct Sequence {
  std::vector<std::int32_t> tokens;   ///< by position; entries at and after `length` are not computed yet
  std::vector<std::int32_t> classes;  ///< folded ids by position for the Engram hash, -1 = dead (image span)
  std::vector<std::uint8_t> image;    ///< 1 = image-span position; empty = no image
  std::int64_t length = 0;            ///< positions whose state is in the caches
  std::int64_t tail_start = 0;        ///< first position that runs the decoder half (model.md 10)
  std::int32_t slot = 0;              ///< state slot
  std::vector<std::int32_t> blocks;   ///< block table
};

}  // namespace deepinfer::engine
