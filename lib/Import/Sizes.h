//===- Sizes.h - products of sizes that must not overflow -----------------===//

#ifndef SP_LIB_IMPORT_SIZES_H
#define SP_LIB_IMPORT_SIZES_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>
#include <initializer_list>

namespace sp {

/// True if the product of these positive sizes fits into an int64_t.
inline bool productFits(std::initializer_list<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(product, size, product))
      return false;
  return true;
}

} // namespace sp

#endif // SP_LIB_IMPORT_SIZES_H
