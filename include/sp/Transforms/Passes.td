#ifndef SP_TRANSFORMS_PASSES_TD
#define SP_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SPVerifyLayouts : Pass<"sp-verify-layouts", "::mlir::ModuleOp"> {
  let summary = "checks every layout in a module; denies by default";
  let description = [{
    Runs between the phases of every pipeline.

    Constraints:
    - (C1) layouts name only axes of the module's mesh, in mesh order, and an axis
      rather than all its parts if these are alike.
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
    - (C7) a gradient (`grad.NAME`) has the type of its parameter, and so has the new
      value of a parameter or state: a gradient that is still a summand on each rank
      does not leave.
  }];
}

def SPTensorParallel : Pass<"sp-tensor-parallel", "::mlir::ModuleOp"> {
  let summary = "shards projections and what lies between them along a mesh axis";
  let description = [{
    A projection is a contraction of an activation with a parameter: an `sp.linear`,
    a `linalg.matmul`, a `linalg.generic` that does the same. Finds the regions that
    column-parallel projections open and row-parallel ones close: from the activation
    of each projection, walks back along what it sums over, by the ops' layout rules,
    through everything that can carry a shard of it, until it meets only parameters.
    The weights of the opening projections are then sharded on their outputs, the
    closing one's on what it sums over, other parameters (a column-parallel bias) alike.
    With more ranks than key/value heads, the axis is split: key/value heads and their
    weights are sharded on `AXIS.kv`, and each of them is the same on the ranks of
    `AXIS.rep`. A single one is every rank's: what makes it of the region's input is
    done by every rank, with copies of its weights.

    `sp.copy` stands at each opening projection and on every invariant value used inside, `sp.all_reduce` after the closing one, and what the closing one adds (a
    bias, the init of a `linalg` op) moves behind it. No name or attribute is consulted,
    except that an argument that is an `sp.input` is no parameter.

    With `head=vocab` the linear that gives the logits is column-parallel, too: from the
    logits of each `sp.cross_entropy`, and from results, the same search finds what can
    carry a shard of the vocabulary. The loss becomes `sp.cross_entropy_parts` on each
    rank's logits, one `sp.all_gather` of two numbers per token and rank, whose
    adjoint sends nothing, and `sp.cross_entropy_join`. Where the head's weight is the
    embedding's table as well, the lookup gives a partial sum, with an `sp.all_reduce`
    after it. Logits that are a result leave as a shard. A head that cannot be sharded
    stays whole, and a remark says why.

    Constraints:
    - (C1) the module is unsharded: no layouts, no mesh.
    - (C2) every sharded dimension is divisible by the axis's size; what does not
      divide is named. Of the number of key/value heads and the axis's size, one
      divides the other.
    - (C3) `tp` is at least 1, and `axis` is not empty.
    - (C4) `head` is replicated or vocab.
    - (C5) functions are straight-line code: no tensors in regions, calls or further
      blocks.
  }];
  let dependentDialects = ["::sp::SPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"size", "tp", "int64_t", "1", "number of tensor-parallel ranks">,
    Option<"axis", "axis", "std::string", /*default=*/"\"tp\"", "name of the mesh axis">,
    Option<"head", "head", "std::string", /*default=*/"\"replicated\"",
           "the language model's head and loss: replicated, or sharded on the vocab">,
  ];
  let statistics = [
    Statistic<"numRegions", "regions", "tensor-parallel regions">,
    Statistic<"numColumn", "column-linears", "column-parallel projections">,
    Statistic<"numRow", "row-linears", "row-parallel projections">,
  ];
}

