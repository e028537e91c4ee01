//===- OrderedSum.h - the sum of the ranks' data ----------------*- C++ -*-===//

#ifndef SP_RUNTIME_CPU_ORDEREDSUM_H
#define SP_RUNTIME_CPU_ORDEREDSUM_H

#include "sp/Runtime/Runtime.h"

#include <vector>

namespace sp {

/// dst[i] = sources[0][i] + sources[1][i] + ..., in this order for every i,
/// whatever `count` is: bf16 is summed in f32 and rounded once, i64 wraps.
void sumInOrder(int32_t dtype, const std::vector<const char *> &sources,
                char *dst, int64_t count);

} // namespace sp

#endif // SP_RUNTIME_CPU_ORDEREDSUM_H
