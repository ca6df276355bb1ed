// The logistic function of the kernels.
#pragma once

#include "exponential.h"

namespace device_kernels {

// S(x) = 1/(1 + e^-x) and 1 - S(x), each with all its digits; S is 0 where e^x is below e^-80.
inline void sigmoid(float x, float& share, float& rest) {
  const float power = exponential_or_zero(x < 0 ? x : -x);
  const float larger = 1.0f / (1.0f + power), smaller = power * larger;
  share = x < 0 ? smaller : larger;
  rest = x < 0 ? larger : smaller;
}

}  // namespace device_kernels
