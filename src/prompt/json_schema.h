// What request conversion needs of JSON Schema: a check of the schema itself and the rewriting of strict tools.
//
// Source: prompt-recipe.md 2.3, tokenizer-and-prompts.md 3.4 (last paragraph).
#pragma once

#include "base/json.h"
#include "deepinfer/status.h"

namespace deepinfer::prompt {

/// kStrict: every object also has to require all of its properties.
enum class SchemaMode { kAny, kStrict };

/// Errors (kind "schema"): not an object or boolean, an unknown type word, keywords of the wrong shape.
Status check_schema(const base::Json& schema, SchemaMode mode);

/// Objects close (`additionalProperties` false) and require all properties, both keys last; keywords that are not
/// part of JSON Schema are dropped. Applied to every subschema.
base::Json strict_schema(const base::Json& schema);

}  // namespace deepinfer::prompt
