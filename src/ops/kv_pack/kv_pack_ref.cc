#include "ops/kv_pack/kv_pack_kernels.h"
#include "ops/quant_act/quant_act_kernels.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {

void kv_pack_reference(const graph::OpCall& call) {
  const QuantFormat format = *cache_format(call.attrs.word("kind"));
  const std::int64_t n = call.in[0].type.shape[1];
  for (std::int64_t m = 0; m < call.in[0].type.shape[0]; ++m) {
    std::uint8_t* record = call.out[0].as<std::uint8_t>() + m * call.out[0].type.shape[1];
    quantise_by_search(format, call.in[0].as<BF16>() + m * n, n, call.attrs.real("max"), record,
                       record + code_bytes(format, n));
  }
}

void kv_unpack_reference(const graph::OpCall& call) {
  const std::string& kind = call.attrs.word("kind");
  const std::int64_t n = call.attrs.integer("width");
  const std::int64_t row_bytes = call.in[0].type.shape[1];
  const std::int64_t first_scale = kind == "swa" ? n : n / 2;
  for (std::int64_t i = 0; i < call.out[0].type.num_elements(); ++i) {
    const std::uint8_t* record = call.in[0].as<std::uint8_t>() + i / n * row_bytes;
    const std::int64_t c = i % n;
    const std::uint8_t scale = record[first_scale + c / (kind == "ca" ? 16 : 32)];
    const double code = kind == "swa" ? double{numeric::decode_e4m3fn(record[c])}
                                      : double{numeric::decode_packed_e2m1(record, c)};
    call.out[0].as<double>()[i] =
        code * (kind == "ca" ? double{numeric::decode_e4m3fn(scale)} : double{numeric::decode_e8m0(scale)});
  }
}

}  // namespace deepinfer::ops
