//===- SpinWait.h - waiting without giving up the core ----------*- C++ -*-===//

#ifndef SP_RUNTIME_CPU_SPINWAIT_H
#define SP_RUNTIME_CPU_SPINWAIT_H

#include <cstdint>
#include <thread>

namespace sp {

/// How often to look before sleeping, when `numThreads` threads work at the
/// same time. With more threads than cores a spinning one keeps the one that it
/// waits for from running.
inline int getSpinCount(int64_t numThreads) {
  return numThreads <= int64_t(std::thread::hardware_concurrency()) ? 2000 : 0;
}

/// True as soon as `ready()` is, false after `count` looks.
template <typename Ready> bool spinUntil(int count, Ready ready) {
  for (int i = 0; i < count; ++i) {
    if (ready())
      return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return ready();
}

} // namespace sp

#endif // SP_RUNTIME_CPU_SPINWAIT_H
