// Fuzzes the tokenizer: reading tokenizer.json, encoding, decoding and incremental detokenisation.
//
// The first byte chooses: even = the rest is the text of a tokenizer.json; odd = the rest is bytes that are encoded
// with a small vocabulary (when they are UTF-8), and token ids that are decoded in both ways.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/fold_map.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace {

using deepinfer::base::Json;
using deepinfer::tokenizer::SpecialMode;
using deepinfer::tokenizer::TokenId;
using deepinfer::tokenizer::Tokenizer;

// The three expressions of the released files, as JSON text.
constexpr std::string_view kPreTokenizer = R"JSON({"type": "Sequence", "pretokenizers": [
  {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}"}, "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"}, "behavior": "Isolated"},
  {"type": "Split", "pattern": {"Regex": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+)JSON"
    R"JSON(|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},
   "behavior": "Isolated"},
  {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})JSON";

Json added_token(std::int64_t id, std::string_view literal) {
  Json out = Json::object();
  out.set("id", id);
  out.set("content", literal);
  out.set("special", id % 2 == 0);
  return out;
}

/// 256 byte tokens, merges of neighbouring letters and repeated bytes, and three added tokens.
std::string small_tokenizer_json() {
  Json vocab = Json::object();
  Json merges = Json::array();
  const auto spell = [](std::string_view bytes) { return deepinfer::tokenizer::bytes_to_alphabet(bytes); };
  std::int64_t next = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const char value = static_cast<char>(static_cast<std::uint8_t>(byte));
    vocab.set(spell({&value, 1}), next++);
  }
  for (const std::string_view pair : {"aa", "ab", "  ", "\n\n", "\xF0\x9F", "\xE2\x82", "th"}) {
    merges.push(spell(pair.substr(0, 1)) + " " + spell(pair.substr(1)));
    vocab.set(spell(pair), next++);
  }
  Json added = Json::array();
  for (const std::string_view literal : {"<｜User｜>", "<think>", "<｜"}) added.push(added_token(next++, literal));
  Json model = Json::object();
  model.set("type", "BPE");
  model.set("vocab", std::move(vocab));
  model.set("merges", std::move(merges));
  Json root = Json::object();
  root.set("added_tokens", std::move(added));
  root.set("pre_tokenizer", deepinfer::base::parse_json(kPreTokenizer).value());
  root.set("model", std::move(model));
  return deepinfer::base::dump_json(root);
}

const Tokenizer& small_tokenizer() {
  static const Tokenizer kTokenizer = Tokenizer::from_json(small_tokenizer_json()).value();
  return kTokenizer;
}

void check_text(std::string_view text) {
  const Tokenizer& tokenizer = small_tokenizer();
  for (const SpecialMode mode : {SpecialMode::kText, SpecialMode::kParse}) {
    const auto ids = tokenizer.encode(text, mode);
    DI_CHECK(ids.has_value() == !deepinfer::tokenizer::find_invalid_utf8(text), "{} bytes", text.size());
    if (ids) DI_CHECK(tokenizer.decode_bytes(*ids).value() == text, "{} bytes, {} ids", text.size(), ids->size());
  }
  if (!deepinfer::tokenizer::find_invalid_utf8(text)) deepinfer::tokenizer::fold_text(text);
}

void check_ids(std::string_view bytes) {
  const Tokenizer& tokenizer = small_tokenizer();
  deepinfer::tokenizer::Detokenizer stream(tokenizer);
  std::vector<TokenId> ids;
  std::string streamed;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const int value = static_cast<std::uint8_t>(bytes[i]) | (static_cast<std::uint8_t>(bytes[i + 1]) & 1) << 8;
    ids.push_back(static_cast<TokenId>(value % tokenizer.vocab_size()));
    streamed += stream.push(ids.back()).value();
    DI_CHECK(!deepinfer::tokenizer::find_invalid_utf8(streamed), "after {} ids", ids.size());
  }
  streamed += stream.finish();
  DI_CHECK(streamed == tokenizer.decode(ids).value(), "{} ids", ids.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    static_cast<void>(Tokenizer::from_json(rest));
  } else {
    check_text(rest);
    check_ids(rest);
  }
  return 0;
}
