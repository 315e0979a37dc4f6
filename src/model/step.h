// What decides the structure of one step: counts only. Everything else of a step is a named host input.
//
// A decode step has `num_tokens` rows, each with its own block table row, and static shapes. A prefill step is ragged:
// tokens of several sequences lie behind each other, and shapes follow the chunk. When prefill skipping cuts rows
// (model.md 10), layers after the last KV owner see only the `tail` rows; their host inputs carry the prefix "tail.".
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace deepinfer::model {

enum class Phase : std::uint8_t { kPrefill, kDecode };

/// One set of rows and the window buffer they look into.
struct RowShape {
  std::int64_t num_tokens = 0;
  std::int64_t history_rows = 0;  ///< ring records in front of the new rows (prefill)
  std::int64_t store_rows = 0;    ///< records kept in the rings (prefill)
};

struct StepShape {
  Phase phase = Phase::kDecode;
  std::int64_t num_seqs = 1;                    ///< rows of the block table (prefill)
  std::int64_t table_width = 1;                 ///< blocks of one block table row
  std::int64_t window_span = 0;                 ///< window entries of an attention list, holes included
  RowShape rows;                                ///< all tokens of the step
  RowShape tail;                                ///< decoder-half rows when they are fewer; num_tokens == 0 = none runs
  bool cut_tail = false;                        ///< true: layers after the last KV owner run on `tail`
  std::map<std::int64_t, std::int64_t> groups;  ///< prefill: compressed rows completed, by ratio
  std::int64_t pending_rows = 0;                ///< prefill: (gate, kv) records kept by ratio-2 compressors
  std::int64_t logit_rows = 0;                  ///< rows that need logits; 0 = none (decode: always all)
  bool has_images = false;                      ///< image-span positions: bias_vl in the routers
  bool has_embeds = false;                      ///< embeddings are given instead of looked up
  bool holes_front = false;                     ///< attention_list = reference, decode
  bool stale_keys = false;  ///< index_key_source = reference_decode and an open group (model.md 7.5)

  bool is_decode() const { return phase == Phase::kDecode; }
};

/// One draft pass: `num_requests` blocks of B rows.
struct DraftShape {
  std::int64_t num_requests = 1;
};

}  // namespace deepinfer::model
