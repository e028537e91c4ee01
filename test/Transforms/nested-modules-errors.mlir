// Functions on tensors that are not the module's own would be skipped.
// RUN: sp-opt %s --split-input-file --sp-tensor-parallel=tp=2 --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-sequence-parallel --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-optimize-collectives --verify-diagnostics=only-expected
// RUN: sp-opt %s --split-input-file --sp-localize --verify-diagnostics=only-expected

sp.mesh @mesh <tp = 2>
// expected-error @below {{'builtin.module' op works on tensors and is no function of the module itself; sp-}}
module @inner {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = arith.addf %x, %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
