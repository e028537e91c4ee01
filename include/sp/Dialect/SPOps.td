#ifndef SP_DIALECT_SPOPS_TD
#define SP_DIALECT_SPOPS_TD

include "sp/Dialect/SPDialect.td"
include "sp/Dialect/SPInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class SP_Op<string mnemonic, list<Trait> traits = []>
    : Op<SP_Dialect, mnemonic, traits>;

def SP_FloatTensor : StaticShapeTensorOf<[F32, F64, BF16]>;
def SP_IndexTensor : StaticShapeTensorOf<[I64]>;
def SP_Tensor : StaticShapeTensorOf<[F32, F64, BF16, I64]>;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

def SP_MeshOp : SP_Op<"mesh", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "the mesh of ranks: named axes and their sizes";
  let description = [{
    A module has at most one mesh. Layouts name its axes; ranks are numbered
    row-major in the order of the axes.

    ```mlir
    sp.mesh @mesh <tp = 2>
    ```

    An axis can be split into sub-axes, the first of them the major one. A layout
    names the axis, or, where they differ, its parts:

    ```mlir
    sp.mesh @mesh <tp = 8, tp.kv = 4, tp.rep = 2>
    tensor<64x96xf32, #sp.layout<tp.kv = shard(0), tp.rep = replicate>>
    ```

    Constraints:
    - (C1) there is at least one axis, and every axis has a name and a size of at
      least 1.
    - (C2) axis names are unique.
    - (C3) the sub-axes of an axis follow it, and their sizes multiply to its size.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axis_names,
                       DenseI64ArrayAttr:$axis_sizes);
  let assemblyFormat = [{
    $sym_name custom<MeshAxes>($axis_names, $axis_sizes) attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The mesh of `module`; null if there is none.
    static MeshOp lookup(::mlir::ModuleOp module);
    /// The size of `axis`; 0 if the mesh has no such axis.
    int64_t getAxisSize(::mlir::StringRef axis);
    /// The number of `axis` in mesh order; -1 if the mesh has no such axis.
    int64_t getAxisIndex(::mlir::StringRef axis);
    /// The axis names in mesh order, sub-axes after their axis.
    ::llvm::SmallVector<::mlir::StringAttr> getAxes();
    /// Those that are not split.
    ::llvm::SmallVector<::mlir::StringAttr> getLeafAxes();
    /// How far apart two ranks are that are neighbours on `axis`.
    int64_t getAxisStride(::mlir::StringRef axis);
  }];
}

//===----------------------------------------------------------------------===//
// Layout changes
//===----------------------------------------------------------------------===//

// A layout change has no attributes: the two types say everything. Collectives
// allocate their own result, so that a dead one can be erased, but none can be
// merged, hoisted or sunk; `copy`, `slice` and `zero_pad` do not communicate and
// are pure.
class SP_LayoutChangeOp<string mnemonic, list<Trait> traits>
    : SP_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<LayoutOpInterface,
                                  ["inferLayouts", "verifyLayouts", "isLinearIn"]>,
        DeclareOpInterfaceMethods<AdjointOpInterface>]> {
  let arguments = (ins SP_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The mesh axis along which the layout changes.
    ::mlir::StringAttr getAxis();
    /// The layouts before and after along `getAxis()`.
    ::sp::AxisLayout getFrom();
    ::sp::AxisLayout getTo();
  }];
}

class SP_LocalLayoutChangeOp<string mnemonic>
    : SP_LayoutChangeOp<mnemonic, [Pure]> {
  let results = (outs SP_Tensor:$result);
}

class SP_CollectiveLayoutChangeOp<string mnemonic>
    : SP_LayoutChangeOp<mnemonic, []> {
  let results = (outs Res<SP_Tensor, "", [MemAlloc]>:$result);
}

def SP_CopyOp : SP_LocalLayoutChangeOp<"copy"> {
  let summary = "invariant -> replicate: the value enters rank-specific work";
  let description = [{
    Moves nothing. The adjoint is `all_reduce`: each rank's cotangent is only its
    contribution.

    Constraints:
    - (C1) operand and result differ in the layout of exactly one axis, and in
      nothing else.
    - (C2) along that axis: invariant -> replicate.
  }];
}

