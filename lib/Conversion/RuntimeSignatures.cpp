//===- RuntimeSignatures.cpp - the runtime's functions as LLVM types ------===//
//
// The types come from the C declarations, so that a call cannot disagree with
// them.
//
//===----------------------------------------------------------------------===//

#include "RuntimeSignatures.h"
#include "mlir/IR/BuiltinTypes.h"
#include "sp/Runtime/Runtime.h"
#include <type_traits>

using namespace mlir;

template <typename T> static Type getLLVMType(MLIRContext *context) {
  if constexpr (std::is_void_v<T>)
    return LLVM::LLVMVoidType::get(context);
  else if constexpr (std::is_pointer_v<T>)
    return LLVM::LLVMPointerType::get(context);
  else if constexpr (std::is_same_v<T, double>)
    return Float64Type::get(context);
  else {
    static_assert(std::is_integral_v<T>, "unknown C type");
    return IntegerType::get(context, 8 * sizeof(T));
  }
}

namespace {
template <typename Function> struct Signature;

template <typename Result, typename... Parameters>
struct Signature<Result(Parameters...)> {
  static LLVM::LLVMFunctionType get(MLIRContext *context) {
    return LLVM::LLVMFunctionType::get(getLLVMType<Result>(context),
                                       {getLLVMType<Parameters>(context)...});
  }
};
} // namespace

LLVM::LLVMFunctionType sp::getRuntimeFunctionType(StringRef name,
                                                  MLIRContext *context) {
#define SP_RUNTIME_FUNCTION(result, function, parameters)                      \
  if (name == #function)                                                       \
    return Signature<decltype(::function)>::get(context);
#include "sp/Runtime/RuntimeFunctions.def"
  llvm_unreachable("not a function of the runtime");
}
