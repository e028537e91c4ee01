// The sp dialect: layouts as tensor encodings, layout changes, the ops of a Transformer block.
#ifndef SP_DIALECT_SPDIALECT_TD
#define SP_DIALECT_SPDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

def SP_Dialect : Dialect {
  let name = "sp";
  let cppNamespace = "::sp";
  let summary = "Tensor- and sequence-parallel Transformers";
  let description = [{
    Tensors keep their global shape until `sp-localize`. What each rank of a mesh
    axis holds is the tensor type's encoding, a layout:

    | layout on an axis | each rank holds | the cotangent's layout |
    |---|---|---|
    | invariant (no encoding) | the same full value | invariant |
    | `replicate` | the same full value, used for rank-specific work | `partial` |
    | `shard(d)` | its contiguous 1/T of dimension d | `shard(d)` |
    | `partial` | a summand of the value | `replicate` |

    A layout changes only through the layout-change ops (`sp.copy`,
    `sp.all_reduce`, `sp.reduce_scatter`, `sp.all_gather`, `sp.slice`,
    `sp.zero_pad`). Every other op states in a `LayoutRule` how layouts go through
    it, and `sp-verify-layouts` denies by default: an op without a rule must not
    touch a tensor with a layout.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def SP_LayoutAttr : AttrDef<SP_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "what each rank of the named mesh axes holds of a tensor";
  let description = [{
    Maps mesh axes to `replicate`, `shard(d)` or `partial`; an axis that is not named
    is invariant. The form is canonical: at least one axis, none named twice, and no
    dimension sharded by two axes; the order is the mesh's (checked where the mesh is
    known, by `sp-verify-layouts`).

    ```mlir
    tensor<16x2x64xf32, #sp.layout<tp = shard(0)>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::sp::AxisEntry">:$entries);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout along `axis`; invariant if the axis is not named.
    ::sp::AxisLayout getAxis(::mlir::StringRef axis) const;
  }];
}

#endif // SP_DIALECT_SPDIALECT_TD
