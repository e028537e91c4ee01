//===- Runtime.h - the functions that compiled programs call ----*- C++ -*-===//
//
// A C ABI. Tensors are dense and row-major, pointers are already offset, sizes
// are in elements unless a name says bytes. A function that can fail returns 0,
// or nonzero after it has left the reason in the context, where the first one
// stays; a compiled program returns at once on nonzero.
//
//===----------------------------------------------------------------------===//

#ifndef SP_RUNTIME_RUNTIME_H
#define SP_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One rank; see Context.h.
typedef struct sp_context sp_context;

// Element types; passed as int32_t.
enum sp_dtype { SP_F32 = 0, SP_F64 = 1, SP_BF16 = 2, SP_I64 = 3 };

// Computes the rows [begin, end). `operands` points to the inputs, then the
// outputs.
typedef void (*sp_kernel)(void *const *operands, int64_t begin, int64_t end);

#define SP_RUNTIME_FUNCTION(result, name, parameters) result name parameters;
#include "sp/Runtime/RuntimeFunctions.def"

#ifdef __cplusplus
} // extern "C"
#endif

#endif // SP_RUNTIME_RUNTIME_H
