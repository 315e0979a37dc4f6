// The whole public API in one header. Link with `deepinfer_engine`.
#pragma once

#include "deepinfer/config.h"   // IWYU pragma: export
#include "deepinfer/engine.h"   // IWYU pragma: export
#include "deepinfer/llm.h"      // IWYU pragma: export
#include "deepinfer/request.h"  // IWYU pragma: export
#include "deepinfer/status.h"   // IWYU pragma: export
