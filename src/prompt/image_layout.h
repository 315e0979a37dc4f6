// Size arithmetic of images: what an image is scaled to and how many prompt positions it takes.
//
// A span is START, then rows of image positions with a NEWLINE each, then END. Source: model.md 9,
// prompt-recipe.md 5 (the official package repeats the fit until the size no longer changes).
#pragma once

#include <cstdint>

#include "deepinfer/status.h"

namespace deepinfer::prompt {

enum class ImageDetail { kHigh, kLow };

struct ImageLayout {
  std::int64_t width = 0;  ///< pixels after fitting, a multiple of the patch size
  std::int64_t height = 0;
  std::int64_t tokens = 0;  ///< prompt positions, start and end marks included
  bool operator==(const ImageLayout&) const = default;
};

struct ImageLimits {
  std::int64_t patch = 14;
  std::int64_t downsample = 3;  ///< patches a side that become one position
  std::int64_t min_pixels = 544 * 544;
  std::int64_t max_tokens = 1024;
  std::int64_t max_side = 8192;
  std::int64_t low_detail_side = 512;  ///< longest side that low detail keeps
};

/// Errors: kInvalidArgument for sides below 1; kind "ImageDimensionsTooLarge" for sides above `max_side`.
Result<ImageLayout> layout_image(std::int64_t width, std::int64_t height, ImageDetail detail,
                                 const ImageLimits& limits = {});

}  // namespace deepinfer::prompt
