// Every table against the scalar one, bit for bit, and the scalar one against float64 sums.
#include "ops/isa/isa.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::isa {
namespace {

constexpr std::int64_t kBlockColumns[] = {32, 64, 96, 128, 160, 256, 288, 512, 2048, 2304, 5120};  // multiples of 32
constexpr std::int64_t kAnyColumns[] = {1, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 48, 64, 100, 128, 512, 1000, 5120};
constexpr std::int64_t kRowCounts[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16};

std::vector<const Kernels*> vector_tables() {
  std::vector<const Kernels*> out(available().begin(), available().end());
  out.erase(out.begin());
  return out;
}

/// Exactly sized heap arrays, so that an address sanitizer sees reads past their ends.
template <typename T>
std::unique_ptr<T[]> exact(const std::vector<T>& values) {
  auto out = std::make_unique<T[]>(values.size());
  std::copy(values.begin(), values.end(), out.get());
  return out;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  float normal() { return normal_(engine_); }
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  int in(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  /// Ordinary values with zeros of both signs, subnormals, tiny and large ones mixed in.
  float wild() {
    switch (in(0, 11)) {
      case 0: return 0.0F;
      case 1: return -0.0F;
      case 2: return std::ldexp(normal(), -140);
      case 3: return std::ldexp(normal(), -60);
      case 4: return std::ldexp(normal(), 30);
      default: return normal();
    }
  }
  std::uint8_t e4m3() {
    for (;;) {
      const auto code = static_cast<std::uint8_t>(bits());
      if (!numeric::is_nan_e4m3fn(code)) return code;
    }
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<float> normal_;
};

template <typename T, typename Make>
std::vector<T> fill(std::int64_t n, Make make) {
  std::vector<T> out(static_cast<std::size_t>(n));
  for (T& value : out) value = make();
  return out;
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(want[i]))
        << what << " row " << i << ": " << got[i] << " instead of " << want[i];
  }
}

/// Runs `call(table, out)` on every table and compares with the scalar one; returns the scalar results.
template <typename Call>
std::vector<float> compare_tables(std::int64_t rows, const std::string& what, Call call) {
  std::vector<float> want(static_cast<std::size_t>(rows), -1.0F);
  call(scalar(), want.data());
  for (const Kernels* table : vector_tables()) {
    std::vector<float> got(want.size() + 1, 12345.0F);
    call(*table, got.data());
    EXPECT_EQ(got.back(), 12345.0F) << what << ": wrote past the end";
    got.pop_back();
    expect_same(got, want, std::string(table->name) + " " + what);
  }
  return want;
}

std::string label(std::int64_t k, std::int64_t rows) { return "k=" + std::to_string(k) + " n=" + std::to_string(rows); }

TEST(Isa, ChoosesByName) {
  EXPECT_EQ(choose("scalar").value(), &scalar());
  EXPECT_EQ(available().front(), &scalar());
  EXPECT_EQ(choose("").value(), available().back());
  for (const Kernels* table : available()) EXPECT_EQ(choose(table->name).value(), table);
  const auto unknown = choose("mmx");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message.find("scalar"), std::string::npos);
}

enum class Values { kOrdinary, kWild, kHuge, kNotFinite };

float make_value(Random& random, Values values) {
  switch (values) {
    case Values::kOrdinary: return random.normal();
    case Values::kWild: return random.wild();
    case Values::kHuge: return std::ldexp(random.normal(), 110);
    case Values::kNotFinite: break;
  }
  return random.in(0, 40) == 0 ? std::numeric_limits<float>::infinity() : random.normal();
}

constexpr Values kAllValues[] = {Values::kOrdinary, Values::kWild, Values::kHuge, Values::kNotFinite};

TEST(Isa, RowsE4M3) {
  for (const Values values : kAllValues) {
    for (const auto k : kBlockColumns) {
      for (const auto rows : kRowCounts) {
        Random random(static_cast<unsigned>(k + rows));
        const auto x = exact(fill<float>(k, [&] { return make_value(random, values); }));
        const auto w = exact(fill<std::uint8_t>(k * rows, [&] { return random.e4m3(); }));
        compare_tables(rows, label(k, rows),
                       [&](const Kernels& t, float* out) { t.rows_e4m3(x.get(), w.get(), k, rows, out); });
      }
    }
  }
}

