// Checkpoint::dummy: random weights in the released layouts, for benchmarks and tests without files.
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/philox.h"
#include "checkpoint/checkpoint.h"
#include "tensor/bf16.h"

namespace deepinfer::checkpoint {
namespace {

// Words of one tensor: counter = (block, tensor), key = seed. Independent of the order in which tensors are filled.
class Words {
 public:
  Words(std::uint64_t seed, std::uint32_t tensor)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, tensor_(tensor) {}

  std::uint32_t next() {
    if (used_ == 4) {
      block_ = base::philox4x32_10(
          {static_cast<std::uint32_t>(count_), static_cast<std::uint32_t>(count_ >> 32), tensor_, 0x64756D6DU}, key_);
      ++count_;
      used_ = 0;
    }
    return block_[used_++];
  }
  /// Uniform in [-1, 1) on a grid of 2^-15.
  float symmetric() { return static_cast<float>(static_cast<std::int32_t>(next() >> 16) - 32768) / 32768.0F; }

 private:
  base::PhiloxKey key_;
  std::uint32_t tensor_;
  std::uint64_t count_ = 0;
  base::PhiloxCounter block_{};
  std::size_t used_ = 4;
};

template <typename Byte>
void fill_bytes(Buffer& out, Words& words, Byte byte) {
  std::size_t i = 0;
  while (i < out.size()) {
    std::uint32_t word = words.next();
    for (int k = 0; k < 4 && i < out.size(); ++k, word >>= 8)
      out.data()[i++] = static_cast<std::byte>(byte(word & 0xFF));
  }
}

// e4m3 code of magnitude below 2 (exponent field at most 7, so never NaN); with scales near 2^-7 products stay small.
unsigned e4m3_code(unsigned byte) { return (byte & 0x80U) | ((byte & 0x7FU) % 64U); }
// 2^-8 .. 2^-5.
unsigned scale_code(unsigned byte) { return 119U + (byte & 3U); }

bool is_norm(const WeightSpec& spec) {
  return spec.shape.size() == 1 || spec.name.ends_with(".q_weight") || spec.name.ends_with(".k_weight");
}

// Norms lie in [0.875, 1.125); matrices have a spread of about 1 / sqrt(columns).
float real_value(const WeightSpec& spec, Words& words) {
  const float x = words.symmetric();
  if (spec.kind == WeightKind::kBF16 && is_norm(spec)) return 1.0F + 0.125F * x;
  if (spec.shape.size() == 1) return 0.25F * x;
  return x * static_cast<float>(1.7 / std::sqrt(static_cast<double>(spec.shape.back())));
}

void fill_real(const WeightSpec& spec, Buffer& out, Words& words) {
  const auto count = static_cast<std::size_t>(spec.num_elements());
  for (std::size_t i = 0; i < count; ++i) {
    const float value = real_value(spec, words);
    const BF16 rounded = to_bf16(value);
    if (spec.kind == WeightKind::kBF16) {
      std::memcpy(out.data() + 2 * i, &rounded, 2);
    } else {
      std::memcpy(out.data() + 4 * i, &value, 4);
    }
  }
}

void fill(const WeightSpec& spec, Buffer& out, Words& words) {
  switch (spec.kind) {
    case WeightKind::kE4M3: return fill_bytes(out, words, e4m3_code);
    case WeightKind::kE8M0: return fill_bytes(out, words, scale_code);
    case WeightKind::kFp4: return fill_bytes(out, words, [](unsigned byte) { return byte; });
    case WeightKind::kBF16:
    case WeightKind::kF32: return fill_real(spec, out, words);
  }
}

}  // namespace

class DummyMaker {
 public:
  static Result<Checkpoint> run(const ModelConfig& config, std::uint64_t seed, const LoadOptions& options) {
    Problems problems;
    validate_config(config, problems);
    DI_TRY(problems.to_status("dummy configuration"));
    Checkpoint out;
    out.config_ = config;
    out.dir_ = "(dummy)";
    DI_ASSIGN(out.engram_, checkpoint::engram_layouts(config.engram_shape()));
    out.table_ = weight_table(config, options.drafts);
    std::int64_t total = 0;
    for (const WeightSpec& spec : out.table_) total += spec.use == WeightUse::kIgnored ? 0 : spec.bytes();
    if (options.memory_budget > 0 && total > options.memory_budget) {
      return errorf(ErrorCode::kResourceExhausted, "dummy weights need {} bytes, the budget is {}", total,
                    options.memory_budget);
    }
    for (std::size_t i = 0; i < out.table_.size(); ++i) {
      const WeightSpec& spec = out.table_[i];
      if (spec.use == WeightUse::kIgnored) continue;
      out.owned_.emplace_back(static_cast<std::size_t>(spec.bytes()));
      Words words(seed, static_cast<std::uint32_t>(i));
      fill(spec, out.owned_.back(), words);
      out.bind(spec, out.owned_.back().data());
    }
    return out;
  }
};

Result<Checkpoint> Checkpoint::dummy(const ModelConfig& config, std::uint64_t seed, const LoadOptions& options) {
  return DummyMaker::run(config, seed, options);
}

}  // namespace deepinfer::checkpoint
