#include "ops/engram_hash/engram_hash.h"

#include <algorithm>

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

EngramHash make_hash(std::vector<std::int64_t> primes, std::vector<std::int64_t> multipliers) {
  const auto orders = static_cast<std::int64_t>(multipliers.size()) - 1;
  EngramHash hash{
      orders + 1, static_cast<std::int64_t>(primes.size()) / orders, std::move(primes), {}, std::move(multipliers), 2};
  std::int64_t offset = 0;
  for (const std::int64_t prime : hash.primes) {
    hash.offsets.push_back(offset);
    offset += prime;
  }
  return hash;
}

EngramHash layer_1() {
  return make_hash({16000057, 16000079, 16000081, 16000097, 16000121, 16000129, 16000133, 16000183,
                    16000189, 16000207, 16000211, 16000253, 16000277, 16000289, 16000307, 16000321,
                    16000339, 16000381, 16000393, 16000399, 16000403, 16000409, 16000447, 16000463},
                   {76632096046245, 4839876093313, 35959672319349, 73987337458391});
}

EngramHash layer_14() {
  return make_hash({16000477, 16000487, 16000499, 16000507, 16000511, 16000573, 16000609, 16000627,
                    16000667, 16000669, 16000693, 16000697, 16000711, 16000729, 16000759, 16000769,
                    16000781, 16000799, 16000813, 16000819, 16000841, 16000877, 16000879, 16000889},
                   {67716810739261, 51510806800915, 30921347202721, 82619226485591});
}

std::vector<std::int64_t> rows_at(const EngramHash& hash, const std::vector<std::int32_t>& history, std::int64_t p) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(hash.columns()));
  engram_row_ids(hash, history, p, 1, out.data());
  return out;
}

const std::vector<std::int32_t> kFolded = {0, 98615, 15844, 3, 98616, 98634};

struct Golden {
  std::int64_t position;
  EngramHash hash;
  std::vector<std::int64_t> rows;
};

std::vector<Golden> goldens() {
  return {
      {0, layer_1(), {5702652,   24393184,  39183301,  61503783,  78984481,  90144770,  103724983, 121476532,
                      131476717, 152385926, 164143652, 191599181, 198145581, 217419202, 238329687, 247482304,
                      257520185, 283540304, 288689443, 315264704, 322314652, 348890037, 367865216, 380066193}},
      {0, layer_14(), {14361964,  29977809,  32716444,  61209771,  67456205,  84275051,  108494439, 120604547,
                       132225184, 150270452, 174805952, 178895254, 193207923, 211610196, 226280582, 252505246,
                       261362261, 279862797, 301364059, 312864848, 328367036, 349372619, 363873742, 372375971}},
      {3, layer_1(), {14971982,  22232100,  41815691,  54570074,  65989504,  80539504,  103829033, 115755568,
                      134035170, 145148746, 161255659, 188559460, 193628214, 218017512, 229919177, 254136551,
                      265650203, 278666086, 288880993, 319452682, 324375501, 340573063, 359147439, 370255981}},
      {3, layer_14(), {5008691,   31284060,  41255345,  53746376,  68145149,  88362606,  108766609, 114066556,
                       135885056, 150106600, 166555758, 181004957, 193916631, 211297069, 226974904, 251917808,
                       265101062, 273891996, 297336571, 308499100, 323149617, 338883650, 360909396, 376147702}},
      {5, layer_1(), {6145177,   29200083,  42970516,  50089365,  66620613,  80091853,  104320258, 115133545,
                      134618019, 159768824, 166316559, 191144045, 202015032, 212883823, 237978633, 248316188,
                      260997551, 274657449, 301585433, 318886947, 321175657, 342741075, 357394237, 379947736}},
      {5, layer_14(), {13564020,  18908159,  36913214,  50123736,  73091652,  91955249,  103202138, 124159213,
                       138133144, 148397614, 164274459, 186433083, 201886749, 212386575, 224749816, 242555919,
                       266617417, 286763034, 296441879, 314605340, 334744308, 339469591, 362145799, 379821975}},
  };
}

TEST(EngramHash, GoldenRowIds) {
  for (const Golden& golden : goldens()) {
    EXPECT_EQ(rows_at(golden.hash, kFolded, golden.position), golden.rows) << golden.position;
  }
}

