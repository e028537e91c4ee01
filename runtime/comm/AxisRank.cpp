//===- AxisRank.cpp - where a rank is on a mesh axis ----------------------===//

#include "sp/Runtime/Context.h"

#include <cassert>

int64_t sp_axis_rank(sp_context *context, int32_t axis) {
  assert(size_t(axis) < context->communicators.size() && "no such axis");
  return context->communicators[axis]->rank();
}
