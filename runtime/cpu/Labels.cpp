//===- Labels.cpp - from labels to valid targets --------------------------===//

#include "Internal.h"

using namespace sp;

void sp_shift_labels(const int64_t *labels, int64_t *out, int64_t batch,
                     int64_t seq, int64_t ignore_index) {
  for (int64_t s = 0; s < seq; ++s)
    for (int64_t b = 0; b < batch; ++b)
      out[s * batch + b] = s + 1 < seq ? labels[b * seq + s + 1] : ignore_index;
}

int32_t sp_check_targets(sp_context *context, const int64_t *targets,
                         int64_t count, int64_t vocab, int64_t ignore_index) {
  return guarded(context, [&]() -> int32_t {
    for (int64_t i = 0; i < count; ++i)
      if (targets[i] != ignore_index && (targets[i] < 0 || targets[i] >= vocab))
        return context->fail(
            str("target ", targets[i], " at position ", i, " is neither ",
                ignore_index, " (ignored) nor in the vocabulary of ", vocab));
    return 0;
  });
}
