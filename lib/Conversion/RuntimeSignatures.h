//===- RuntimeSignatures.h - the runtime's functions as LLVM types --------===//

#ifndef SP_LIB_CONVERSION_RUNTIMESIGNATURES_H
#define SP_LIB_CONVERSION_RUNTIMESIGNATURES_H

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"

namespace sp {

/// The type of a function of RuntimeFunctions.def, read off its declaration.
mlir::LLVM::LLVMFunctionType getRuntimeFunctionType(llvm::StringRef name,
                                                    mlir::MLIRContext *context);

} // namespace sp

#endif // SP_LIB_CONVERSION_RUNTIMESIGNATURES_H
