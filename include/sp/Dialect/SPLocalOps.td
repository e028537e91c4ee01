// The ops of localised programs: types have no layouts, so what the types said
// before stands in attributes.
#ifndef SP_DIALECT_SPLOCALOPS_TD
#define SP_DIALECT_SPLOCALOPS_TD

def SP_CollectiveKind : I32EnumAttr<"CollectiveKind", "the collectives", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">]> {
  let cppNamespace = "::sp";
  let genSpecializedAttr = 0;
}
def SP_CollectiveKindAttr : EnumAttr<SP_Dialect, SP_CollectiveKind, "kind">;

def SP_CollectiveOp : SP_Op<"collective"> {
  let summary = "a collective on local tensors";
  let description = [{
    What `all_reduce`, `reduce_scatter` and `all_gather` become in `sp-localize`:
    the sum over the ranks of `axis`, the sum split along `dim`, the parts joined
    along `dim`.

    ```mlir
    %1 = sp.collective all_gather %0 over "tp" dim 0 : tensor<8x2x64xf32> -> tensor<16x2x64xf32>
    ```

    Constraints:
    - (C1) operand and result have equal element types and ranks.
    - (C2) `all_reduce` has no `dim` and equal shapes; `reduce_scatter` and
      `all_gather` have a `dim`, along which the operand's extent is T times the
      result's, or the result's T times the operand's; other extents are equal.
  }];
  let arguments = (ins SP_CollectiveKindAttr:$kind, SP_Tensor:$input, StrAttr:$axis,
                       OptionalAttr<I64Attr>:$dim);
  let results = (outs Res<SP_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = [{
    `` $kind $input `over` $axis (`dim` $dim^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

class SP_LocalPartOp<string mnemonic> : SP_Op<mnemonic, [Pure]> {
  let arguments = (ins SP_Tensor:$input, StrAttr:$axis, I64Attr:$dim);
  let results = (outs SP_Tensor:$result);
  let assemblyFormat = [{
    $input `over` $axis `dim` $dim attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def SP_LocalSliceOp : SP_LocalPartOp<"local_slice"> {
  let summary = "this rank's part of a dimension";
  let description = [{
    What `slice` becomes in `sp-localize`.

    Constraints:
    - (C1) the operand's extent of `dim` is a multiple of the result's; all else is
      equal.
  }];
}

def SP_LocalZeroPadOp : SP_LocalPartOp<"local_zero_pad"> {
  let summary = "this rank's part of a dimension, zero elsewhere";
  let description = [{
    What `zero_pad` becomes in `sp-localize`.

    Constraints:
    - (C1) the result's extent of `dim` is a multiple of the operand's; all else is
      equal.
  }];
}

def SP_CheckTargetsOp : SP_Op<"check_targets", [AllTypesMatch<["targets", "result"]>]> {
  let summary = "fails at run time on a target that is no token";
  let description = [{
    Its result is its operand. A target that is neither in [0, `vocab`) nor
    `ignore_index` is an error that names it. Not pure: it is never erased.
  }];
  let arguments = (ins SP_IndexTensor:$targets, I64Attr:$vocab, I64Attr:$ignore_index);
  let results = (outs SP_IndexTensor:$result);
  let assemblyFormat = [{
    $targets `vocab` $vocab `ignore_index` $ignore_index attr-dict `:` type($targets)
  }];
}

def SP_PartTargetsOp : SP_Op<"part_targets"> {
  let summary = "the targets as columns of a rank's parts of the vocabulary";
  let description = [{
    Of the rank's `vocab` tokens, which begin where `layout` says, the last dimension
    of the result is P parts: `result[..., p]` is the target's column in part p, or -1
    if it is not in it. A target that is neither in the whole vocabulary nor
    `ignore_index`, which is in no part, is an error that names it. Not pure: it is
    never erased.

    Constraints:
    - (C1) the result has the targets' shape and one more dimension, whose extent
      divides `vocab`.
  }];
  let arguments = (ins SP_IndexTensor:$targets, I64Attr:$vocab, I64Attr:$ignore_index,
                       OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_IndexTensor:$result);
  let assemblyFormat = [{
    $targets `vocab` $vocab `ignore_index` $ignore_index (`layout` $layout^)? attr-dict
    `:` type($targets) `->` type($result)
  }];
  let hasVerifier = 1;
}

def SP_GemmOp : SP_Op<"gemm", [Pure]> {
  let summary = "a batch of matrix products";
  let description = [{
    `result[i] = lhs[i] rhs[i]`, plus `init[i]`, for i < batch: what a contraction
    becomes in `sp-form-gemms`. lhs[i] is [m,k], or [k,m] if `transpose_lhs`; rhs[i] is
    [k,n], or [n,k] if `transpose_rhs`; result[i] is [m,n]. Each operand holds its
    matrices one after another, whatever its shape.

    Constraints:
    - (C1) lhs, rhs and result have batch*m*k, batch*k*n and batch*m*n elements; init
      has the result's type.
    - (C2) all element types are equal.
  }];
  let arguments = (ins SP_FloatTensor:$lhs, SP_FloatTensor:$rhs,
                       Optional<SP_FloatTensor>:$init, I64Attr:$batch, I64Attr:$m,
                       I64Attr:$n, I64Attr:$k, UnitAttr:$transpose_lhs,
                       UnitAttr:$transpose_rhs);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs (`transposed` $transpose_lhs^)? `,` $rhs (`transposed` $transpose_rhs^)?
    (`plus` $init^)? `batch` $batch `m` $m `n` $n `k` $k attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Row kernels
//===----------------------------------------------------------------------===//

def SP_RowKernelOp : SP_Op<"row_kernel", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::sp::YieldOp">]> {
  let summary = "token-local work: scalar bodies over rows and columns";
  let description = [{
    Runs its body for every row and column of a [rows, cols] space, rows
    independently of each other. The body's arguments are the elements of the
    inputs, loaded at the linear offset that the input's map gives for (row, column);
    the terminator's operands are stored to the results at the offsets of the output
    maps. Within the body, `sp.row_reduce` combines a value over the columns of the
    row and gives the same scalar to every column, and `sp.col_index` is the column.
    Everything else is scalar `arith` and `math`.

    A value that does not depend on the column (a reduction's) may be stored by a map
    that ignores the column: it is stored once.

    ```mlir
    // y = x / sqrt(mean(x^2) + eps) * w
    %y = sp.row_kernel rows 32 cols 64
        ins(%x, %w : tensor<16x2x64xf32>, tensor<64xf32>)
        maps [affine_map<(r, c) -> (r * 64 + c)>, affine_map<(r, c) -> (c)>]
        outs [affine_map<(r, c) -> (r * 64 + c)>] to [0] : tensor<16x2x64xf32> {
      ^bb0(%a: f32, %b: f32):
        ...
        sp.yield %v : f32
    }
    ```

    Constraints:
    - (C1) one map per input and one body argument of its element type; each map is
      (row, column) -> one linear offset inside the tensor, for all rows and columns.
    - (C2) one output map per terminator operand; `output_results` names the result
      that each is stored to, of the same element type.
    - (C3) the body has only ops on scalars: `arith`, `math`, `sp.row_reduce`,
      `sp.col_index`.
    - (C4) an output map that ignores the column stores a value that does not depend
      on it.
  }];
  let arguments = (ins Variadic<SP_Tensor>:$inputs, I64Attr:$rows, I64Attr:$cols,
                       AffineMapArrayAttr:$input_maps, AffineMapArrayAttr:$output_maps,
                       DenseI64ArrayAttr:$output_results);
  let results = (outs Variadic<SP_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `rows` $rows `cols` $cols (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `maps` $input_maps `outs` $output_maps `to` $output_results
    attr-dict-with-keyword (`:` type($outputs)^)? $body
  }];
  let hasVerifier = 1;
}

def SP_ReduceKind : I32EnumAttr<"ReduceKind", "row reductions", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::sp";
  let genSpecializedAttr = 0;
}
def SP_ReduceKindAttr : EnumAttr<SP_Dialect, SP_ReduceKind, "reduce">;

def SP_RowReduceOp : SP_Op<"row_reduce", [Pure, HasParent<"::sp::RowKernelOp">,
                                          AllTypesMatch<["input", "result"]>]> {
  let summary = "combines a scalar over the columns of the row";
  let description = [{
    `max` propagates NaN. The order of the sum is fixed by the number of columns
    alone.
  }];
  let arguments = (ins SP_ReduceKindAttr:$kind, AnyTypeOf<[F32, F64]>:$input);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input)";
}

def SP_ColIndexOp : SP_Op<"col_index", [Pure, HasParent<"::sp::RowKernelOp">]> {
  let summary = "the column of the current element, as i64";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict";
}

def SP_YieldOp : SP_Op<"yield", [Pure, Terminator, HasParent<"::sp::RowKernelOp">]> {
  let summary = "the values that a row kernel stores";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif // SP_DIALECT_SPLOCALOPS_TD
