// Runs one op in a google-benchmark loop on the fastest instruction set and all cores; reports bytes moved per second
// (operands read plus results written once).
#pragma once

#include <benchmark/benchmark.h>

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {

inline void bench(benchmark::State& state, const graph::OpDef& op, const std::vector<const Tensor*>& in,
                  const graph::Attrs& given) {
  const auto attrs = graph::complete_attrs(op.attrs, given);
  std::vector<TensorType> types;
  std::vector<ConstTensorRef> refs;
  std::int64_t bytes = 0;
  for (const Tensor* tensor : in) {
    types.push_back(tensor->type());
    refs.push_back(tensor->ref());
    bytes += tensor->type().bytes();
  }
  std::vector<Tensor> out;
  std::vector<TensorRef> out_refs;
  const std::vector<TensorType> results = op.infer(types, *attrs).value();
  for (const TensorType& type : results) {
    out.push_back(Tensor::zeros(type));
    out_refs.push_back(out.back().ref());
    bytes += type.bytes();
  }
  base::ThreadPool pool(0);
  graph::Scratch scratch;
  graph::KernelContext ctx{&pool, isa::available().back(), &scratch};
  for (auto _ : state) {
    op.kernel(graph::OpCall{refs, out_refs, *attrs, ctx});
    scratch.reset();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes);
}

}  // namespace deepinfer::ops::testing
