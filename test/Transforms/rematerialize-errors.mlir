// RUN: not sp-opt %s --sp-rematerialize 2>&1 | FileCheck %s --check-prefix=C1
// RUN: not sp-opt %s --sp-differentiate --sp-rematerialize="activation-budget=31" 2>&1 | FileCheck %s --check-prefix=C2
// RUN: sp-opt %s --sp-differentiate --sp-rematerialize="activation-budget=32" 2>&1 | FileCheck %s --check-prefix=FITS
// RUN: not sp-opt %s --sp-differentiate --sp-rematerialize="recompute=some" 2>&1 | FileCheck %s --check-prefix=C3-KIND
// RUN: not sp-opt %s --sp-differentiate --sp-rematerialize="activation-budget=12MB" 2>&1 | FileCheck %s --check-prefix=C3-BUDGET
// RUN: not sp-opt %s --sp-differentiate --sp-rematerialize="activation-budget=-1" 2>&1 | FileCheck %s --check-prefix=C3-NEGATIVE
// RUN: not sp-opt %s --sp-differentiate --sp-rematerialize="activation-budget=9223372036854775807KiB" 2>&1 | FileCheck %s --check-prefix=C3-HUGE

// C1: error: sp-rematerialize: no function returns gradients; run sp-differentiate first (C1)
// C2: error: loc("square"): the activation budget of 31 bytes per rank is too small: the backward pass needs at least 32 with recompute=all (C2)
// FITS: remark: loc("square"): saves 32 bytes of activations per rank
// C3-KIND: error: sp-rematerialize: recompute is `some`, must be auto, none, gathers or all (C3)
// C3-BUDGET: error: sp-rematerialize: activation-budget is `12MB`, must be `min` or a number of bytes, such as 500000 or 64MiB (C3)
// C3-NEGATIVE: error: sp-rematerialize: activation-budget is `-1`, must be
// C3-HUGE: error: sp-rematerialize: activation-budget is `9223372036854775807KiB`, must be
func.func @square(%x: tensor<4x2xf32> {sp.input = "x"}, %w: tensor<2x2xf32> {sp.param = "w"})
    -> (tensor<f32> {sp.result = "loss"}) {
  %h = sp.linear %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %q = arith.mulf %h, %h : tensor<4x2xf32>
  %loss = sp.sum_leading %q count 2 : (tensor<4x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
