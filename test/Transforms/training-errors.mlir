// The passes that follow differentiation, on programs that are not differentiated.
// RUN: not sp-opt %s --sp-sync-gradients 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: not sp-opt %s --sp-accumulate-gradients 2>&1 | FileCheck %s --check-prefix=ACCUMULATE
// RUN: not sp-opt %s --sp-add-optimizer 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not sp-opt %s --sp-print-gradient-sync 2>&1 | FileCheck %s --check-prefix=PRINT
// RUN: not sp-opt %s --sp-differentiate --sp-accumulate-gradients=steps=0 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not sp-opt %s --sp-differentiate --sp-add-optimizer=beta1=1.0 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not sp-opt %s --sp-differentiate --sp-add-optimizer=max-norm=-1 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: not sp-opt %s --sp-differentiate --sp-accumulate-gradients=steps=2 2>&1 | FileCheck %s --check-prefix=INPUT

// SYNC: error: sp-sync-gradients: no function returns gradients; run sp-differentiate first (C1)
// ACCUMULATE: error: sp-accumulate-gradients: no function returns gradients; run sp-differentiate first (C1)
// OPTIMIZER: error: sp-add-optimizer: no function returns gradients; run sp-differentiate first (C1)
// PRINT: error: sp-print-gradient-sync: no function returns gradients; run sp-differentiate first (C1)
// STEPS: error: sp-accumulate-gradients: steps is 0, must be at least 1 (C2)
// BETA: error: sp-add-optimizer: beta1 is 1.000000e+00, must be in [0, 1) (C2)
// NORM: error: sp-add-optimizer: max-norm is -1.000000e+00, must not be negative (C2)
// INPUT: error: `x` is 'tensor<f32>', which cannot hold one micro-batch after another; it must be an invariant tensor of at least one dimension (C3)

func.func @f(%x: tensor<f32> {sp.input = "x"}, %w: tensor<f32> {sp.param = "w"}) -> (tensor<f32> {sp.result = "loss"}) {
  %l = arith.mulf %x, %w : tensor<f32>
  return %l : tensor<f32>
}