TEST(Isa, RowsE4M3DecodesEveryCode) {
  for (int code = 0; code < 256; ++code) {
    if (numeric::is_nan_e4m3fn(static_cast<std::uint8_t>(code))) continue;
    for (int column = 0; column < 32; ++column) {
      std::vector<float> x(32, 0.0F);
      x[column] = 1.0F;
      std::vector<std::uint8_t> w(32, 0);
      w[column] = static_cast<std::uint8_t>(code);
      const auto out = compare_tables(
          1, "code", [&](const Kernels& t, float* y) { t.rows_e4m3(x.data(), w.data(), 32, 1, y); });
      ASSERT_EQ(out[0], numeric::decode_e4m3fn(static_cast<std::uint8_t>(code))) << code << " " << column;
    }
  }
}

TEST(Isa, RowsBf16) {
  for (const Values values : kAllValues) {
    for (const auto k : kAnyColumns) {
      for (const auto rows : kRowCounts) {
        Random random(static_cast<unsigned>(k + rows));
        const auto x = exact(fill<float>(k, [&] { return make_value(random, values); }));
        const auto w = exact(fill<BF16>(k * rows, [&] { return to_bf16(random.wild()); }));
        compare_tables(rows, label(k, rows),
                       [&](const Kernels& t, float* out) { t.rows_bf16(x.get(), w.get(), k, rows, out); });
      }
    }
  }
}

TEST(Isa, RowsF32InBothMaps) {
  for (const Values values : kAllValues) {
    for (const auto k : kAnyColumns) {
      for (const auto rows : kRowCounts) {
        Random random(static_cast<unsigned>(k + rows));
        const std::int64_t stride = k + random.in(0, 5);
        const auto x = exact(fill<float>(k, [&] { return make_value(random, values); }));
        const auto w = exact(fill<float>((rows - 1) * stride + k, [&] { return random.wild(); }));
        compare_tables(rows, label(k, rows),
                       [&](const Kernels& t, float* out) { t.rows_f32(x.get(), w.get(), k, rows, stride, out); });
        compare_tables(rows, label(k, rows), [&](const Kernels& t, float* out) {
          t.rows_f32_bf16map(x.get(), w.get(), k, rows, stride, out);
        });
      }
    }
  }
}

/// Scale bytes near the middle, or anything up to the ends of the range.
std::uint8_t make_scale(Random& random, Values values) {
  return static_cast<std::uint8_t>(values == Values::kOrdinary ? random.in(115, 130) : random.in(0, 255));
}

TEST(Isa, RowsE2M1) {
  for (const Values values : {Values::kOrdinary, Values::kWild}) {
    for (const auto k : kBlockColumns) {
      for (const auto rows : kRowCounts) {
        Random random(static_cast<unsigned>(k + rows));
        const auto byte = [&] { return static_cast<std::uint8_t>(random.bits()); };
        const auto scale = [&] { return make_scale(random, values); };
        const auto x = exact(fill<std::uint8_t>(k, byte));
        const auto xs = exact(fill<std::uint8_t>(k / 32, scale));
        const auto w = exact(fill<std::uint8_t>(k / 2 * rows, byte));
        const auto ws = exact(fill<std::uint8_t>(k / 32 * rows, scale));
        compare_tables(rows, label(k, rows), [&](const Kernels& t, float* out) {
          t.rows_e2m1(x.get(), xs.get(), w.get(), ws.get(), k, rows, out);
        });
      }
    }
  }
}

