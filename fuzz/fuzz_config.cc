// Configuration parser: the first byte chooses the form, the rest is the file. An accepted configuration must yield a
// weight table and survive a round trip through its file form.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "checkpoint/config.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/weight_table.h"

using namespace deepinfer::checkpoint;

namespace {

// The index parser takes the same kind of text.
void parse_index(std::string_view text) {
  const auto root = deepinfer::base::parse_json(text);
  Problems problems;
  if (root) parse_shard_index(*root, problems);
}

void check_accepted(const ModelConfig& config, ConfigForm form) {
  Problems problems;
  const ModelConfig back = parse_config(config_to_json(config, form), form, problems);
  if (!problems.empty() || back.compress_ratios != config.compress_ratios) std::abort();
  // Tables of absurd but consistent sizes are slow, not wrong.
  if (config.num_layers_with_drafts() * config.n_routed_experts < 10000) weight_table(config);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 3 == 2) {
    parse_index(text);
    return 0;
  }
  const bool flat = data[0] % 3 == 1;
  const auto config =
      load_config_text(flat ? std::nullopt : std::optional(text), flat ? std::optional(text) : std::nullopt);
  if (config) check_accepted(*config, flat ? ConfigForm::kFlat : ConfigForm::kHuggingFace);
  return 0;
}
