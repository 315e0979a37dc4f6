#include "ops/embed_rows/embed_rows.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(EmbedRows, CopiesRowsAndRefusesIdsOutside) {
  Inputs inputs("embed_rows.rows");
  const Tensor table = inputs.bf16({50, 96});
  Tensor ids = inputs.s32({23}, 0, 49);
  ids.as<std::int32_t>()[0] = 49;
  EXPECT_LE(worst_excess(run(embed_rows_def, {&table, &ids})[0], truth(embed_rows_def, {&table, &ids})[0], 0, 0), 0);
  for (const std::int32_t bad : {-1, 50}) {
    ids.as<std::int32_t>()[22] = bad;
    EXPECT_THROW(call(embed_rows_def, {&table, &ids}, {}, {}, false), CheckFailure);
  }
}

TEST(EmbedRows, RefusesWrongTypes) {
  const TensorType table{DType::kBF16, {50, 96}};
  EXPECT_FALSE(embed_rows_def.infer(std::vector{table, table}, {}));
  EXPECT_FALSE(embed_rows_def.infer(
      std::vector{TensorType{DType::kF32, {50, 96}}, TensorType{DType::kS32, {4}}}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
