#include <cmath>
#include <cstring>
#include <vector>

#include "ops/compress_pool/compress_pool_kernels.h"

namespace deepinfer::ops {
namespace {

struct Row {
  std::vector<float> gate, kv;
};

Row token_row(const graph::OpCall& call, std::int64_t t) {
  const std::int64_t width = call.in[0].type.shape[1];
  const float* kv = call.in[0].as<float>() + t * width;
  const float* gate = call.in[1].as<float>() + t * width;
  return {{gate, gate + width}, {kv, kv + width}};
}

std::uint8_t* record(const graph::OpCall& call, const TensorRef& root, std::int64_t slot, std::int64_t pos) {
  return root.as<std::uint8_t>() + slot * root.type.shape[1] + call.attrs.integer("base") +
         pos * 8 * call.in[0].type.shape[1];
}

void write(std::uint8_t* at, const Row& row) {
  const std::size_t bytes = row.gate.size() * 4;
  std::memcpy(at, row.gate.data(), bytes);
  std::memcpy(at + bytes, row.kv.data(), bytes);
}

Row read(const std::uint8_t* at, std::int64_t width) {
  Row row{std::vector<float>(static_cast<std::size_t>(width)), std::vector<float>(static_cast<std::size_t>(width))};
  std::memcpy(row.gate.data(), at, row.gate.size() * 4);
  std::memcpy(row.kv.data(), at + row.gate.size() * 4, row.kv.size() * 4);
  return row;
}

void pool(const Row& a, const Row& b, double* latent) {
  for (std::size_t c = 0; c < a.gate.size(); ++c) {
    const double w1 = 1 / (1 + std::exp(double{a.gate[c]} - double{b.gate[c]}));
    const double w0 = 1 / (1 + std::exp(double{b.gate[c]} - double{a.gate[c]}));
    latent[c] = w0 * double{a.kv[c]} + w1 * double{b.kv[c]};
  }
}

void store(const graph::OpCall& call, const TensorRef& root, std::size_t first_operand) {
  for (std::int64_t i = 0; i < call.in[first_operand].type.shape[0]; ++i) {
    const auto index = [&](std::size_t operand) { return call.in[operand].as<std::int32_t>()[i]; };
    write(record(call, root, index(first_operand + 1), index(first_operand + 2)),
          token_row(call, index(first_operand)));
  }
}

}  // namespace

void compress_pool_reference(const graph::OpCall& call) {
  const std::int64_t width = call.in[0].type.shape[1];
  const auto index = [&](std::size_t operand, std::int64_t t) { return call.in[operand].as<std::int32_t>()[t]; };
  for (std::int64_t t = 0; t < call.in[0].type.shape[0]; ++t) {
    write(record(call, call.out[1], index(3, t), index(4, t)), token_row(call, t));
  }
  for (std::int64_t t = 0; t < call.in[0].type.shape[0]; ++t) {
    double* latent = call.out[0].as<double>() + t * width;
    for (std::int64_t c = 0; c < width; ++c) latent[c] = 0;
    if (index(6, t) == 0) continue;
    pool(read(record(call, call.out[1], index(3, t), index(5, t)), width), token_row(call, t), latent);
  }
}

void compress_pool_varlen_reference(const graph::OpCall& call) {
  const std::int64_t width = call.in[0].type.shape[1];
  const std::int64_t history = call.in[3].type.shape[0];
  const auto index = [&](std::size_t operand, std::int64_t i) { return call.in[operand].as<std::int32_t>()[i]; };
  const auto row = [&](std::int64_t number) {
    if (number >= history) return token_row(call, number - history);
    return read(record(call, call.out[1], index(3, number), index(4, number)), width);
  };
  for (std::int64_t i = 0; i < call.out[0].type.shape[0]; ++i) {
    pool(row(index(5, i)), row(index(6, i)), call.out[0].as<double>() + i * width);
  }
  store(call, call.out[1], 7);
}

void compress_store_reference(const graph::OpCall& call) { store(call, call.out[0], 3); }

}  // namespace deepinfer::ops