// Negative control: the same formula on 32-bit words, and through fp32 and double, gives other rows.
TEST(EngramHash, NarrowArithmeticGivesOtherRows) {
  for (const Golden& golden : goldens()) {
    const EngramHash& hash = golden.hash;
    std::vector<std::int64_t> narrow, single, rounded;
    std::uint32_t mixed32 = 0;
    std::int64_t mixed_single = 0, mixed_double = 0;
    for (std::int64_t s = 0; s < hash.max_ngram; ++s) {
      const std::int64_t back = golden.position - s;
      const std::int64_t id = back < 0 ? hash.pad_class : kFolded[static_cast<std::size_t>(back)];
      const std::int64_t multiplier = hash.multipliers[static_cast<std::size_t>(s)];
      mixed32 ^= static_cast<std::uint32_t>(id) * static_cast<std::uint32_t>(multiplier);
      mixed_single ^= static_cast<std::int64_t>(static_cast<float>(id) * static_cast<float>(multiplier));
      mixed_double ^= static_cast<std::int64_t>(static_cast<double>(id) * static_cast<double>(multiplier));
      for (std::int64_t c = (s - 1) * hash.heads; s > 0 && c < s * hash.heads; ++c) {
        const std::int64_t prime = hash.primes[static_cast<std::size_t>(c)];
        const std::int64_t offset = hash.offsets[static_cast<std::size_t>(c)];
        narrow.push_back(static_cast<std::int64_t>(mixed32) % prime + offset);
        single.push_back(mixed_single % prime + offset);
        rounded.push_back(mixed_double % prime + offset);
      }
    }
    EXPECT_NE(narrow, golden.rows);
    EXPECT_NE(single, golden.rows);
    EXPECT_EQ(rounded == golden.rows, golden.position == 0);  // the products of position 0 are below 2^53
  }
}

TEST(EngramHash, DeadAndMissingEntriesBlockAllLongerLookBacks) {
  const EngramHash hash = layer_1();
  // A dead entry two back gives the same rows as padding from there on, whatever lies further back.
  EXPECT_EQ(rows_at(hash, {7, kEngramDead, 50, 60}, 3), rows_at(hash, {2, 2, 50, 60}, 3));
  EXPECT_EQ(rows_at(hash, {7, kEngramDead, 50, 60}, 3), rows_at(hash, {50, 60}, 1));
  EXPECT_NE(rows_at(hash, {7, kEngramDead, 50, 60}, 3), rows_at(hash, {7, 2, 50, 60}, 3));
  // A dead token blocks all four.
  EXPECT_EQ(rows_at(hash, {7, 8, 9, kEngramDead}, 3), rows_at(hash, {2, 2, 2, 2}, 3));
  EXPECT_EQ(rows_at(hash, {kEngramDead}, 0), rows_at(hash, {2}, 0));
  // The 2-gram columns see one look-back only.
  const auto near = rows_at(hash, {7, 8, 9, 10}, 3), far = rows_at(hash, {1, 8, 9, 10}, 3);
  EXPECT_TRUE(std::equal(near.begin(), near.begin() + 16, far.begin()));
  EXPECT_FALSE(std::equal(near.begin() + 16, near.end(), far.begin() + 16));
}

TEST(EngramHash, OpFollowsTheBitwiseReference) {
  Inputs inputs("engram_hash.reference");
  for (const EngramHash& hash : {layer_1(), layer_14(), make_hash({97, 101, 103}, {843736406823848137, 5}),
                                 make_hash({67, 71, 73, 79}, {9, 11, 13, 15, 17})}) {
    Tensor history = inputs.s32({40}, -1, hash.multipliers[0] > 1000000000000000 ? 8 : 99091);
    for (std::int64_t i = 5; i < 40; i += 7) history.as<std::int32_t>()[i] = kEngramDead;
    for (const std::int64_t first : {0, 3, 39}) {
      const graph::Attrs attrs{{"first", first},
                               {"primes", hash.primes},
                               {"offsets", hash.offsets},
                               {"multipliers", hash.multipliers},
                               {"pad_class", hash.pad_class}};
      const auto out = run(engram_hash_def, {&history}, attrs);
      const auto expected = truth(engram_hash_def, {&history}, attrs);
      EXPECT_TRUE(std::ranges::equal(out[0].span<std::int64_t>(), expected[0].span<std::int64_t>()));
    }
  }
}

TEST(EngramHash, RefusesShortHistoriesAndWrongCounts) {
  std::vector<std::int64_t> out(24);
  EngramHash hash = layer_1();
  EXPECT_THROW(engram_row_ids(hash, kFolded, 6, 1, out.data()), CheckFailure);
  EXPECT_THROW(engram_row_ids(hash, kFolded, -1, 1, out.data()), CheckFailure);
  hash.primes.pop_back();
  EXPECT_THROW(engram_row_ids(hash, kFolded, 0, 1, out.data()), CheckFailure);
}

}  // namespace
}  // namespace deepinfer::ops::testing