def SPPadSequence : Pass<"sp-pad-sequence", "::mlir::ModuleOp"> {
  let summary = "pads a sequence that the ranks could not share";
  let description = [{
    Between `sp-tensor-parallel` and `sp-sequence-parallel`: if the axis's size does
    not divide the sequence, all values with a sequence dimension get more of it. The
    dimension is followed as in `sp-sequence-parallel`, through every op that works on
    each token alone, causal attention, and the cross entropy. Where a value enters,
    `sp.pad` repeats its last token, or marks targets as ignored; what leaves, or is
    read by an op that mixes tokens in another way, is cut by `sp.unpad`; a remark
    names each such op. So arguments and results keep their types, and every number
    stays what it was: a token sees none behind it, dropout's masks are functions of
    the coordinates, and tokens that the loss does not see have zero gradients.

    The length that is padded is the least extent that the axis's size does not
    divide. Other extents must be multiples of it, as those of flattened tokens are;
    an op with one that is not works on another sequence and stays as it is, and so
    does a function that works on fewer than `min-tokens` tokens, which
    `sp-sequence-parallel` would leave alone as well.

    Constraints:
    - (C1) the module is tensor-parallel along the axis.
    - (C2) functions are straight-line code: no tensors in regions, calls or further
      blocks.
  }];
  let dependentDialects = ["::sp::SPDialect"];
  let options = [
    Option<"axis", "axis", "std::string", /*default=*/"\"tp\"", "name of the mesh axis">,
    Option<"minTokens", "min-tokens", "int64_t", "0",
           "with fewer tokens, pad nothing">,
  ];
  let statistics = [
    Statistic<"numPadded", "tokens", "tokens by which sequences became longer">,
  ];
}

def SPSequenceParallel : Pass<"sp-sequence-parallel", "::mlir::ModuleOp"> {
  let summary = "runs the work between tensor-parallel regions on sequence shards";
  let description = [{
    Labels every token-local op between the tensor-parallel regions: it runs
    replicated, or on the rank's shard of the sequence. A change of label costs
    communication, once per value; a replicated value costs memory and duplicated
    work. Two labels with such costs make it a minimum cut, solved exactly; memory
    comes first, then bytes sent, or the other way round (`objective`). A function
    that works on fewer than `min-tokens` tokens stays as it is. Then each `all_reduce`
    whose result is sharded becomes a `reduce_scatter`, each `copy` of a sharded value an
    `all_gather`, and `slice` and `all_gather` stand at the borders; remarks say where
    these are and what the cut costs.

    Token-local is what the layout rules allow to be sharded along the sequence
    dimension, except lookups (`sp.embedding`) and linears with an invariant weight
    (whose gradient sum would be weight-sized), and their adjoints. Linear sums over
    tokens, such as a bias's gradient, are labelled too: on a shard their result is
    partial and gets an `all_reduce`. The program may be differentiated or not; the
    collectives are the same as if it is differentiated afterwards. The sequence is
    dimension 0 of what the tensor-parallel regions reduce (hidden states are
    sequence-major), the largest first; from there the rules carry it through the
    program. Of a smaller reduction, such as of an MLP on a mean over the sequence,
    or of a transposed one, dimension 0 may be another one: it stays whole if that
    does not divide.

    Constraints:
    - (C1) the module is tensor-parallel along the axis.
    - (C2) the sequence length is divisible by the axis's size; `sp-pad-sequence` makes
      it so.
    - (C3) with `require-all`, every `all_reduce` but those of gradients is split.
    - (C4) `objective` is memory or bytes.
    - (C5) functions are straight-line code: no tensors in regions, calls or further
      blocks.
  }];
  let dependentDialects = ["::sp::SPDialect"];
  let options = [
    Option<"axis", "axis", "std::string", /*default=*/"\"tp\"", "name of the mesh axis">,
    Option<"objective", "objective", "std::string", /*default=*/"\"memory\"",
           "what comes first: memory (and repeated work) or bytes (sent)">,
    Option<"minTokens", "min-tokens", "int64_t", "0",
           "with fewer tokens, stay tensor parallel">,
    Option<"requireAll", "require-all", "bool", "false",
           "fail if an all_reduce is not split">,
  ];
  let statistics = [
    Statistic<"numSplit", "split", "all-reduces split">,
    Statistic<"numKept", "kept", "all-reduces kept">,
    Statistic<"numShardedOps", "sharded-ops", "ops on the sequence shard">,
  ];
}

