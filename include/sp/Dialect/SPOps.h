//===- SPOps.h - the ops of the sp dialect --------------------------------===//

#ifndef SP_DIALECT_SPOPS_H
#define SP_DIALECT_SPOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "sp/Dialect/SPDialect.h"
#include "sp/Dialect/SPInterfaces.h"

#define GET_OP_CLASSES
#include "sp/Dialect/SPOps.h.inc"

#endif // SP_DIALECT_SPOPS_H
