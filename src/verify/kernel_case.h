// One case of the operator vectors, and how its adapter calls the project's own ops.
//
// An adapter maps the operation of the manifest onto op kernels and numeric functions; it never repeats a formula.
// Tensors are named by the part of their name behind the '/': "n64_k128_m1/a" is "a".
// Source: tests/golden/kernels/README.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "graph/op_def.h"
#include "ops/isa/isa.h"
#include "tensor/tensor.h"

namespace deepinfer::verify {

/// Largest extent that a parameter may ask for.
inline constexpr std::int64_t kLargestSize = 65536;

using TensorsByPart = std::map<std::string, Tensor, std::less<>>;

/// What kernels run on.
struct Machine {
  base::ThreadPool* pool = nullptr;
  const isa::Kernels* isa = nullptr;
};

/// Runs an op's host kernel; in-place operands are copied first. Errors: those of the op's attributes and `infer`.
Result<std::vector<Tensor>> call_op(const Machine& machine, const graph::OpDef& op,
                                    std::initializer_list<const Tensor*> operands, const graph::Attrs& attrs = {});
/// The same for an op with one result.
Result<Tensor> call_one(const Machine& machine, const graph::OpDef& op, std::initializer_list<const Tensor*> operands,
                        const graph::Attrs& attrs = {});

class KernelCase {
 public:
  KernelCase(std::string name, const base::Json& entry, TensorsByPart tensors, Machine machine)
      : name_(std::move(name)), entry_(&entry), tensors_(std::move(tensors)), machine_(machine) {}

  const std::string& name() const { return name_; }
  const Machine& machine() const { return machine_; }
  /// An input, or a stored output that the note of the case makes an input of a later step.
  const Tensor& tensor(std::string_view part) const;
  bool has(std::string_view part) const { return tensors_.find(part) != tensors_.end(); }
  /// Numeric member of `params`; `fallback` where the case does not state it.
  double number(std::string_view param, double fallback) const;
  std::int64_t integer(std::string_view param, std::int64_t fallback) const;
  /// The same for extents and counts. Errors: outside 1 ... kLargestSize.
  Result<std::int64_t> size(std::string_view param, std::int64_t fallback) const;
  bool flag(std::string_view param) const;
  std::vector<std::int64_t> integers(std::string_view param) const;

 private:
  std::string name_;
  const base::Json* entry_;
  TensorsByPart tensors_;
  Machine machine_;
};

/// What an adapter found.
struct CaseOutputs {
  TensorsByPart tensors;              ///< by name part; at least the outputs of the manifest
  std::vector<std::string> failures;  ///< statements of the case's note that do not hold
};

struct InputSpec {
  std::string_view part;
  DType dtype;
  int rank;
};

struct KernelAdapter {
  std::string_view op;            ///< `op` of the manifest
  std::vector<InputSpec> inputs;  ///< checked before `run`, so that it may use them unchecked
  Result<CaseOutputs> (*run)(const KernelCase& kernel_case);
};

// The adapters by area, one file each.
std::span<const KernelAdapter> table_adapters();      ///< decode tables, rounding, quantisers
std::span<const KernelAdapter> product_adapters();    ///< block-scaled products, experts, router, head
std::span<const KernelAdapter> attention_adapters();  ///< attention, windows, norm, rotation, compressor, indexer
std::span<const KernelAdapter> stream_adapters();     ///< hyper-connections, Engram
std::span<const KernelAdapter> sampler_adapters();    ///< sampling filters, draw

// ---- glue on tensors ----

/// Copy of the same elements under another shape of equal size.
Tensor reshaped(const Tensor& tensor, const Shape& shape);
/// Copy of element `index` of the leading axis.
Tensor slice_at(const Tensor& tensor, std::int64_t index);

/// out[i] = fn(in[i]).
template <typename To, typename From, typename F>
Tensor mapped(const Tensor& in, DType dtype, const F& fn) {
  Tensor out(dtype, in.shape());
  for (std::int64_t i = 0; i < in.type().num_elements(); ++i) out.as<To>()[i] = fn(in.as<From>()[i]);
  return out;
}
inline Tensor to_s32(const Tensor& bytes) {
  return mapped<std::int32_t, std::uint8_t>(bytes, DType::kS32, [](std::uint8_t b) { return std::int32_t{b}; });
}
inline Tensor filled_s32(const Shape& shape, std::int32_t value) {
  Tensor out(DType::kS32, shape);
  for (std::int32_t& element : out.span<std::int32_t>()) element = value;
  return out;
}

}  // namespace deepinfer::verify
