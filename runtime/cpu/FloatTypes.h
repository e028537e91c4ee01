//===- FloatTypes.h - loops over f32, f64 and bf16 --------------*- C++ -*-===//
//
// One template serves the three types: bf16 is computed in f32 and rounded
// once.
//
//===----------------------------------------------------------------------===//

#ifndef SP_RUNTIME_CPU_FLOATTYPES_H
#define SP_RUNTIME_CPU_FLOATTYPES_H

#include "BFloat16.h"
#include "Internal.h"
#include "Multiversion.h"

namespace sp {

template <typename T> struct WideType { using Type = T; };
template <> struct WideType<BFloat16> { using Type = float; };

/// The type that T is computed in.
template <typename T> using Wide = typename WideType<T>::Type;

SP_ALWAYS_INLINE float widen(float value) { return value; }
SP_ALWAYS_INLINE double widen(double value) { return value; }
SP_ALWAYS_INLINE float widen(BFloat16 value) { return toFloat(value); }

template <typename T> SP_ALWAYS_INLINE T narrow(Wide<T> value) { return value; }
template <> SP_ALWAYS_INLINE BFloat16 narrow(float value) {
  return toBFloat16(value);
}

/// sums[0, count) += values[0, count).
template <typename T>
SP_ALWAYS_INLINE void addTo(Wide<T> *__restrict sums,
                            const T *__restrict values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] += widen(values[i]);
}

/// to[0, count) = values[0, count).
template <typename T>
SP_ALWAYS_INLINE void
narrowTo(T *__restrict to, const Wide<T> *__restrict values, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = narrow<T>(values[i]);
}

/// Calls body(T()) with the C++ type of `dtype`. Fails in the name of
/// `function` if there is none.
template <typename Body>
int32_t withFloatType(sp_context *context, const char *function, int32_t dtype,
                      Body body) {
  switch (dtype) {
  case SP_F32:
    body(float());
    return 0;
  case SP_F64:
    body(double());
    return 0;
  case SP_BF16:
    body(BFloat16());
    return 0;
  }
  return context->fail(str(function, ": not of ", getDTypeName(dtype)));
}

} // namespace sp

#endif // SP_RUNTIME_CPU_FLOATTYPES_H
