// A JSON line (request or conversation): an error, or a prompt whose structure tokens are exactly those of the
// encoder. Input: option byte, JSON text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/json.h"
#include "prompt/prompt.h"
#include "prompt/structure_tokens.h"

namespace {

using namespace deepinfer;

void require(bool condition) {
  if (!condition) std::abort();
}

bool is_structure(const std::string& literal) {
  static const std::string_view kLiterals[] = {
      prompt::kBeginOfSentence, prompt::kEndOfSentence, prompt::kSystem,   prompt::kUser,  prompt::kAssistant,
      prompt::kLatestReminder,  prompt::kThinkStart,    prompt::kThinkEnd, prompt::kDsml,  prompt::kImage,
      "<｜action｜>",           "<｜query｜>",          "<｜authority｜>", "<｜domain｜>", "<｜title｜>",
      "<｜read_url｜>"};
  return std::find(std::begin(kLiterals), std::end(kLiterals), literal) != std::end(kLiterals);
}

void check(const prompt::RenderedPrompt& rendered) {
  std::string joined;
  std::size_t tokens = 0;
  const prompt::Segment* last = nullptr;
  for (const prompt::Segment& segment : rendered.segments.items()) {
    const bool token = segment.kind == prompt::Segment::Kind::kToken;
    if (token) require(is_structure(segment.text));
    if (!token) require(!segment.text.empty() && (last == nullptr || last->kind == prompt::Segment::Kind::kToken));
    tokens += token;
    joined += segment.text;
    last = &segment;
  }
  require(joined == rendered.text);
  require(tokens == rendered.special_ranges.size());
  require(rendered.text.starts_with(prompt::kBeginOfSentence));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string text(data + 1, data + size);
  const auto profile = (data[0] & 1) != 0 ? prompt::Profile::kOfficial : prompt::Profile::kDefault;
  const auto body = prompt::parse_request_body(text, profile);
  if (!body) return 0;
  const auto form = static_cast<prompt::RequestForm>((data[0] >> 1) % 3);
  if (const auto rendered = prompt::render_request(*body, form, {profile, {}, {}})) check(*rendered);
  prompt::RenderSettings settings;
  if ((data[0] & 128) != 0) settings.request.rules = prompt::Rules::kCheckpoint;
  settings.request.profile = profile;
  static_cast<void>(prompt::render_line(*body, nullptr, settings));
  return 0;
}
