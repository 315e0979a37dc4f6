// What an op is: its contract as data. One `OpDef` per op, defined in the op's folder and listed in ops/op_list.inc.
//
// The same OpDef serves every executor: `infer` gives the result types, `kernel` computes on the host with the bits of
// numerics.md, `reference` computes the float64 truth with plain loops that share no code with the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "deepinfer/status.h"
#include "graph/attrs.h"
#include "tensor/tensor.h"

namespace deepinfer::isa {
struct Kernels;  // ops/isa/isa.h
}

namespace deepinfer::graph {

enum class OpLevel : std::uint8_t { kModel, kPrimitive, kCollective, kHost };

/// Bump allocator for a kernel's temporaries: grows during warm-up, then replays without any allocation.
/// Pointers are valid until the kernel returns. One per executor, used by the calling thread only.
class Scratch {
 public:
  template <typename T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  void reset();  ///< called by the executor after every node
  std::int64_t num_allocations() const { return num_allocations_; }

 private:
  void* take_bytes(std::size_t bytes);
  std::vector<Buffer> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
  std::int64_t num_allocations_ = 0;
};

/// What a kernel may use besides its operands.
struct KernelContext {
  base::ThreadPool* pool = nullptr;          ///< never null
  const isa::Kernels* isa = nullptr;         ///< never null
  Scratch* scratch = nullptr;                ///< never null
};

/// One call: operands and results with their types, completed attributes. Results never alias operands except where
/// the OpDef declares an in-place pair or a view.
struct OpCall {
  std::span<const ConstTensorRef> in;
  std::span<const TensorRef> out;
  const Attrs& attrs;
  KernelContext& ctx;
};

using InferFn = Result<std::vector<TensorType>> (*)(std::span<const TensorType> operands, const Attrs& attrs);
using KernelFn = void (*)(const OpCall& call);

/// Result `result` is operand `operand` updated in place (state roots): same storage, same type.
struct InPlace {
  int operand;
  int result;
};

struct OpDef {
  std::string_view name;
  OpLevel level = OpLevel::kModel;
  std::span<const AttrDecl> attrs;
  InferFn infer = nullptr;
  KernelFn kernel = nullptr;     ///< host kernel, bits of numerics.md
  KernelFn reference = nullptr;  ///< float64 truth: every float result has dtype f64, other results as in `infer`
  std::span<const InPlace> in_place = {};
  /// The result is a view of operand 0's storage starting at byte `view_offset(...)` (reshape, contiguous slice).
  std::int64_t (*view_offset)(std::span<const TensorType> operands, const Attrs& attrs) = nullptr;
  /// Pairs whose result may take the storage of an operand of equal size that dies at the node: the kernel reads
  /// element i of that operand before it writes element i of the result. The planner decides (graph.md 10.3).
  std::span<const InPlace> may_reuse = {};
  /// Why there is no decomposition into primitives; empty once there is one (graph.md 2).
  std::string_view no_lowering = "device path not built";
};

/// All ops by name. Built from ops/op_list.inc by ops::registry().
class OpRegistry {
 public:
  explicit OpRegistry(std::vector<const OpDef*> ops);
  const OpDef* find(std::string_view name) const;  ///< nullptr when unknown
  std::span<const OpDef* const> all() const { return ops_; }

 private:
  std::vector<const OpDef*> ops_;
};

// Helpers for `infer`: short, uniform messages with the values found.
/// Error unless `operands` has between `least` and `most` entries.
Status expect_operands(std::span<const TensorType> operands, std::size_t least, std::size_t most);
/// Error "operand <name> is <found>, expected <expected>" unless equal.
Status expect_type(std::string_view name, const TensorType& found, const TensorType& expected);
/// Error unless the condition holds; the text names values and what is accepted.
Status expect(bool condition, std::string_view text);

}  // namespace deepinfer::graph
