//===- Softmax.cpp - of a row of scores -----------------------------------===//

#include "AttentionBlocks.h"

#include <cmath>
#include <limits>

using namespace sp;

namespace {
typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
} // namespace

/// x = e^x for x <= 88, by Cephes' expf: the relative error stays below 1e-7
/// (measured). Results below 2^-126 are 0; a NaN stays one.
SP_ALWAYS_INLINE void exponentiate(Floats &x) {
  const float lowest = -87.3365f;
  Ints vanishes = x < lowest;
  Floats lowestLanes = Floats{} + lowest;
  x = vanishes ? lowestLanes : x;

  // x = n ln 2 + r. Adding 1.5 * 2^23 rounds to an integer and leaves it in the
  // low bits; the first of the two parts of ln 2 is exact in 10 bits.
  const float magic = 12582912.0f;
  Floats shifted = x * 1.44269504088896341f + magic;
  Floats n = shifted - magic;
  Floats r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;

  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;

  // 2^n by its exponent bits.
  Ints exponent = (((Ints)shifted - 0x4B400000) + 127) << 23;
  x = p * (Floats)exponent;
  Floats zero = {};
  x = vanishes ? zero : x;
}

SP_ALWAYS_INLINE float softmaxLanesBody(float *scores, int64_t visible,
                                        int64_t length) {
  const float infinity = std::numeric_limits<float>::infinity();
  auto *vectors = reinterpret_cast<Floats *>(scores);
  int64_t numVectors = (visible + kLanes - 1) / kLanes;
  std::fill(scores + visible, scores + numVectors * kLanes, -infinity);

  // A NaN may get lost here, but not below.
  Floats maxima = Floats{} - infinity;
  for (int64_t i = 0; i < numVectors; ++i)
    maxima = vectors[i] > maxima ? vectors[i] : maxima;
  float maximum = maxima[0];
  for (int64_t i = 1; i < kLanes; ++i)
    maximum = maxima[i] > maximum ? maxima[i] : maximum;

  Floats sums = {};
  for (int64_t i = 0; i < numVectors; ++i) {
    Floats x = vectors[i] - maximum;
    exponentiate(x);
    vectors[i] = x;
    sums += x;
  }
  float sum = 0;
  for (int64_t i = 0; i < kLanes; ++i)
    sum += sums[i];
  std::fill(scores + numVectors * kLanes, scores + length, 0.0f);
  return sum;
}
SP_MULTIVERSION(float, softmaxLanes,
                (float *scores, int64_t visible, int64_t length),
                (scores, visible, length))

float sp::softmax(float *scores, int64_t visible, int64_t length) {
  return softmaxLanes(scores, visible, length);
}

double sp::softmax(double *scores, int64_t visible, int64_t length) {
  double maximum = scores[0], sum = 0;
  for (int64_t i = 1; i < visible; ++i)
    maximum = std::max(maximum, scores[i]);
  for (int64_t i = 0; i < visible; ++i) {
    scores[i] = std::exp(scores[i] - maximum);
    sum += scores[i];
  }
  std::fill(scores + visible, scores + length, 0.0);
  return sum;
}
