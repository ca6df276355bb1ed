// Memory of a thread for what one part of a kernel's work needs between its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace device_kernels {

// Kept by each thread, as large as the largest that was asked for; what it holds is not defined. It begins
// where a cache line does, as then does each row of a matrix in it whose width is a multiple of 16.
inline float* scratch_of(int64_t size) {
  constexpr size_t kLine = 64;
  static thread_local std::vector<float> kept;
  const size_t needed = static_cast<size_t>(size) + kLine / sizeof(float);
  if (kept.size() < needed) kept.resize(needed);
  const auto address = reinterpret_cast<uintptr_t>(kept.data());
  return kept.data() + (kLine - address % kLine) % kLine / sizeof(float);
}

}  // namespace device_kernels
