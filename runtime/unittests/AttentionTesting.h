//===- AttentionTesting.h - what the tests of attention share ---*- C++ -*-===//

#ifndef SP_RUNTIME_UNITTESTS_ATTENTIONTESTING_H
#define SP_RUNTIME_UNITTESTS_ATTENTIONTESTING_H

#include "Testing.h"

#include <cmath>

namespace sp {

/// The arguments of sp_attention that are not tensors.
struct AttentionCase {
  int64_t seq, batch, heads, kvHeads, dim;
  bool causal;
  double dropout = 0;
  int64_t headOffset = 0;

  int64_t qCount() const { return seq * batch * heads * dim; }
  int64_t kvCount() const { return seq * batch * kvHeads * dim; }
  double scale() const { return 1 / std::sqrt(double(dim)); }

  /// What rank `rank` of `size` computes if they share the heads.
  AttentionCase shard(int64_t rank, int64_t size) const {
    AttentionCase part = *this;
    part.heads /= size;
    part.kvHeads /= size;
    part.headOffset += rank * part.heads;
    return part;
  }
};

inline std::ostream &operator<<(std::ostream &os, const AttentionCase &c) {
  return os << "S = " << c.seq << ", B = " << c.batch << ", heads = " << c.heads
            << " / " << c.kvHeads << ", D = " << c.dim
            << (c.causal ? ", causal" : "") << ", p = " << c.dropout;
}

constexpr int64_t kDropoutOp = 5;

/// A rank in a step that is not the first.
struct TrainingContext : sp_context {
  explicit TrainingContext(int64_t threads = 1) : sp_context(0, 1, threads) {
    seed = 3;
    step = 4;
  }
};

template <typename T>
std::vector<T> attend(const AttentionCase &c, const std::vector<T> &q,
                      const std::vector<T> &k, const std::vector<T> &v,
                      int64_t threads = 1) {
  TrainingContext context(threads);
  std::vector<T> out(c.qCount(), fromDouble<T>(-7));
  EXPECT_EQ(sp_attention(&context, dtypeOf<T>(), q.data(), k.data(), v.data(),
                         out.data(), c.seq, c.batch, c.heads, c.kvHeads, c.dim,
                         c.scale(), c.causal, c.dropout, kDropoutOp,
                         c.headOffset),
            0)
      << context.getError();
  return out;
}

/// The heads of one of `size` ranks, of [S, B, heads, D].
template <typename T>
std::vector<T> takeShard(const AttentionCase &c, const std::vector<T> &full,
                         int64_t rank, int64_t size) {
  int64_t rows = c.seq * c.batch, length = full.size() / rows / size;
  std::vector<T> part;
  for (int64_t row = 0; row < rows; ++row) {
    auto begin = full.begin() + (row * size + rank) * length;
    part.insert(part.end(), begin, begin + length);
  }
  return part;
}

} // namespace sp

#endif // SP_RUNTIME_UNITTESTS_ATTENTIONTESTING_H
