#include "prompt/image_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "prompt/request_error.h"

namespace deepinfer::prompt {
namespace {

struct Size {
  std::int64_t width;
  std::int64_t height;
  bool operator==(const Size&) const = default;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t tokens_of(Size size, const ImageLimits& limits) {
  const std::int64_t cell = limits.patch * limits.downsample;
  return ceil_div(size.height, cell) * (ceil_div(size.width, cell) + 1) + 2;
}

std::int64_t truncated(double value) { return static_cast<std::int64_t>(value); }

// Largest grid with the image's aspect ratio that fits the budget; a single row or column at the extremes.
Size shrink(Size size, const ImageLimits& limits) {
  const auto width = static_cast<double>(size.width);
  const auto height = static_cast<double>(size.height);
  const double ratio = height / width;
  const auto budget = static_cast<double>(limits.max_tokens - 2);
  double columns = std::floor(std::sqrt(budget / ratio + 0.25) - 0.5);
  double rows = std::floor((std::sqrt(budget / ratio + 0.25) - 0.5) * ratio);
  if (columns < 1) {
    columns = 1;
    rows = std::floor(budget / 2);
  } else if (rows < 1) {
    rows = 1;
    columns = budget - 1;
  }
  const auto cell = static_cast<double>(limits.patch * limits.downsample);
  const double scale = std::min(columns * cell / width, rows * cell / height);
  const auto patch = static_cast<double>(limits.patch);
  return {std::max(limits.patch, truncated(width * scale / patch) * limits.patch),
          std::max(limits.patch, truncated(height * scale / patch) * limits.patch)};
}

// Scale up to the smallest area, round up to whole patches, shrink if it takes too many positions.
Size fit_once(Size size, const ImageLimits& limits) {
  const std::int64_t area = size.width * size.height;
  if (area < limits.min_pixels) {
    const double scale = std::sqrt(static_cast<double>(limits.min_pixels) / static_cast<double>(area));
    size = {truncated(static_cast<double>(size.width) * scale), truncated(static_cast<double>(size.height) * scale)};
  }
  const Size whole = {std::max<std::int64_t>(1, ceil_div(size.width, limits.patch)) * limits.patch,
                      std::max<std::int64_t>(1, ceil_div(size.height, limits.patch)) * limits.patch};
  return tokens_of(whole, limits) > limits.max_tokens ? shrink(size, limits) : whole;
}

Size low_detail(Size size, const ImageLimits& limits) {
  const std::int64_t longest = std::max(size.width, size.height);
  if (longest <= limits.low_detail_side) return size;
  const auto wanted = static_cast<double>(limits.low_detail_side);
  const auto scaled = [&](std::int64_t side) {
    const double exact = static_cast<double>(side) * wanted / static_cast<double>(longest);
    return std::max<std::int64_t>(1, truncated(std::floor(exact + 0.5)));
  };
  return {scaled(size.width), scaled(size.height)};
}

}  // namespace

Result<ImageLayout> layout_image(std::int64_t width, std::int64_t height, ImageDetail detail,
                                 const ImageLimits& limits) {
  if (width < 1 || height < 1) {
    return errorf(ErrorCode::kInvalidArgument, "an image of {}x{} pixels; sides start at 1", width, height);
  }
  if (std::max(width, height) > limits.max_side) {
    return request_error("ImageDimensionsTooLarge", "image",
                         fmt::format("{}x{} pixels; sides up to {} are accepted", width, height, limits.max_side));
  }
  Size size{width, height};
  if (detail == ImageDetail::kLow) size = low_detail(size, limits);
  // The size settles within a few rounds; the bound only guards against an endless alternation.
  for (int round = 0; round < 64; ++round) {
    const Size next = fit_once(size, limits);
    if (next == size) break;
    size = next;
  }
  return ImageLayout{size.width, size.height, tokens_of(size, limits)};
}

}  // namespace deepinfer::prompt
