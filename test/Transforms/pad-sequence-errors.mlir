// RUN: sp-opt %s --sp-pad-sequence --split-input-file --verify-diagnostics

// C1
// expected-error @below {{sp-pad-sequence: the module has no mesh with an axis `tp`; run sp-tensor-parallel first (C1)}}
module {}

// -----

// C2
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<3xf32>, %c: i1) -> tensor<3xf32> {
  // expected-error @below {{works on tensors in a region; sp-pad-sequence takes straight-line code: unroll it, or choose its branch (C2)}}
  %0 = scf.if %c -> tensor<3xf32> {
    scf.yield %x : tensor<3xf32>
  } else {
    %1 = arith.negf %x : tensor<3xf32>
    scf.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}
