#ifndef SP_TRANSFORMS_PASSES_TD
#define SP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SPVerifyLayouts : Pass<"sp-verify-layouts", "::mlir::ModuleOp"> {
  let summary = "checks every layout in a module; denies by default";
  let description = [{
    Runs between the phases of every pipeline.

    Constraints:
    - (C1) layouts name only axes of the module's mesh, in mesh order.
    - (C2) a sharded dimension is divisible by its axis's size.
    - (C3) an op that touches a tensor with a layout has a layout rule, and its
      operands and results obey it, along each axis.
    - (C4) function arguments and results are invariant or sharded, never
      replicate or partial; other block arguments are invariant; no layout is hidden
      inside another type or encoding.
    - (C5) a module, with the modules in it, has at most one mesh.
    - (C6) the ops of localised programs, a dropout's `layout` and `sp.layout`
      attributes stand only in localised functions (they would give each rank its
      own value under an invariant type), and layouts only in others.
  }];
}

def SPTensorParallel : Pass<"sp-tensor-parallel", "::mlir::ModuleOp"> {
  let summary = "shards linears and what lies between them along a mesh axis";
  let description = [{
    Finds the regions that a column-parallel linear opens and a row-parallel linear
    closes: from the input of each linear with a parameter as weight, walks back
    along the feature dimension, by the ops' layout rules, through everything that
    can carry a shard of it, until it meets only linears with parameters as weights.
    The weights of the opening linears are then sharded on their outputs, the
    closing one's on its inputs; `sp.copy` stands at each opening linear and on
    every invariant value used inside, `sp.all_reduce` after the closing one, and a
    row-parallel bias moves behind it. No name or attribute is consulted.

    Constraints:
    - (C1) the module is unsharded: no layouts, no mesh.
    - (C2) every sharded dimension is divisible by the axis's size; what does not
      divide is named.
    - (C3) `tp` is at least 1.
  }];
  let options = [
    Option<"size", "tp", "int64_t", "1", "number of tensor-parallel ranks">,
    Option<"axis", "axis", "std::string", /*default=*/"\"tp\"", "name of the mesh axis">,
  ];
  let statistics = [
    Statistic<"numRegions", "regions", "tensor-parallel regions">,
    Statistic<"numColumn", "column-linears", "column-parallel linears">,
    Statistic<"numRow", "row-linears", "row-parallel linears">,
  ];
}

def SPSequenceParallel : Pass<"sp-sequence-parallel", "::mlir::ModuleOp"> {
  let summary = "runs the work between tensor-parallel regions on sequence shards";
  let description = [{
    Labels every token-local op between the tensor-parallel regions: it runs
    replicated, or on the rank's shard of the sequence. A change of label costs
    communication, once per value; a replicated value costs memory and duplicated
    work. Two labels with such costs make it a minimum cut, solved exactly; memory
    comes first, then bytes sent. Then each `all_reduce` whose result is sharded
    becomes a `reduce_scatter`, each `copy` of a sharded value an `all_gather`, and
    `slice` and `all_gather` stand at the borders.

    Token-local is what the layout rules allow to be sharded along the sequence
    dimension, except lookups (`sp.embedding`) and linears with an invariant weight
    (whose gradient sum would be weight-sized). The sequence is dimension 0 of what
    the tensor-parallel regions reduce (hidden states are sequence-major); from
    there the rules carry it through the program.

    Constraints:
    - (C1) the module is tensor-parallel along the axis.
    - (C2) the sequence length is divisible by the axis's size.
    - (C3) with `require-all`, every `all_reduce` is split.
  }];
  let options = [
    Option<"axis", "axis", "std::string", /*default=*/"\"tp\"", "name of the mesh axis">,
    Option<"requireAll", "require-all", "bool", "false",
           "fail if an all_reduce is not split">,
  ];
  let statistics = [
    Statistic<"numSplit", "split", "all-reduces split">,
    Statistic<"numKept", "kept", "all-reduces kept">,
    Statistic<"numShardedOps", "sharded-ops", "ops on the sequence shard">,
  ];
}

def SPOptimizeCollectives : Pass<"sp-optimize-collectives", "::mlir::ModuleOp"> {
  let summary = "merges equal layout changes: one gather for Q/K/V, one for gate/up";
  let description = [{
    Layout changes of one value to one type become one. Nothing else may merge
    them: without this pass the textbook form stands, one all-gather per
    column-parallel linear.
  }];
  let statistics = [Statistic<"numMerged", "merged", "layout changes merged">];
}

def SPLocalize : Pass<"sp-localize", "::mlir::ModuleOp"> {
  let summary = "global shapes and layouts become local shapes and collectives";
  let description = [{
    Every tensor gets the shape that one rank holds; layout changes become
    `sp.collective`, `sp.local_slice` and `sp.local_zero_pad`; `copy` disappears.
    Arguments and results keep their layout in `sp.layout`, so that files can be
    sliced and gathered; the function keeps its collectives in order in
    `sp.collectives`, so that later passes can be checked to preserve them.

    Constraints:
    - (C1) the module obeys `sp-verify-layouts`.
  }];
}

def SPVerifyCollectives : Pass<"sp-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "checks that later passes preserve the recorded collectives";
  let description = [{
    Runs after every pass that follows `sp-localize`.

    Constraints:
    - (C1) the function has the collectives of its `sp.collectives`, in order, of the
      same kind, axis, dimension and type, and reached by the same arguments and
      collectives; so are its results.
  }];
}

#endif // SP_TRANSFORMS_PASSES_TD
