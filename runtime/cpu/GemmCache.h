//===- GemmCache.h - oneDNN primitives of one rank --------------*- C++ -*-===//

#ifndef SP_RUNTIME_CPU_GEMMCACHE_H
#define SP_RUNTIME_CPU_GEMMCACHE_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>

namespace sp {

/// The bf16 matrix products that this rank has made, by shape. Making one costs
/// up to 0.35 ms; a program has a few dozen.
class GemmCache {
public:
  /// transA, transB, accumulate, m, n, k, lda, ldb, ldc.
  using Key = std::array<int64_t, 9>;

  GemmCache();
  ~GemmCache();

  void run(const Key &key, const void *a, const void *b, void *c);

private:
  struct Product;
  struct Library;
  std::unique_ptr<Library> library;
  std::map<Key, std::unique_ptr<Product>> products;
};

} // namespace sp

#endif // SP_RUNTIME_CPU_GEMMCACHE_H
