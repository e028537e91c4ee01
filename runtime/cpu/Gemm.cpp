//===- Gemm.cpp - matrix products -----------------------------------------===//

#include "BFloat16.h"
#include "GemmCache.h"
#include "Internal.h"

#include <cblas.h>
#include <dnnl.hpp>

#include <cstring>
#include <stdexcept>

using namespace sp;

void sp::gemm(bool transA, bool transB, int64_t m, int64_t n, int64_t k,
              float alpha, const float *a, int64_t lda, const float *b,
              int64_t ldb, float beta, float *c, int64_t ldc) {
  dnnl_status_t status = dnnl_sgemm(transA ? 'T' : 'N', transB ? 'T' : 'N', m,
                                    n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (status != dnnl_success)
    throw std::runtime_error(
        str("oneDNN refuses an f32 matrix product (status ", status, ")"));
}

void sp::gemm(bool transA, bool transB, int64_t m, int64_t n, int64_t k,
              double alpha, const double *a, int64_t lda, const double *b,
              int64_t ldb, double beta, double *c, int64_t ldc) {
  // oneDNN has no f64. Each caller is one of the rank's own threads.
  static const bool single = (openblas_set_num_threads(1), true);
  (void)single;
  cblas_dgemm(CblasRowMajor, transA ? CblasTrans : CblasNoTrans,
              transB ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda, b,
              ldb, beta, c, ldc);
}

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

struct GemmCache::Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

struct GemmCache::Product {
  Product(Library &library, const Key &key);

  /// Null if oneDNN has no bf16 on this CPU.
  dnnl::matmul primitive;
  dnnl::memory a, b, c;
};

GemmCache::Product::Product(Library &library, const Key &key) {
  using Memory = dnnl::memory;
  auto [transA, transB, accumulate, m, n, k, lda, ldb, ldc] = key;
  auto describe = [](int64_t rows, int64_t columns, bool transposed,
                     int64_t ld) {
    return Memory::desc({rows, columns}, Memory::data_type::bf16,
                        transposed ? Memory::dims{1, ld} : Memory::dims{ld, 1});
  };
  Memory::desc descA = describe(m, k, transA, lda);
  Memory::desc descB = describe(k, n, transB, ldb);
  Memory::desc descC = describe(m, n, false, ldc);
  dnnl::primitive_attr attributes;
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  try {
    primitive = dnnl::matmul(dnnl::matmul::primitive_desc(
        dnnl::matmul::desc(descA, descB, descC), attributes, library.engine));
  } catch (const dnnl::error &error) {
    if (error.status != dnnl_unimplemented)
      throw;
    return;
  }
  a = Memory(descA, library.engine, nullptr);
  b = Memory(descB, library.engine, nullptr);
  c = Memory(descC, library.engine, nullptr);
}

GemmCache::GemmCache() = default;
GemmCache::~GemmCache() = default;

/// For CPUs without AVX-512: the same product in f32, rounded once.
static void gemmThroughF32(const GemmCache::Key &key, const BFloat16 *a,
                           const BFloat16 *b, BFloat16 *c) {
  auto [transA, transB, accumulate, m, n, k, lda, ldb, ldc] = key;
  auto widen = [](const BFloat16 *from, int64_t rows, int64_t columns,
                  int64_t ld) {
    std::vector<float> to(rows * columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        to[i * columns + j] = toFloat(from[i * ld + j]);
    return to;
  };
  int64_t rowsA = transA ? k : m, columnsA = transA ? m : k;
  int64_t rowsB = transB ? n : k, columnsB = transB ? k : n;
  std::vector<float> wideA = widen(a, rowsA, columnsA, lda);
  std::vector<float> wideB = widen(b, rowsB, columnsB, ldb);
  std::vector<float> wideC =
      accumulate ? widen(c, m, n, ldc) : std::vector<float>(m * n);
  gemm(transA, transB, m, n, k, 1.0f, wideA.data(), columnsA, wideB.data(),
       columnsB, accumulate ? 1.0f : 0.0f, wideC.data(), n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      c[i * ldc + j] = toBFloat16(wideC[i * n + j]);
}

void GemmCache::run(const Key &key, const void *a, const void *b, void *c) {
  if (!library)
    library = std::make_unique<Library>();
  std::unique_ptr<Product> &product = products[key];
  if (!product)
    product = std::make_unique<Product>(*library, key);
  if (!product->primitive)
    return gemmThroughF32(key, static_cast<const BFloat16 *>(a),
                          static_cast<const BFloat16 *>(b),
                          static_cast<BFloat16 *>(c));

  product->a.set_data_handle(const_cast<void *>(a));
  product->b.set_data_handle(const_cast<void *>(b));
  product->c.set_data_handle(c);
  product->primitive.execute(library->stream, {{DNNL_ARG_SRC, product->a},
                                               {DNNL_ARG_WEIGHTS, product->b},
                                               {DNNL_ARG_DST, product->c}});
  library->stream.wait();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

template <typename T>
static void gemmOf(bool transA, bool transB, bool accumulate, int64_t m,
                   int64_t n, int64_t k, const void *a, int64_t lda,
                   const void *b, int64_t ldb, void *c, int64_t ldc) {
  gemm(transA, transB, m, n, k, T(1), static_cast<const T *>(a), lda,
       static_cast<const T *>(b), ldb, T(accumulate), static_cast<T *>(c), ldc);
}

int32_t sp_gemm(sp_context *context, int32_t dtype, int32_t trans_a,
                int32_t trans_b, int32_t accumulate, int64_t m, int64_t n,
                int64_t k, const void *a, int64_t lda, const void *b,
                int64_t ldb, void *c, int64_t ldc) {
  return guarded(context, [&]() -> int32_t {
    if (dtype != SP_F32 && dtype != SP_F64 && dtype != SP_BF16)
      return context->fail("gemm: no product of " + getDTypeName(dtype));
    if (m < 0 || n < 0 || k < 0 || lda < (trans_a ? m : k) ||
        ldb < (trans_b ? k : n) || ldc < n)
      return context->fail(str("gemm: bad sizes: m = ", m, ", n = ", n,
                               ", k = ", k, ", lda = ", lda, ", ldb = ", ldb,
                               ", ldc = ", ldc));
    if (m == 0 || n == 0)
      return 0;
    // The sum of no products, which the libraries may leave undone.
    if (k == 0) {
      int64_t bytes = getElementBytes(dtype);
      for (int64_t row = 0; !accumulate && row < m; ++row)
        std::memset(static_cast<char *>(c) + row * ldc * bytes, 0, n * bytes);
      return 0;
    }
    if (dtype == SP_F32)
      gemmOf<float>(trans_a, trans_b, accumulate, m, n, k, a, lda, b, ldb, c,
                    ldc);
    else if (dtype == SP_F64)
      gemmOf<double>(trans_a, trans_b, accumulate, m, n, k, a, lda, b, ldb, c,
                     ldc);
    else
      context->getGemmCache().run(
          {trans_a != 0, trans_b != 0, accumulate != 0, m, n, k, lda, ldb, ldc},
          a, b, c);
    return 0;
  });
}

int32_t sp_batch_gemm(sp_context *context, int32_t dtype, int32_t trans_a,
                      int32_t trans_b, int32_t accumulate, int64_t batch,
                      int64_t m, int64_t n, int64_t k, const void *a,
                      const void *b, void *c) {
  int64_t bytes = getElementBytes(dtype);
  for (int64_t i = 0; i < batch; ++i) {
    int32_t status = sp_gemm(
        context, dtype, trans_a, trans_b, accumulate, m, n, k,
        static_cast<const char *>(a) + i * m * k * bytes, trans_a ? m : k,
        static_cast<const char *>(b) + i * k * n * bytes, trans_b ? k : n,
        static_cast<char *>(c) + i * m * n * bytes, n);
    if (status != 0)
      return status;
  }
  return 0;
}
