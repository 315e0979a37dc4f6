// Primitives on single elements: conversion between fp32 and bf16, and addition.
//
// bf16 arithmetic widens to fp32, operates there and rounds once to nearest even.
// Source: graph.md 2.1, numerics.md 2.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

/// out = x in another dtype: f32 -> bf16 (RNE), bf16 -> f32 (exact), or the same dtype (a copy).
/// Errors: any other dtype.
graph::Value convert(graph::Emitter& e, const graph::Value& x, DType to);

/// out = a + b, one rounding; a and b have one type, bf16 or f32.
graph::Value add(graph::Emitter& e, const graph::Value& a, const graph::Value& b);

}  // namespace deepinfer::ops