/// The largest integers of a group, both signs: nothing may saturate.
TEST(Isa, RowsE2M1AtTheIntegerLimits) {
  for (const std::uint8_t x_code : {0x7E, 0xFE, 0x7D, 0x0F, 0x01}) {
    for (const std::uint8_t w_byte : {0x77, 0xFF, 0x7F, 0x11}) {
      const std::vector<std::uint8_t> x(64, x_code);
      const std::vector<std::uint8_t> xs(2, 127);
      const std::vector<std::uint8_t> w(32, w_byte);
      const auto out = compare_tables(1, "limits", [&](const Kernels& t, float* y) {
        t.rows_e2m1(x.data(), xs.data(), w.data(), xs.data(), 64, 1, y);
      });
      const float want = 32.0F * numeric::decode_e4m3fn(x_code) *
                         (numeric::decode_e2m1(w_byte) + numeric::decode_e2m1(w_byte >> 4));
      EXPECT_EQ(out[0], want);
    }
  }
}

/// Every pair of scales at the ends of their range, one group at a time so that nothing hides a small term.
TEST(Isa, ScalesAtTheEndsOfTheRange) {
  const int ends[] = {0, 1, 2, 9, 10, 11, 105, 127, 200, 253, 254, 255};
  Random random(5);
  const auto x = fill<std::uint8_t>(32, [&] { return random.e4m3(); });
  const auto q = fill<std::int8_t>(32, [&] { return numeric::kE2M1Doubled[random.bits() % 16]; });
  for (const int a : ends) {
    for (const int b : ends) {
      auto key = fill<std::uint8_t>(16, [&] { return static_cast<std::uint8_t>(random.bits()); });
      key.push_back(static_cast<std::uint8_t>(b));
      const auto scale = static_cast<std::uint8_t>(a);
      const std::string what = std::to_string(a) + " x " + std::to_string(b);
      const auto y = compare_tables(1, what, [&](const Kernels& t, float* out) {
        t.rows_e2m1(x.data(), &scale, key.data(), &key[16], 32, 1, out);
      });
      compare_tables(1, what, [&](const Kernels& t, float* out) {
        t.index_dot(q.data(), &scale, key.data(), 17, 32, 1, out);
      });
      double sum = 0;
      for (int i = 0; i < 32; ++i) {
        sum += static_cast<double>(numeric::decode_e4m3fn(x[i])) * numeric::decode_packed_e2m1(key.data(), i);
      }
      if (a == 255 || b == 255) {
        EXPECT_FALSE(std::isfinite(y[0])) << what;  // the mark of a faulty block stays visible
      } else if (a + b - 254 > -127) {
        EXPECT_EQ(y[0], static_cast<float>(std::ldexp(sum, a + b - 254))) << what;
      }
    }
  }
}

TEST(Isa, IndexDot) {
  for (const Values values : {Values::kOrdinary, Values::kWild}) {
    for (const std::int64_t c : {32, 64, 96, 128, 160, 256, 288}) {
      for (const auto rows : kRowCounts) {
        Random random(static_cast<unsigned>(c + rows));
        const std::int64_t record = c / 2 + c / 32;
        const std::int64_t stride = record + random.in(0, 3);
        const auto q = exact(fill<std::int8_t>(c, [&] { return numeric::kE2M1Doubled[random.bits() % 16]; }));
        const auto qs = exact(fill<std::uint8_t>(c / 32, [&] { return make_scale(random, values); }));
        auto bytes = fill<std::uint8_t>((rows - 1) * stride + record, [&] { return std::uint8_t(random.bits()); });
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t g = 0; g < c / 32; ++g) bytes[r * stride + c / 2 + g] = make_scale(random, values);
        }
        const auto keys = exact(bytes);
        const auto out = compare_tables(rows, label(c, rows), [&](const Kernels& t, float* y) {
          t.index_dot(q.get(), qs.get(), keys.get(), stride, c, rows, y);
        });
        if (values != Values::kOrdinary) continue;
        double truth = 0;
        for (std::int64_t i = 0; i < c; ++i) {
          truth += 0.5 * q[i] * numeric::decode_packed_e2m1(keys.get(), i) * numeric::decode_e8m0(qs[i / 32]) *
                   numeric::decode_e8m0(keys[c / 2 + i / 32]);
        }
        EXPECT_NEAR(out[0], truth, std::abs(truth) * 1e-5 + 1e-3);
      }
    }
  }
}

