// Named numeric modes (numerics.md 11). All default to the first value; every non-default is reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "tensor/numeric/range.h"

namespace deepinfer::model {

enum class IndexKeySource : std::uint8_t { kOwner, kReferenceDecode };
enum class AttentionList : std::uint8_t { kCanonical, kReference };

struct NumericModes {
  std::string index_scores = "official";                     ///< official | fp32 | bf16_fma4
  IndexKeySource index_key_source = IndexKeySource::kOwner;  ///< reference_decode is a test switch (model.md 7.5)
  AttentionList attention_list = AttentionList::kCanonical;  ///< reference: the layouts of numerics.md 7
  std::string fp8_order = "v16";                             ///< v16 | reference_blocks
  std::int64_t prefill_tail = -1;                            ///< -1 = exact, 0 = full, else tokens (model.md 10)
  double fp8_range = double{numeric::kE4M3FnMax};            ///< activations and window rows

  bool operator==(const NumericModes&) const = default;
};

/// Sets one mode by name. Errors: kInvalidArgument listing the accepted names or values; kUnsupported for modes of
/// numerics.md 11 that this build does not have yet.
Status set_mode(NumericModes& modes, std::string_view key, std::string_view value);
/// "key=value" of every mode that differs from its default.
std::vector<std::string> non_default_modes(const NumericModes& modes);

}  // namespace deepinfer::model
