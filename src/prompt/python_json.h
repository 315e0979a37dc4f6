// JSON text as prompts and constraints contain it.
//
// Prompts hold JSON in the form of Python's json.dumps(ensure_ascii=False); the schema text of a constraint is the
// compact form of the official library. Both print floats canonically, whatever spelling the request used.
// Source: tokenizer-and-prompts.md 3.4 (last paragraphs), prompt-recipe.md 3.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace deepinfer::prompt {

/// Integers outside [-2^63, 2^64-1]: the recipe rules turn them into floats, the checkpoint rules keep the digits.
enum class BigIntegers { kToFloat, kKeep };

/// ", " and ": ", keys in the given order, shortest round-trip floats ("1.0", "1e-05", "1e+16").
std::string python_json(const base::Json& value, BigIntegers big_integers = BigIntegers::kToFloat);

/// "," and ":", floats fixed for 1e-5 <= |x| < 1e16 ("0.00001"), exponents without padding ("1e-7").
std::string compact_json(const base::Json& value);

/// Appends `text` escaped as the inside of a JSON string: `"`, `\` and code points below U+0020 only.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace deepinfer::prompt
