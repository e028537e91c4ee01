#ifndef SP_CONVERSION_PASSES_TD
#define SP_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def SPFormGemms : Pass<"sp-form-gemms", "::mlir::func::FuncOp"> {
  let summary = "linalg contractions become matrix products";
  let description = [{
    A `linalg` op that sums the products of two tensors' elements, whatever its name
    and its maps, becomes an `sp.gemm`: loops that both inputs and the result have are
    its batch, those of one input and the result its rows and columns, those of the
    inputs alone are summed over. Where an operand does not have them in such an order,
    a `linalg.transpose` precedes it, or follows the result. A zero init goes away.

    What is no matrix product (mixed element types, a loop of one input alone) stays for
    `sp-form-row-kernels`.

    Constraints:
    - (C1) tensors are local: run `sp-localize` first.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::sp::SPDialect"];
  let statistics = [Statistic<"numGemms", "gemms", "matrix products formed">];
}

def SPFormRowKernels : Pass<"sp-form-row-kernels", "::mlir::func::FuncOp"> {
  let summary = "token-local ops become row kernels";
  let description = [{
    Every op whose rows can be computed on their own becomes an `sp.row_kernel`:
    `sp.rms_norm`, `sp.bias_add` (and the bias of `sp.linear`), `sp.scale`, `sp.mul`,
    `sp.swiglu`, `sp.rope`, `sp.cross_entropy`, alone or over parts of the vocabulary,
    the adjoints of these, `sp.adamw`, elementwise `arith` and `math` on tensors,
    elementwise `linalg`, fills and splat constants. A `linalg` op with reduction loops
    becomes a kernel with a row for each element of its result. Splat constants go into
    the bodies as scalars. bf16 is computed in f32 and rounded when stored. A sum over
    rows, such as the gradient of a norm's weight, stays `sp.sum_leading`.

    `sp.cross_entropy` needs valid targets, so `sp.check_targets` precedes it; over parts
    of the vocabulary it needs their columns in the parts, from `sp.part_targets`.

    Constraints:
    - (C1) tensors are local: run `sp-localize` first.
    - (C2) linalg ops have scalar bodies that read elements and constants; each result
      has all parallel loops once; reductions are sums, maxima and minima of floating
      point numbers.
    - (C3) tensors are static, not empty, and of f32, f64, bf16 or i64. Others, such as
      truth values, may only be between elementwise ops: each reader computes them.
    - (C4) integers are divided by constants other than 0 and -1.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::sp::SPDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "row kernels formed">];
}

def SPFuseRowKernels : Pass<"sp-fuse-row-kernels", "::mlir::func::FuncOp"> {
  let summary = "a row kernel takes over the kernels whose results it reads";
  let description = [{
    Two kernels become one if they have the same rows and columns, the second reads
    what the first stores at the same row and column and nothing else of it, and no
    other op needs the first's results before the second. What others need later is
    still stored. Values pass from one to the other as they would have been stored,
    so results are the same bits.

    A kernel that reduces reads its row several times, and would compute again what it
    took over; so it does not take over exp and the like.
  }];
  let statistics = [Statistic<"numFused", "fused", "row kernels taken over by others">];
}

def SPPlanMemory : Pass<"sp-plan-memory", "::mlir::func::FuncOp"> {
  let summary = "gives every value its place in one arena per rank";
  let description = [{
    Values live from their op to their last use in the order of the block. Each gets
    an offset in one arena, aligned to a cache line; space is used again as soon as
    a value is dead. Reshapes, leading rows, the parts of `sp.unpack` and
    `sp.check_targets` share their operand's buffer, constants have none. A row kernel
    writes over an input that dies there, if it reads the one and writes the other
    densely in row-major order; over an argument, if what it writes is returned as
    the argument's new value.

    Results: `sp.offsets` on the ops (-1 - i for what lies in argument i); on the
    function `sp.arena_bytes`, the size of
    the arena, `sp.activation_bytes`, the sum of all values' sizes, which is what
    they would take without reuse, and `sp.saved_bytes`, what the activations take
    that live from the forward to the backward pass, if there is one.

    Constraints:
    - (C1) the function is one block of ops without regions, other than row kernels.
    - (C2) tensors are local (no layout), static, and of f32, f64, bf16 or i64.
  }];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">,
    Statistic<"liveBytes", "live-bytes",
              "bytes of all values alive at a time, at most: no plan needs less">,
    Statistic<"numInPlace", "in-place", "results that took over an input">,
  ];
}

def ConvertSPToLLVM : Pass<"convert-sp-to-llvm", "::mlir::ModuleOp"> {
  let summary = "planned functions become calls of the runtime and of row kernels";
  let description = [{
    Each function becomes `program_NAME(context, arena, args, results) -> status` on pointers:
    `args` and `results` are arrays with a pointer for each argument and result. Ops
    become calls on places in the arena; a call's status that is not 0 is returned at
    once. Row kernels become functions, equal ones the same function. The mesh, which
    only numbers the axes, goes.

    Constraints:
    - (C1) functions are planned by `sp-plan-memory`, and so are single blocks on
      local tensors.
    - (C2) every op is one of a localised program; functions do not call others.
    - (C3) the new value of an argument has the argument's type, and is not another
      argument.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numKernels", "kernels", "row kernels emitted">,
    Statistic<"numLaunches", "launches", "row kernels launched">,
  ];
}

#endif // SP_CONVERSION_PASSES_TD
