//===- DropoutMask.h - what dropout keeps -----------------------*- C++ -*-===//
//
// An element's bit is a function of the context's seed and step, of the op, and
// of the element's global coordinates: see sp_dropout.
//
//===----------------------------------------------------------------------===//

#ifndef SP_RUNTIME_CPU_DROPOUTMASK_H
#define SP_RUNTIME_CPU_DROPOUTMASK_H

#include "BFloat16.h"
#include "sp/Runtime/Context.h"

namespace sp {

/// Of one op in one step.
struct DropoutMask {
  uint64_t key;
  /// p * 2^32: an element is kept if its word is not below.
  uint64_t threshold;
  /// Of what is kept.
  double scale;
};

/// What is wrong with a probability and with the four coordinates [origin,
/// origin + shape); empty if nothing is.
std::string findDropoutError(double p, const int64_t *origin,
                             const int64_t *shape);

DropoutMask makeDropoutMask(const sp_context &context, double p, int64_t opId);

/// dst[0, count) = src[0, count) after dropout. These are the elements of the
/// row of coordinates row[0, 3), from `begin` of the last coordinate.
void dropRow(const DropoutMask &mask, const uint64_t *row, int64_t begin,
             int64_t count, const float *src, float *dst);
void dropRow(const DropoutMask &mask, const uint64_t *row, int64_t begin,
             int64_t count, const double *src, double *dst);
void dropRow(const DropoutMask &mask, const uint64_t *row, int64_t begin,
             int64_t count, const BFloat16 *src, BFloat16 *dst);

} // namespace sp

#endif // SP_RUNTIME_CPU_DROPOUTMASK_H
