// Which numbers of a matrix are dropped, from a generator without a state: each pass, and each thread, draws
// the same for a place.
#pragma once

#include <cstdint>

#include "matrix_product.h"

namespace device_kernels {

// Philox4x32-7 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011: with
// seven rounds it passes BigCrush. Each member holds 32 bits: factors of a product of 64. Without a loop, so
// that one over counters is vectorised.
struct Philox {
  uint64_t first, second, third, fourth;

  INTO_THE_CALLER Philox after_rounds(uint64_t key, uint64_t other_key) const {
    return round<0>(key, other_key)
        .round<1>(key, other_key)
        .round<2>(key, other_key)
        .round<3>(key, other_key)
        .round<4>(key, other_key)
        .round<5>(key, other_key)
        .round<6>(key, other_key);
  }

 private:
  template <uint64_t number>
  INTO_THE_CALLER Philox round(uint64_t key, uint64_t other_key) const {
    constexpr uint64_t kLow = 0xffffffffu;
    const uint64_t product = (first & kLow) * 0xD2511F53u, other = (third & kLow) * 0xCD9E8D57u;
    return {(other >> 32) ^ second ^ ((key + number * 0x9E3779B9u) & kLow), other & kLow,
            (product >> 32) ^ fourth ^ ((other_key + number * 0xBB67AE85u) & kLow), product & kLow};
  }
};

// Dropout of the rows of matrices. Each number has 16 random bits: the share that is dropped is a multiple of
// 2^-16, and what stays is divided by exactly the share that stays.
class Dropped {
 public:
  Dropped() = default;
  Dropped(float share, uint64_t seed, int64_t stream)
      : seed_(seed), stream_(static_cast<uint64_t>(stream)) {
    const uint64_t nearest = static_cast<uint64_t>(static_cast<double>(share) * kSteps + 0.5);
    limit_ = nearest < kSteps ? nearest : kSteps - 1;
    factor_ = static_cast<float>(static_cast<double>(kSteps) / static_cast<double>(kSteps - limit_));
  }

  bool any() const { return limit_ > 0; }

  // Floats that `factors` writes for a row of so many.
  int64_t room(int64_t columns) const { return any() ? rounded_up(columns, kStrip) : 0; }

  // 0 for each number of a row that is dropped, and for others what they are multiplied by.
  INTO_THE_CALLER void factors(int64_t matrix, int64_t row, int64_t columns,
                               float* __restrict to) const {
    const uint64_t key = seed_ & 0xffffffffu, other_key = seed_ >> 32, limit = limit_;
    const uint64_t second = static_cast<uint64_t>(row), third = static_cast<uint64_t>(matrix);
    const uint64_t fourth = stream_;
    const float factor = factor_;
    for (int64_t begin = 0; begin < columns; begin += kStrip, to += kStrip) {
      const uint64_t counter = static_cast<uint64_t>(begin / 8);
#pragma omp simd
      for (int64_t i = 0; i < kCounters; ++i) {
        const Philox drawn = Philox{counter + static_cast<uint64_t>(i), second, third, fourth}
                                 .after_rounds(key, other_key);
        const auto of = [&](uint64_t bits) { return (bits & 0xffffu) < limit ? 0.0f : factor; };
        to[i] = of(drawn.first), to[i + kCounters] = of(drawn.first >> 16);
        to[i + 2 * kCounters] = of(drawn.second), to[i + 3 * kCounters] = of(drawn.second >> 16);
        to[i + 4 * kCounters] = of(drawn.third), to[i + 5 * kCounters] = of(drawn.third >> 16);
        to[i + 6 * kCounters] = of(drawn.fourth), to[i + 7 * kCounters] = of(drawn.fourth >> 16);
      }
    }
  }

 private:
  static constexpr uint64_t kSteps = 1u << 16;
  static constexpr int64_t kCounters = 8, kStrip = 8 * kCounters;  // of 4 words, both halves each

  uint64_t seed_ = 0, stream_ = 0, limit_ = 0;
  float factor_ = 1.0f;
};

}  // namespace device_kernels
