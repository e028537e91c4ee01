//===- Labels.cpp - from labels to valid targets --------------------------===//

#include "Internal.h"

using namespace sp;

void sp_shift_labels(const int64_t *labels, int64_t *out, int64_t batch,
                     int64_t seq, int64_t ignore_index) {
  for (int64_t s = 0; s < seq; ++s)
    for (int64_t b = 0; b < batch; ++b)
      out[s * batch + b] = s + 1 < seq ? labels[b * seq + s + 1] : ignore_index;
}

static int32_t checkTargets(sp_context *context, const int64_t *targets,
                            int64_t count, int64_t vocab, int64_t ignoreIndex) {
  for (int64_t i = 0; i < count; ++i)
    if (targets[i] != ignoreIndex && (targets[i] < 0 || targets[i] >= vocab))
      return context->fail(str("target ", targets[i], " at position ", i,
                               " is neither ", ignoreIndex,
                               " (ignored) nor in the vocabulary of ", vocab));
  return 0;
}

int32_t sp_check_targets(sp_context *context, const int64_t *targets,
                         int64_t count, int64_t vocab, int64_t ignore_index) {
  return guarded(context, [&] {
    return checkTargets(context, targets, count, vocab, ignore_index);
  });
}

int32_t sp_part_targets(sp_context *context, const int64_t *targets,
                        int64_t *out, int64_t count, int64_t parts,
                        int64_t part_size, int64_t first, int64_t vocab,
                        int64_t ignore_index) {
  return guarded(context, [&]() -> int32_t {
    if (int32_t status =
            checkTargets(context, targets, count, vocab, ignore_index))
      return status;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t p = 0; p < parts; ++p) {
        int64_t column = targets[i] - (first + p * part_size);
        bool isIn =
            targets[i] != ignore_index && column >= 0 && column < part_size;
        out[i * parts + p] = isIn ? column : -1;
      }
    return 0;
  });
}
