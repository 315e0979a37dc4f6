// Tables behind choose(): defined in the source compiled for their instruction set.
#pragma once

#include "ops/isa/isa.h"

namespace deepinfer::isa {

#if defined(DEEPINFER_HAVE_AVX2)
const Kernels& avx2();  ///< AVX2 + FMA + BMI2
#endif

}  // namespace deepinfer::isa
