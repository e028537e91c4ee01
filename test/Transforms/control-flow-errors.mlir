// Tensors in regions, calls and further blocks are refused by every pass that walks a function's
// block, never skipped. The error names the op, the pass and its constraint.
// RUN: sp-opt %s --split-input-file --sp-tensor-parallel=tp=2 --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-sequence-parallel --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-optimize-collectives --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-merge-linears --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-differentiate --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-rematerialize --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-accumulate-gradients --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-sync-gradients --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-add-optimizer --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-print-gradient-sync --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-localize --verify-diagnostics=only-expected

// The layers of a model as a loop
sp.mesh @mesh <tp = 2>
func.func @layers(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // expected-error @below {{'scf.for' op works on tensors in a region; sp-}}
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %x) -> tensor<8x4xf32> {
    %z = sp.linear %h, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    scf.yield %z : tensor<8x4xf32>
  }
  %l = sp.sum_leading %y count 2 : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
func.func @branch(%x: tensor<4xf32>, %p: i1) -> tensor<f32> {
  // expected-error @below {{'scf.if' op works on tensors in a region; sp-}}
  %y = scf.if %p -> tensor<4xf32> {
    scf.yield %x : tensor<4xf32>
  } else {
    %z = arith.addf %x, %x : tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  }
  %l = sp.sum_leading %y count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Also where no result leaves the region
sp.mesh @mesh <tp = 2>
func.func private @log(f32)
func.func @effect(%x: tensor<4xf32>, %p: i1) -> tensor<f32> {
  // expected-error @below {{'scf.if' op works on tensors in a region; sp-}}
  scf.if %p {
    %c0 = arith.constant 0 : index
    %e = tensor.extract %x[%c0] : tensor<4xf32>
    func.call @log(%e) : (f32) -> ()
  }
  %l = sp.sum_leading %x count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @calls(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'func.call' op calls `layer` with tensors; sp-}}
  %y = func.call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = sp.sum_leading %y count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
func.func @calls_indirectly(%x: tensor<4xf32>, %f: (tensor<4xf32>) -> tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'func.call_indirect' op calls a function with tensors; sp-}}
  %y = func.call_indirect %f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = sp.sum_leading %y count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
// expected-error @below {{'func.func' op `blocks` has 2 blocks; sp-}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<f32> {
  %l = sp.sum_leading %x count 1 : (tensor<4xf32>) -> tensor<f32>
  cf.br ^next
^next:
  return %l : tensor<f32>
}

// -----

// Scalars may do what they like: no tensor is inside.
sp.mesh @mesh <tp = 2>
func.func private @seed() -> i64
func.func @scalars(%x: tensor<4xf32>, %n: index) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%h = %c0) -> index {
    %z = arith.addi %h, %i : index
    scf.yield %z : index
  }
  %seed = func.call @seed() : () -> i64
  %l = sp.sum_leading %x count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
