// Content parts of the request forms: text and images.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

bool is_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return false;
  std::size_t end = text.size();
  for (int i = 0; i < 2 && text[end - 1] == '='; ++i) --end;
  const auto digit = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), digit);
}

// http(s), or base64 data of an image type. The bytes are not decoded here: the text engine refuses images later.
Status check_image_url(std::string_view url, const std::string& path) {
  if (url.starts_with("http://") || url.starts_with("https://")) return {};
  if (!url.starts_with("data:")) {
    return request_error("image", path, fmt::format("\"{}\" is no http, https or data URL", url.substr(0, 64)));
  }
  const std::size_t comma = url.find(',');
  const std::string_view head = url.substr(0, comma);
  if (comma == std::string_view::npos || !head.starts_with("data:image/") || !head.ends_with(";base64")) {
    return request_error("image_data", path,
                         fmt::format("\"{}\" is not base64 data of an image type", head.substr(0, 64)));
  }
  if (!is_base64(url.substr(comma + 1))) return request_error("image_data", path, "the base64 data does not decode");
  return {};
}

Result<Block> make_image(std::string url, const std::optional<std::string>& detail, const std::string& path) {
  DI_TRY(check_image_url(url, path));
  Block block{.kind = Block::Kind::kImage, .source = std::move(url), .detail = detail.value_or("auto")};
  static constexpr std::array<std::string_view, 3> kDetails = {"auto", "low", "high"};
  if (std::find(kDetails.begin(), kDetails.end(), block.detail) == kDetails.end()) {
    return unknown_variant(join_path(path, "detail"), block.detail, "auto, low, high");
  }
  return block;
}

Result<Block> read_image_url(const Json& part, const std::string& path) {
  DI_ASSIGN(const Json* image, required_object(part, "image_url", path));
  const std::string image_path = join_path(path, "image_url");
  DI_ASSIGN(std::string url, required_string(*image, "url", image_path));
  DI_ASSIGN(const auto detail, optional_string(*image, "detail", image_path));
  return make_image(std::move(url), detail, image_path);
}

Result<Block> read_input_image(const Json& part, const std::string& path) {
  DI_ASSIGN(std::string url, required_string(part, "image_url", path));
  DI_ASSIGN(const auto detail, optional_string(part, "detail", path));
  return make_image(std::move(url), detail, path);
}

Result<Block> read_image_source(const Json& part, const std::string& path) {
  DI_ASSIGN(const Json* source, required_object(part, "source", path));
  const std::string source_path = join_path(path, "source");
  DI_ASSIGN(const std::string type, required_string(*source, "type", source_path));
  if (type == "url") {
    DI_ASSIGN(std::string url, required_string(*source, "url", source_path));
    return make_image(std::move(url), std::nullopt, source_path);
  }
  if (type != "base64") return unknown_variant(join_path(source_path, "type"), type, "base64, url");
  DI_ASSIGN(const std::string media_type, required_string(*source, "media_type", source_path));
  DI_ASSIGN(const std::string data, required_string(*source, "data", source_path));
  return make_image(fmt::format("data:{};base64,{}", media_type, data), std::nullopt, source_path);
}

}  // namespace

Result<Block> read_part(const Json& part, const std::string& path) {
  DI_TRY(require_object(part, path));
  DI_ASSIGN(const std::string type, required_string(part, "type", path));
  if (type == "text" || type == "input_text" || type == "output_text") {
    DI_ASSIGN(std::string text, required_string(part, "text", path));
    return Block{.text = std::move(text)};
  }
  if (type == "image_url") return read_image_url(part, path);
  if (type == "input_image") return read_input_image(part, path);
  if (type == "image") return read_image_source(part, path);
  return unknown_variant(join_path(path, "type"), type, "text and image parts");
}

Result<std::vector<Block>> read_content(const Json& content, const std::string& path) {
  std::vector<Block> blocks;
  if (content.is_string()) {
    blocks.push_back({.text = content.string()});
    return blocks;
  }
  if (!content.is_array()) {
    return request_error("body_invalid_type", path,
                         fmt::format("found a {}, wanted a string or a list of parts", content.type_name()));
  }
  for (std::size_t i = 0; i < content.items().size(); ++i) {
    DI_ASSIGN(Block block, read_part(content.items()[i], index_path(path, i)));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace deepinfer::prompt