def SP_SliceOp : SP_LocalLayoutChangeOp<"slice"> {
  let summary = "invariant or replicate -> shard(d): each rank keeps its part";
  let description = [{
    Rank r keeps rows r*N/T to (r+1)*N/T of dimension d. The adjoint is `all_gather`
    for an invariant operand and `zero_pad` for a replicate one.

    Constraints:
    - (C1) operand and result differ in the layout of exactly one axis, and in
      nothing else.
    - (C2) along that axis: invariant or replicate -> shard(d).
  }];
}

def SP_ZeroPadOp : SP_LocalLayoutChangeOp<"zero_pad"> {
  let summary = "shard(d) -> partial: each rank's part, zero elsewhere";
  let description = [{
    The adjoint of `slice` on a replicate operand.

    Constraints:
    - (C1) operand and result differ in the layout of exactly one axis, and in
      nothing else.
    - (C2) along that axis: shard(d) -> partial.
  }];
}

def SP_AllReduceOp : SP_CollectiveLayoutChangeOp<"all_reduce"> {
  let summary = "partial -> invariant: the sum over the ranks, on every rank";
  let description = [{
    The adjoint is `copy`.

    Constraints:
    - (C1) operand and result differ in the layout of exactly one axis, and in
      nothing else.
    - (C2) along that axis: partial -> invariant.
  }];
}

def SP_ReduceScatterOp : SP_CollectiveLayoutChangeOp<"reduce_scatter"> {
  let summary = "partial -> shard(d): the sum over the ranks, split along d";
  let description = [{
    The adjoint is `all_gather` to replicate.

    Constraints:
    - (C1) operand and result differ in the layout of exactly one axis, and in
      nothing else.
    - (C2) along that axis: partial -> shard(d).
  }];
}

def SP_AllGatherOp : SP_CollectiveLayoutChangeOp<"all_gather"> {
  let summary = "shard(d) -> replicate or invariant: the ranks' parts, joined";
  let description = [{
    To replicate at the entry of rank-specific work: the adjoint is
    `reduce_scatter`. To invariant before work that every rank does alike: the
    adjoint is `slice`. (Taking one for the other scales gradients by T; the result
    type says which it is, and the verifier rejects the wrong one.)

    Constraints:
    - (C1) operand and result differ in the layout of exactly one axis, and in
      nothing else.
    - (C2) along that axis: shard(d) -> replicate or invariant.
  }];
}

//===----------------------------------------------------------------------===//
// Transformer ops
//===----------------------------------------------------------------------===//

class SP_ComputeOp<string mnemonic, list<string> overrides = [],
                   list<Trait> traits = []>
    : SP_Op<mnemonic, traits # [Pure,
        DeclareOpInterfaceMethods<LayoutOpInterface, overrides>]> {
  let hasVerifier = 1;
}

class SP_DifferentiableOp<string mnemonic, list<string> overrides = [],
                          list<string> adjointOverrides = []>
    : SP_ComputeOp<mnemonic, overrides, [
        DeclareOpInterfaceMethods<AdjointOpInterface, adjointOverrides>]>;

def SP_EmbeddingOp : SP_DifferentiableOp<"embedding"> {
  let summary = "looks up token rows of a table, sequence-major";
  let description = [{
    `result[s, b, :] = table[ids[b, s], :]`. Shapes: ids [B,S], table [V,H],
    result [S,B,H]. A token id outside [0, V) is an error at run time.

    A lookup is a product with a one-hot matrix, so with the table sharded on V the
    result is partial: a rank has zeros for the tokens of the others. `sp-localize`
    records the table's layout in `layout`, so that a rank knows which rows it has.

    Constraints:
    - (C1) ids, table and result have ranks 2, 2 and 3, and shapes [B,S], [V,H]
      and [S,B,H].
    - (C2) table and result have the same element type.
    - (C3) `layout` shards dimensions that the table has.
  }];
  let arguments = (ins SP_IndexTensor:$ids, SP_FloatTensor:$table,
                       OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $ids `,` $table (`layout` $layout^)? attr-dict `:` functional-type(operands, results)
  }];
}