TEST(Isa, AxpyAndScale) {
  for (const auto n : kAnyColumns) {
    Random random(static_cast<unsigned>(n));
    const auto x = exact(fill<float>(n, [&] { return random.wild(); }));
    const auto y = fill<float>(n, [&] { return random.wild(); });
    for (const float a : {0.0F, -0.0F, 0.37F, 1e-30F}) {
      compare_tables(n, "axpy", [&](const Kernels& t, float* out) {
        std::copy(y.begin(), y.end(), out);
        t.axpy(a, x.get(), out, n);
      });
      compare_tables(n, "scale", [&](const Kernels& t, float* out) {
        std::copy(y.begin(), y.end(), out);
        t.scale(a, out, n);
      });
    }
  }
}

TEST(Isa, Exp32) {
  std::vector<float> x = {0.0F, -0.0F, 88.0F, std::nextafter(88.0F, 90.0F), -87.0F, std::nextafter(-87.0F, -90.0F),
                          1e30F, -1e30F, 1e-42F, std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  Random random(1);
  while (x.size() < 100003) x.push_back(std::ldexp(random.normal(), random.in(-30, 7)));
  for (int i = 0; i < 200000; ++i) x.push_back(std::bit_cast<float>(random.bits()));
  const auto n = static_cast<std::int64_t>(x.size());
  compare_tables(n, "exp32", [&](const Kernels& t, float* out) {
    std::copy(x.begin(), x.end(), out);
    t.exp32(out, n);
  });
}

/// numerics.md 12: |y - truth| <= 2 sqrt(K) 2^-24 sum|w x|.
TEST(Isa, ScalarStaysWithinTheTruthBound) {
  for (const auto k : kBlockColumns) {
    Random random(static_cast<unsigned>(k));
    const auto x = fill<float>(k, [&] { return random.normal(); });
    const auto w8 = fill<std::uint8_t>(k, [&] { return random.e4m3(); });
    const auto w16 = fill<BF16>(k, [&] { return to_bf16(random.normal()); });
    const auto w32 = fill<float>(k, [&] { return random.normal(); });
    const auto check = [&](float got, auto weight) {
      double truth = 0;
      double magnitude = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        truth += static_cast<double>(x[i]) * weight(i);
        magnitude += std::abs(static_cast<double>(x[i]) * weight(i));
      }
      EXPECT_LE(std::abs(got - truth), 2 * std::sqrt(k) * 0x1p-24 * magnitude) << k;
    };
    float y = 0;
    scalar().rows_e4m3(x.data(), w8.data(), k, 1, &y);
    check(y, [&](std::int64_t i) { return numeric::decode_e4m3fn(w8[i]); });
    scalar().rows_bf16(x.data(), w16.data(), k, 1, &y);
    check(y, [&](std::int64_t i) { return to_float(w16[i]); });
    scalar().rows_f32(x.data(), w32.data(), k, 1, k, &y);
    check(y, [&](std::int64_t i) { return w32[i]; });
    scalar().rows_f32_bf16map(x.data(), w32.data(), k, 1, k, &y);
    check(y, [&](std::int64_t i) { return w32[i]; });
  }
}

/// Class A: the group sums are exact, so against float64 only the chain over groups rounds.
TEST(Isa, ScalarE2M1IsExactWithinAGroup) {
  Random random(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto x = fill<std::uint8_t>(32, [&] { return random.e4m3(); });
    const auto w = fill<std::uint8_t>(16, [&] { return static_cast<std::uint8_t>(random.bits()); });
    const std::uint8_t xs = 120;
    const std::uint8_t ws = 131;
    double truth = 0;
    for (int i = 0; i < 32; ++i) {
      truth += static_cast<double>(numeric::decode_e4m3fn(x[i])) * numeric::decode_packed_e2m1(w.data(), i);
    }
    float y = 0;
    scalar().rows_e2m1(x.data(), &xs, w.data(), &ws, 32, 1, &y);
    ASSERT_EQ(y, static_cast<float>(truth * 0x1p-3));
  }
}

}  // namespace
}  // namespace deepinfer::isa
