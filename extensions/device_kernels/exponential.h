// The exponential function of the kernels, without a branch and without a call, so that loops over it
// are vectorised.
#pragma once

#include <cstdint>
#include <cstring>

namespace device_kernels {

// e^x within 2 units in the last place for x from -87 to 88; nearest to these outside; NaN of NaN.
inline float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // x = n log(2) + r, n an integer, |r| <= log(2)/2: adding 1.5 · 2^23 rounds to an integer, which
  // is then in the last bits.
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  // e^r by its Taylor series, whose rest is below 2^-25.
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  // 2^n: the exponent of a float32 is biased by 127; the bits of 1.5 · 2^23 end in zeros.
  bits = (bits + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return series * power;
}

// The same, but 0 below e^-80: beside 1 it changes nothing, and products with it would be denormal
// numbers, which are slow.
inline float exponential_or_zero(float x) {
  const float found = exponential(x);
  return x < -80.0f ? 0.0f : found;
}

}  // namespace device_kernels