def SP_RMSNormOp : SP_DifferentiableOp<"rms_norm"> {
  let summary = "root-mean-square normalisation of the last dimension";
  let description = [{
    `result = input / sqrt(mean(input^2) + eps) * weight`, the mean over the last
    dimension. Shapes: input [...,H], weight [H], result [...,H].

    Constraints:
    - (C1) input and result have the same shape, and weight has the shape of the
      last dimension.
    - (C2) all element types are equal, but the weight of bf16 data may be f32.
    - (C3) `eps` is not negative.
    - (C4) the last dimension must not be sharded.
  }];
  let arguments = (ins SP_FloatTensor:$input, SP_FloatTensor:$weight, F64Attr:$eps);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight `eps` $eps attr-dict `:` functional-type(operands, results)";
}

def SP_LinearOp : SP_DifferentiableOp<"linear", ["isLinearIn"]> {
  let summary = "a linear layer: input times the transposed weight, plus bias";
  let description = [{
    `result[..., n] = sum_k input[..., k] * weight[n, k] + bias[n]`. Shapes: input
    [...,K], weight [N,K] (PyTorch's order), bias [N], result [...,N].

    With weight sharded on N the result is sharded on its last dimension (column
    parallel); with K sharded on input and weight the result is partial (row
    parallel), and then there must be no bias, which would be added T times.

    Constraints:
    - (C1) the shapes are [...,K], [N,K], [N] and [...,N].
    - (C2) all element types are equal.
    - (C3) a row-parallel linear has no bias.
  }];
  let arguments = (ins SP_FloatTensor:$input, SP_FloatTensor:$weight,
                       Optional<SP_FloatTensor>:$bias);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)
  }];
}

def SP_BiasAddOp : SP_DifferentiableOp<"bias_add", ["isLinearIn"]> {
  let summary = "adds a vector to every row";
  let description = [{
    `result[..., n] = input[..., n] + bias[n]`. Where a row-parallel linear gets its
    bias: after the reduction.

    Constraints:
    - (C1) the shapes are [...,N], [N] and [...,N].
    - (C2) all element types are equal.
  }];
  let arguments = (ins SP_FloatTensor:$input, SP_FloatTensor:$bias);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$input `,` $bias attr-dict `:` functional-type(operands, results)";
}

