//===- Internal.h - what the runtime's functions share ----------*- C++ -*-===//

#ifndef SP_RUNTIME_CPU_INTERNAL_H
#define SP_RUNTIME_CPU_INTERNAL_H

#include "sp/Runtime/Context.h"

#include <exception>
#include <sstream>

namespace sp {

/// The arguments, printed one after the other.
template <typename... Args> std::string str(const Args &...args) {
  std::ostringstream os;
  (os << ... << args);
  return os.str();
}

/// "f32" and so on; "dtype 7" for what is not one.
std::string getDTypeName(int32_t dtype);
/// 0 for what is not a dtype.
int64_t getElementBytes(int32_t dtype);

/// No exception leaves the runtime: `body()`, or the failure that it threw.
template <typename Body> int32_t guarded(sp_context *context, Body body) {
  try {
    return body();
  } catch (const std::exception &exception) {
    return context->fail(exception.what());
  }
}

/// op(A) op(B) alpha + C beta, row-major with leading dimensions, as sp_gemm;
/// m, n and k are positive. Throws if the library refuses.
void gemm(bool transA, bool transB, int64_t m, int64_t n, int64_t k,
          float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
          float beta, float *c, int64_t ldc);
void gemm(bool transA, bool transB, int64_t m, int64_t n, int64_t k,
          double alpha, const double *a, int64_t lda, const double *b,
          int64_t ldb, double beta, double *c, int64_t ldc);

} // namespace sp

#endif // SP_RUNTIME_CPU_INTERNAL_H
