#ifndef SP_DIALECT_SPINTERFACES_TD
#define SP_DIALECT_SPINTERFACES_TD

include "mlir/IR/OpBase.td"

def LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::sp";
  let description = [{
    States how layouts go through an op, along one mesh axis at a time. Most ops
    state only their `LayoutRule`; layout changes and constants, whose results do
    not follow from their operands, verify themselves.
  }];
  let methods = [
    InterfaceMethod<"The factors of the op's dimensions.",
      "::sp::LayoutRule", "getLayoutRule", (ins)>,
    InterfaceMethod<[{
        True if the op is linear in the given operands taken together, all others
        held fixed: f(x + y) = f(x) + f(y). Only then may they be partial.
      }],
      "bool", "isLinearIn", (ins "const ::llvm::SmallBitVector &":$operands),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{ return false; }]>,
    InterfaceMethod<"False if the result does not depend on the operand.",
      "bool", "dependsOn", (ins "unsigned":$result, "unsigned":$operand),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{ return true; }]>,
    InterfaceMethod<[{
        Computes the results' layouts along `axis` from the operands', or emits an
        error that names the operand, the layouts and the fix.
      }],
      "::mlir::LogicalResult", "inferLayouts",
      (ins "::mlir::StringRef":$axis,
           "::mlir::ArrayRef<::sp::AxisLayout>":$operands,
           "::mlir::SmallVectorImpl<::sp::AxisLayout> &":$results),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{
        return ::sp::detail::inferLayoutsByRule($_op, axis, operands, results);
      }]>,
    InterfaceMethod<"Checks the results' layouts against the operands'.",
      "::mlir::LogicalResult", "verifyLayouts",
      (ins "::mlir::StringRef":$axis,
           "::mlir::ArrayRef<::sp::AxisLayout>":$operands,
           "::mlir::ArrayRef<::sp::AxisLayout>":$results),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{
        return ::sp::detail::verifyLayoutsByInference($_op, axis, operands, results);
      }]>,
  ];
}

def AdjointOpInterface : OpInterface<"AdjointOpInterface"> {
  let cppNamespace = "::sp";
  let description = [{
    An op's adjoint: what the cotangents of its results contribute to those of its
    operands. A cotangent has its value's type with the dual layout along each axis
    (`getCotangentType`).
  }];
  let methods = [
    InterfaceMethod<[{
        Adds the contributions to the operands that `adjoint` says are needed; at
        least one result has a cotangent. Or emits an error that says which operand
        has no adjoint.
      }],
      "::mlir::LogicalResult", "emitAdjoint", (ins "::sp::AdjointEmitter &":$adjoint)>,
    InterfaceMethod<"False for a result that is piecewise constant.",
      "bool", "isDifferentiable", (ins "unsigned":$result),
      /*methodBody=*/[{}], /*defaultImplementation=*/[{ return true; }]>,
  ];
}

#endif // SP_DIALECT_SPINTERFACES_TD