def SP_ScaleOp : SP_DifferentiableOp<"scale", ["isLinearIn"]> {
  let summary = "multiplies by a constant; also a partial value";
  let description = [{
    `result = factor * input`. (`arith.mulf` with a constant would need a partial
    constant, whose sum over the ranks is T times what it says.)

    Constraints:
    - (C1) input and result have the same shape and element type.
  }];
  let arguments = (ins SP_FloatTensor:$input, F64Attr:$factor);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` functional-type(operands, results)";
}

def SP_MulOp : SP_DifferentiableOp<"mul", ["isLinearIn"]> {
  let summary = "the elementwise product, of which one factor may be partial";
  let description = [{
    `result = lhs * rhs`. (`arith.mulf` demands equal types, but the cotangent of a
    replicated value is partial.)

    Constraints:
    - (C1) operands and result have the same shape and element type.
  }];
  let arguments = (ins SP_FloatTensor:$lhs, SP_FloatTensor:$rhs);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def SP_SumLeadingOp : SP_DifferentiableOp<"sum_leading", ["isLinearIn"]> {
  let summary = "the sum over the leading dimensions";
  let description = [{
    `result[j...] = sum over the first `count` indices of input[i..., j...]`: the
    adjoint of a broadcast, such as a bias's. Over all of them it makes a loss.

    Constraints:
    - (C1) result has the input's last dimensions, all but `count` of them.
    - (C2) the element types are equal.
  }];
  let arguments = (ins SP_FloatTensor:$input, I64Attr:$count);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$input `count` $count attr-dict `:` functional-type(operands, results)";
}

def SP_BroadcastLeadingOp : SP_DifferentiableOp<"broadcast_leading",
    ["isLinearIn", "inferLayouts"]> {
  let summary = "the same value for every index of new leading dimensions";
  let description = [{
    `result[i..., j...] = input[j...]`, with `count` new dimensions: the adjoint of
    `sum_leading`.

    Constraints:
    - (C1) input has the result's last dimensions, all but `count` of them.
    - (C2) the element types are equal.
    - (C3) of a replicate input, which every rank has, the result may be a shard of
      one of the new dimensions; else the layout goes through.
  }];
  let arguments = (ins SP_FloatTensor:$input, I64Attr:$count);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$input `count` $count attr-dict `:` functional-type(operands, results)";
}

def SP_RopeTableOp : SP_ComputeOp<"rope_table", ["verifyLayouts"]> {
  let summary = "the cosines and sines of rotary position embedding";
  let description = [{
    `cos[p, i] = cos(p * theta^(-2i/D))`, `sin` alike, for positions p of the whole
    sequence and i < D/2 (Su et al., RoFormer, arXiv:2104.09864, eq. 15). Shapes:
    [S,D/2]. Each rank of a sequence shard takes its rows with `sp.slice`.

    Constraints:
    - (C1) both results have the same type, of rank 2.
    - (C2) `theta` is positive.
    - (C3) the results are invariant.
  }];
  let arguments = (ins F64Attr:$theta);
  let results = (outs SP_FloatTensor:$cos, SP_FloatTensor:$sin);
  let assemblyFormat = "`theta` $theta attr-dict `:` type($cos) `,` type($sin)";
}

def SP_RopeOp : SP_DifferentiableOp<"rope", ["isLinearIn"]> {
  let summary = "rotary position embedding of every head";
  let description = [{
    Rotates the pairs (i, i + D/2) of the last dimension by the row of the table that
    belongs to the position:
    `y1 = x1 * cos - x2 * sin`, `y2 = x2 * cos + x1 * sin`; `inverse` rotates back, which
    is the adjoint. Shapes: input and result [S,B,heads,D], cos and sin [S,D/2].

    Constraints:
    - (C1) the shapes are [S,B,heads,D] with an even D, [S,D/2], [S,D/2].
    - (C2) all element types are equal.
    - (C3) D must not be sharded; where S is, the table is sharded alike.
  }];
  let arguments = (ins SP_FloatTensor:$input, SP_FloatTensor:$cos, SP_FloatTensor:$sin,
                       UnitAttr:$inverse);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$input `,` $cos `,` $sin (`inverse` $inverse^)? attr-dict `:` functional-type(operands, results)";
}

def SP_AttentionOp : SP_DifferentiableOp<"attention", ["isLinearIn", "inferLayouts"]> {
  let summary = "scaled dot-product attention, grouped-query, causal or not";
  let description = [{
    `softmax(q k^T * scale + mask) v` for every batch and head; query head h reads
    key/value head h / (heads / kv_heads). Shapes: q and result [S,B,heads,D], k and
    v [S,B,kv_heads,D].

    `dropout` zeroes each probability with that probability and scales the others, as
    `sp.dropout` of `op_id` would at (batch, head, query position, key position).
    `sp-localize` records the layout of the heads in `layout`, so that a rank knows
    the global numbers of its heads.

    Constraints:
    - (C1) the shapes are as above, and kv_heads divides heads.
    - (C2) all element types are equal.
    - (C3) heads may be sharded, for q, k and v alike; S and D must not.
    - (C4) 0 <= `dropout` < 1, and with it there is an `op_id`; `layout` shards
      dimensions that the result has.
  }];
  let arguments = (ins SP_FloatTensor:$query, SP_FloatTensor:$key, SP_FloatTensor:$value,
                       F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<F64Attr>:$dropout, OptionalAttr<I64Attr>:$op_id,
                       OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value `scale` $scale (`causal` $causal^)?
    (`dropout` $dropout^ `op_id` $op_id)? (`layout` $layout^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def SP_SwiGLUOp : SP_DifferentiableOp<"swiglu", ["isLinearIn"]> {
  let summary = "the gated activation silu(gate) * up";
  let description = [{
    `result = gate / (1 + exp(-gate)) * up` (Shazeer, arXiv:2002.05202).

    Constraints:
    - (C1) gate, up and result have the same shape and element type.
  }];
  let arguments = (ins SP_FloatTensor:$gate, SP_FloatTensor:$up);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$gate `,` $up attr-dict `:` functional-type(operands, results)";
}

def SP_DropoutOp : SP_DifferentiableOp<"dropout", ["isLinearIn"]> {
  let summary = "zeroes elements with probability p, scales the others by 1/(1-p)";
  let description = [{
    The mask is a counter-based function (Philox 4x32-10) of the run's seed and
    step, of `op_id` and of the element's global coordinates: the same for every
    number of ranks and every layout, and no pass can merge two dropouts, whose
    `op_id`s differ.

    `sp-localize` records the layout of the shard in `layout`, so that a rank knows
    the global coordinates of its elements.

    Constraints:
    - (C1) input and result have the same shape and element type.
    - (C2) 0 <= `p` < 1.
    - (C3) the rank is at most 4.
    - (C4) `layout` shards dimensions that the tensor has.
  }];
  let arguments = (ins SP_FloatTensor:$input, F64Attr:$p, I64Attr:$op_id,
                       OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $input `p` $p `op_id` $op_id (`layout` $layout^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def SP_ShiftLabelsOp : SP_ComputeOp<"shift_labels"> {
  let summary = "next-token targets, sequence-major";
  let description = [{
    `result[s, b] = labels[b, s + 1]`, and `ignore_index` at the last position.
    Shapes: labels [B,S], result [S,B].

    Constraints:
    - (C1) the shapes are [B,S] and [S,B].
    - (C2) S must not be sharded: the shift crosses the border of a shard.
  }];
  let arguments = (ins SP_IndexTensor:$labels, I64Attr:$ignore_index);
  let results = (outs SP_IndexTensor:$result);
  let assemblyFormat = [{
    $labels `ignore_index` $ignore_index attr-dict `:` functional-type(operands, results)
  }];
}

def SP_CrossEntropyOp : SP_DifferentiableOp<"cross_entropy", ["dependsOn"], ["isDifferentiable"]> {
  let summary = "the sum of the token losses, and the number of valid tokens";
  let description = [{
    `loss_sum = sum over (s, b) with targets[s, b] != ignore_index of
    log(sum_v exp(logits[s, b, v])) - logits[s, b, targets[s, b]]`, and `count` the
    number of such (s, b). The mean is loss_sum / max(count, 1): 0 when every token
    is ignored. Shapes: logits [S,B,V], targets [S,B], results []. Sums are
    accumulated in f64; the results are f64 for f64 logits and f32 otherwise. A
    target that is neither in [0, V) nor `ignore_index` is an error at run time.

    Constraints:
    - (C1) the shapes are [S,B,V], [S,B], [] and [].
    - (C2) the results are f64 for f64 logits, else f32.
    - (C3) the vocabulary must not be sharded.
  }];
  let arguments = (ins SP_FloatTensor:$logits, SP_IndexTensor:$targets,
                       I64Attr:$ignore_index);
  let results = (outs SP_FloatTensor:$loss_sum, SP_FloatTensor:$count);
  let assemblyFormat = [{
    $logits `,` $targets `ignore_index` $ignore_index attr-dict
    `:` functional-type(operands, results)
  }];
}

def SP_CrossEntropyPartsOp : SP_DifferentiableOp<"cross_entropy_parts"> {
  let summary = "what each part of the vocabulary contributes to the token losses";
  let description = [{
    For each of P equal, contiguous parts of the vocabulary and each token,
    `result[p, s, b, 0] = log(sum over v in part p of exp(logits[s, b, v]))` and
    `result[p, s, b, 1] = logits[s, b, targets[s, b]]` if the target is in part p, else
    0, as it is for `ignore_index`. `cross_entropy_join` makes the loss of them. So
    with the vocabulary sharded, and the parts with it, a rank's share of the logits
    never leaves it, and two numbers per token and rank do. Accumulated, and checked
    at run time, as in `cross_entropy`.

    Shapes: logits [S,B,V], targets [S,B], result [P,S,B,2]. `sp-localize` records the
    logits' layout in `layout`, so that a rank knows which tokens its columns are.

    Constraints:
    - (C1) the shapes are as above, and P divides V.
    - (C2) the result is f64 for f64 logits, else f32.
    - (C3) `layout` shards dimensions that the logits have.
  }];
  let arguments = (ins SP_FloatTensor:$logits, SP_IndexTensor:$targets,
                       I64Attr:$ignore_index, OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $logits `,` $targets `ignore_index` $ignore_index (`layout` $layout^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def SP_CrossEntropyJoinOp : SP_DifferentiableOp<"cross_entropy_join", ["dependsOn"], ["isDifferentiable"]> {
  let summary = "the cross entropy, from parts of the vocabulary";
  let description = [{
    `loss_sum = sum over (s, b) with targets[s, b] != ignore_index of
    log(sum_p exp(parts[p, s, b, 0])) - sum_p parts[p, s, b, 1]`, and `count` the number
    of such (s, b): of what `cross_entropy_parts` gives, the results of
    `cross_entropy`. Shapes: parts [P,S,B,2], targets [S,B], results [].

    Constraints:
    - (C1) the shapes are as above.
    - (C2) parts and results have the same element type, f32 or f64.
    - (C3) the parts must not be sharded: each token needs them all.
  }];
  let arguments = (ins SP_FloatTensor:$parts, SP_IndexTensor:$targets,
                       I64Attr:$ignore_index);
  let results = (outs SP_FloatTensor:$loss_sum, SP_FloatTensor:$count);
  let assemblyFormat = [{
    $parts `,` $targets `ignore_index` $ignore_index attr-dict
    `:` functional-type(operands, results)
  }];
}

def SP_PadOp : SP_DifferentiableOp<"pad", ["isLinearIn"]> {
  let summary = "more of one dimension, behind what is there";
  let description = [{
    What comes behind repeats the last element along `dim`, or is `fill`.

    Constraints:
    - (C1) input and result have the same shape, but for `dim`, of which the result has
      at least as much as the input, and that at least 1.
    - (C2) the element types are equal.
    - (C3) `dim` must not be sharded.
    - (C4) floating point numbers are filled with 0 only.
  }];
  let arguments = (ins SP_Tensor:$input, I64Attr:$dim, OptionalAttr<I64Attr>:$fill);
  let results = (outs SP_Tensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim (`fill` $fill^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def SP_UnpadOp : SP_DifferentiableOp<"unpad", ["isLinearIn"]> {
  let summary = "the first part of one dimension";
  let description = [{
    What is behind it is dropped, or, with `fold`, added to the last element along
    `dim` that stays: the adjoints of `pad` that fills with zeros and that repeats.

    Constraints:
    - (C1) as those of `pad`, with input and result exchanged.
    - (C2) the element types are equal.
    - (C3) `dim` must not be sharded.
    - (C4) with `fold` the elements are floating point numbers.
  }];
  let arguments = (ins SP_Tensor:$input, I64Attr:$dim, UnitAttr:$fold);
  let results = (outs SP_Tensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim (`fold` $fold^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def SP_BatchMajorOp : SP_DifferentiableOp<"batch_major", ["isLinearIn"]> {
  let summary = "[S,B,...] -> [B,S,...]: the exit from sequence-major order";
  let description = [{
    `result[b, s, ...] = input[s, b, ...]`.

    Constraints:
    - (C1) the first two dimensions of input and result are swapped, the others and
      the element type are equal.
  }];
  let arguments = (ins SP_Tensor:$input);
  let results = (outs SP_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def SP_OptimizationBarrierOp
    : SP_ComputeOp<"optimization_barrier", ["isLinearIn"], [SameOperandsAndResultType]> {
  let summary = "the same value, behind which nothing is merged with what is before";
  let description = [{
    What the backward pass recomputes is equal to what the forward pass computed, and
    a pass that merges equal ops would keep the first one's result alive for it. So
    recomputed ops read what was saved through a barrier. Moves nothing, and has no
    adjoint: it is made after differentiation.
  }];
  let arguments = (ins SP_Tensor:$input);
  let results = (outs SP_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 0;
}

include "sp/Dialect/SPGradOps.td"
include "sp/Dialect/SPLocalOps.td"

#endif // SP_DIALECT_SPOPS_TD
