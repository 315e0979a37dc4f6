// Tables behind choose(), each defined in the source compiled for its instruction set, and what those sources share.
#pragma once

#include <cstdint>

#include "ops/isa/isa.h"

namespace deepinfer::isa {

#if defined(DEEPINFER_HAVE_X86)
const Kernels& avx2();    ///< AVX2, FMA, F16C
const Kernels& avx512();  ///< AVX-512 F, BW, VL, DQ, VBMI, VNNI
#endif

/// Work memory of the calling thread, 64-byte aligned, at least `bytes` long; valid until the thread's next call.
void* scratch(std::int64_t bytes);

}  // namespace deepinfer::isa
