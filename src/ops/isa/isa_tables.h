// Tables behind choose(), each defined in the source compiled for its instruction set, and what those sources share.
#pragma once

#include <cstdint>

#include "ops/isa/isa.h"

namespace deepinfer::isa {

#if defined(DEEPINFER_HAVE_AVX2)
const Kernels& avx2();  ///< AVX2 + FMA
#endif

/// Work memory of the calling thread, 64-byte aligned, at least `bytes` long; valid until the thread's next call.
void* scratch(std::int64_t bytes);

}  // namespace deepinfer::isa