def SPDifferentiate : Pass<"sp-differentiate", "::mlir::ModuleOp"> {
  let summary = "a program becomes its forward and backward pass";
  let description = [{
    Reverse-mode differentiation of the loss with respect to every parameter. Every
    op states its adjoint; a cotangent has its value's layout, with replicate and
    partial exchanged, so the adjoints of layout changes are read off a table:

    | forward | backward |
    |---|---|
    | `copy`, invariant -> replicate | `all_reduce` |
    | `all_reduce`, partial -> invariant | `copy` |
    | `reduce_scatter`, partial -> shard | `all_gather` |
    | `all_gather`, shard -> replicate | `reduce_scatter` |
    | `all_gather`, shard -> invariant | `slice` |
    | `slice`, invariant -> shard | `all_gather` |
    | `slice`, replicate -> shard | `zero_pad` |
    | `zero_pad`, shard -> partial | `slice` |

    The gradient of parameter NAME is a new result `grad.NAME`, in the parameter's
    layout; a parameter that the loss does not depend on gets zero. The sum over
    ranks that a parameter's `copy` has as its adjoint gets the attributes
    `sp.sync_of` and `sp.reason`. In a function without `sp` names the loss is its
    only result that is a floating point tensor of rank 0, and every floating point
    tensor gets a gradient, `grad.I` for argument I.

    Runs before or after `sp-sequence-parallel`, with the same collectives.

    Constraints:
    - (C1) a function has the loss, a floating point tensor of rank 0.
    - (C2) every op between a parameter and the loss has an adjoint.
    - (C3) the function is straight-line code (no tensors in regions, calls or further
      blocks), and has no gradients yet.
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"loss\"", "name of the result">,
  ];
  let dependentDialects = ["::sp::SPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SPRematerialize : Pass<"sp-rematerialize", "::mlir::ModuleOp"> {
  let summary = "chooses what the forward pass saves for the backward pass";
  let description = [{
    Activations that the backward pass reads are saved, or recomputed from saved ones:
    `recompute=gathers` lets it gather again what was gathered from sequence shards,
    so that no full sequence is saved, and compute again what several ranks hold alike
    for want of heads (keys and values); `all` also lets it repeat ops whose work is of
    the size of their data (norms, activation products, rope, dropout: the same mask);
    `none` lets it repeat nothing; `auto` is `all` if a number of bytes is given, else
    `gathers`. Of the plans that save at most `activation-budget`
    bytes per rank, a cheap one (the cheapest for some price of a byte, without what it
    need not repeat); with `min`, the one that saves the fewest bytes, and
    of these the cheapest. Work is counted in bytes moved through memory, 8 times as
    much for bytes sent to other ranks, a 148th for the steps of a contraction. The plan
    is reported as a table.

    Values that depend on no input, such as casts of parameters, are not activations.
    What is recomputed reads saved values through `sp.optimization_barrier`.

    Constraints:
    - (C1) a function returns gradients; functions are straight-line code.
    - (C2) some plan fits the budget; the error names the least number that does.
    - (C3) `recompute` is auto, none, gathers or all; `activation-budget` is `min` or a
      number of bytes, with or without KiB, MiB or GiB.
  }];
  let options = [
    Option<"recompute", "recompute", "std::string", /*default=*/"\"auto\"",
           "what the backward pass may run again: auto, none, gathers or all">,
    Option<"activationBudget", "activation-budget", "std::string", /*default=*/"\"min\"",
           "bytes per rank to save at most, or min">,
  ];
  let statistics = [
    Statistic<"savedBytes", "saved-bytes", "bytes of activations saved per rank">,
    Statistic<"numRecomputed", "recomputed", "ops that the backward pass runs again">,
  ];
  let dependentDialects = ["::sp::SPDialect"];
}

def SPPrintGradientSync : Pass<"sp-print-gradient-sync", "::mlir::ModuleOp"> {
  let summary = "prints which gradients are summed over ranks, and why";
  let description = [{
    One line on stderr for every parameter: its layout, whether its gradient is summed
    and over which axis, and the reason.

    Constraints:
    - (C1) a function returns gradients, or gives them to an optimizer; functions are
      straight-line code.
  }];
}

def SPSyncGradients : Pass<"sp-sync-gradients", "::mlir::ModuleOp"> {
  let summary = "sums all gradients over ranks in one collective at the end";
  let description = [{
    The `all_reduce`s that sum gradients, one or more per parameter, become one per
    axis, element type and layout: summands of one gradient are added while they are
    partial, and all partial gradients travel in one vector (`sp.pack`, `sp.unpack`).

    Constraints:
    - (C1) a function returns gradients; functions are straight-line code.
  }];
  let statistics = [
    Statistic<"numSynced", "synced", "gradients summed over ranks">,
    Statistic<"numBuckets", "buckets", "collectives that sum them">,
  ];
  let dependentDialects = ["::sp::SPDialect", "::mlir::arith::ArithDialect"];
}

def SPAccumulateGradients : Pass<"sp-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "runs a differentiated program on several micro-batches";
  let description = [{
    Repeats the program for each micro-batch, one after the other. Inputs of B rows
    become inputs of `steps` * B rows; the loss and every gradient are the means of
    the micro-batches'. Each repetition has its own dropout masks. Other results are
    dropped. Before `sp-sync-gradients`, so that the gradients are summed over ranks
    once.

    Constraints:
    - (C1) a function returns a loss and gradients; functions are straight-line code.
    - (C2) `steps` is at least 1.
    - (C3) every input has at least one dimension, and is invariant.
  }];
  let options = [
    Option<"steps", "steps", "int64_t", "1", "number of micro-batches">,
  ];
  let dependentDialects = ["::sp::SPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SPAddOptimizer : Pass<"sp-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "gradient clipping and AdamW become part of the program";
  let description = [{
    The function that returns gradients becomes `@train_step`. It takes, after its own
    arguments, the inputs `learning_rate` (tensor<f64>) and `step` (tensor<i64>, 1 for
    the first update), and for each parameter NAME the states `exp_avg.NAME` and
    `exp_avg_sq.NAME`, in the parameter's type and layout. Instead of gradients it
    returns `grad_norm`, the norm before clipping, and the new value of every
    parameter and state, under their names.

    The norm is over all gradients, each element once: sharded ones are summed over
    the ranks, invariant ones are not. With `max-norm` > 0 every gradient is multiplied
    by min(1, max-norm / (norm + 1e-6)), as PyTorch's `clip_grad_norm_` does.

    Constraints:
    - (C1) one function returns gradients, which have their parameters' types; functions
      are straight-line code.
    - (C2) 0 <= beta1, beta2 < 1; eps, weight-decay and max-norm are not negative.
  }];
  let options = [
    Option<"beta1", "beta1", "double", "0.9", "decay of the first moment">,
    Option<"beta2", "beta2", "double", "0.999", "decay of the second moment">,
    Option<"eps", "eps", "double", "1e-8", "added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", "0.01", "decoupled weight decay">,
    Option<"maxNorm", "max-norm", "double", "1.0",
           "greatest norm of the gradients; 0: no clipping">,
  ];
  let dependentDialects = ["::sp::SPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def SPOptimizeCollectives : Pass<"sp-optimize-collectives", "::mlir::ModuleOp"> {
  let summary = "fewer layout changes: one gather for Q/K/V, one for gate/up";
  let description = [{
    Four rewrites of layout changes; nothing else may merge or split them:

    - equal changes of one value become one. Without this pass the textbook form
      stands, one all-gather per column-parallel linear;
    - an `sp.all_reduce` of which only one shard is read becomes an
      `sp.reduce_scatter`;
    - a sum of two reductions becomes the reduction of the sum;
    - collectives of at most `coalesce-bytes` each, of equal kind and layouts, become
      one of a packed tensor if none of them needs another; but those of gradients are
      for `sp-sync-gradients`.

    A reduce-scatter and the gather of it never become an all-reduce again.

    Constraints:
    - (C1) functions are straight-line code: no tensors in regions, calls or further
      blocks.
  }];
  let options = [
    Option<"coalesceBytes", "coalesce-bytes", "int64_t", "16384",
           "collectives with a result of at most so many bytes may travel together">,
  ];
  let statistics = [
    Statistic<"numMerged", "merged", "layout changes merged">,
    Statistic<"numScattered", "scattered", "all_reduces that became reduce_scatters">,
    Statistic<"numSummed", "summed", "reductions that were added before">,
    Statistic<"numCoalesced", "coalesced", "small collectives that travel with others">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SPMergeLinears : Pass<"sp-merge-linears", "::mlir::ModuleOp"> {
  let summary = "one linear for Q/K/V, one for gate/up";
  let description = [{
    After `sp-optimize-collectives`, which lets them read one gathered value: column
    parallel linears (and unsharded ones) of one operand become one `sp.linear`, of which
    each rank has its part of every weight (`sp.pack`) and which gives each rank its part
    of every result (`sp.unpack`). Parameters, and so checkpoints, gradients and the
    optimizer's state, keep their names and shapes. Linears whose weights are of another
    element type or layout, or are computed behind the first, stay as they are; so do
    the row parallel ones.

    It is for hardware on which one large contraction beats several small ones by more
    than it costs to move the weights and the results once.

    Constraints:
    - (C1) functions are straight-line code: no tensors in regions, calls or further
      blocks.
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "linears that became a part of one">,
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::sp::SPDialect"];
}

def SPPrintCollectives : Pass<"sp-print-collectives", "::mlir::ModuleOp"> {
  let summary = "prints what ranks send to each other, how much, and why";
  let description = [{
    Two tables on stderr for every function: the collectives, and the layout changes
    that move nothing (`copy`, `slice`, `zero_pad`). Each line has the kind, the axis,
    the change of layout, the bytes that each rank sends, the op or parameter that it
    serves, and why it is there; then come the sums per kind, forward, backward and
    optimizer apart.

    The bytes are those of a ring. With T ranks on the axis and n bytes of the tensor
    that is whole along it, each rank sends

    - `all_gather`, `reduce_scatter`: (T - 1) / T * n,
    - `all_reduce`: twice that (a reduce-scatter and an all-gather),

    rounded down, which is also what the runtime counts.

    The reasons are read off the program, from what makes a collective's operand and
    what reads its result: it enters or closes a tensor-parallel region (a reader or
    maker has a parameter sharded along the axis), it sums gradients (it stands between
    a gradient and the ops that compute it), or it is the adjoint of one of the forward
    pass (it goes the dual way between the same modules).

    Constraints:
    - (C1) the module has a mesh, and layouts change only along its axes.
    - (C2) the program has global shapes: run before `sp-localize`.
    - (C3) a function with layout changes is one block, and none is inside another
      op's region: what is repeated has no fixed number of bytes.
  }];
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
    - (C2) functions are straight-line code: no tensors in regions, calls or further
      blocks.
  }];
  let dependentDialects = ["::sp::SPDialect"];
}

def SPVerifyCollectives : Pass<"sp-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "checks that later passes preserve the recorded collectives";
  let description = [{
    Runs after every pass that follows `sp-localize`.

    Constraints:
    - (C1) the function has the collectives of its `sp.collectives`, in order, of the
      same kind, axis, dimension and type, and reached by the same arguments and
      collectives; so are its results, and each of the tensors that `sp.pack` puts into
      one vector.
  }];
}

#endif // SP_TRANSFORMS_PASSES_TD
