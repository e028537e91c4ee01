//===- Tables.cpp - the embedding and the RoPE tables ---------------------===//

#include "FloatTypes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

using namespace sp;

//===----------------------------------------------------------------------===//
// The embedding
//===----------------------------------------------------------------------===//

static int32_t failForId(sp_context *context, int64_t id, int64_t b, int64_t s,
                         int64_t vocab) {
  return context->fail(str("token id ", id, " at input_ids[", b, ", ", s,
                           "] is outside the vocabulary of ", vocab));
}

int32_t sp_embedding(sp_context *context, int32_t dtype, const int64_t *ids,
                     const void *table, void *out, int64_t batch, int64_t seq,
                     int64_t rows, int64_t hidden, int64_t first,
                     int64_t vocab) {
  return guarded(context, [&]() -> int32_t {
    int64_t bytes = getElementBytes(dtype) * hidden;
    auto *from = static_cast<const char *>(table);
    auto *to = static_cast<char *>(out);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < seq; ++s) {
        int64_t id = ids[b * seq + s];
        if (id < 0 || id >= vocab)
          return failForId(context, id, b, s, vocab);
        int64_t row = id - first;
        char *token = to + (s * batch + b) * bytes;
        if (row >= 0 && row < rows)
          std::memcpy(token, from + row * bytes, bytes);
        else
          std::memset(token, 0, bytes);
      }
    return 0;
  });
}

int32_t sp_embedding_grad(sp_context *context, int32_t dtype,
                          const int64_t *ids, const void *grad,
                          void *grad_table, int64_t batch, int64_t seq,
                          int64_t rows, int64_t hidden, int64_t first,
                          int64_t vocab) {
  return guarded(context, [&]() -> int32_t {
    // Which positions are of a row: order[begins[row]] to order[begins[row + 1]
    // - 1], as they come, by a counting sort. The last row is all others.
    std::vector<int64_t> begins(rows + 2), order(seq * batch);
    auto rowOf = [&](int64_t id) {
      return id >= first && id < first + rows ? id - first : rows;
    };
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < seq; ++s) {
        int64_t id = ids[b * seq + s];
        if (id < 0 || id >= vocab)
          return failForId(context, id, b, s, vocab);
        ++begins[rowOf(id) + 1];
      }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<int64_t> next = begins;
    for (int64_t i = 0; i < seq * batch; ++i)
      order[next[rowOf(ids[i % batch * seq + i / batch])]++] = i;

    return withFloatType(context, "embedding_grad", dtype, [&](auto zero) {
      using T = decltype(zero);
      auto *from = static_cast<const T *>(grad);
      auto *to = static_cast<T *>(grad_table);
      // By columns: a frequent token is work for all threads.
      context->parallelFor(
          hidden, [&](int64_t begin, int64_t end, int64_t thread) {
            int64_t count = end - begin;
            auto *sums = static_cast<Wide<T> *>(
                context->getScratch(thread).get(count * sizeof(Wide<T>)));
            for (int64_t row = 0; row < rows; ++row) {
              std::fill(sums, sums + count, Wide<T>(0));
              for (int64_t i = begins[row]; i < begins[row + 1]; ++i)
                addTo(sums, from + order[i] * hidden + begin, count);
              narrowTo(to + row * hidden + begin, sums, count);
            }
          });
    });
  });
}

//===----------------------------------------------------------------------===//
// The RoPE tables
//===----------------------------------------------------------------------===//

template <typename Store>
static void fillRopeTable(int64_t positions, int64_t halfDim, double theta,
                          Store store) {
  for (int64_t i = 0; i < halfDim; ++i) {
    double frequency = std::pow(theta, -double(i) / double(halfDim));
    for (int64_t p = 0; p < positions; ++p) {
      double angle = double(p) * frequency;
      store(p * halfDim + i, std::cos(angle), std::sin(angle));
    }
  }
}

void sp_rope_table(int32_t dtype, void *cos, void *sin, int64_t positions,
                   int64_t half_dim, double theta) {
  auto fill = [&](auto *cosines, auto *sines, auto round) {
    fillRopeTable(positions, half_dim, theta,
                  [&](int64_t at, double cosine, double sine) {
                    cosines[at] = round(cosine);
                    sines[at] = round(sine);
                  });
  };
  switch (dtype) {
  case SP_F32:
    return fill(static_cast<float *>(cos), static_cast<float *>(sin),
                [](double value) { return float(value); });
  case SP_F64:
    return fill(static_cast<double *>(cos), static_cast<double *>(sin),
                [](double value) { return value; });
  case SP_BF16:
    return fill(static_cast<BFloat16 *>(cos), static_cast<BFloat16 *>(sin),
                [](double value) { return roundToBFloat16(value); });
  }
}
