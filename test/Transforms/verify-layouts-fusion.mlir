// -linalg-fuse-elementwise-ops fuses an add and an exp across the dropped partial:
// the exponential of a rank's summand. Neither form verifies.

// RUN: not sp-opt %s --sp-verify-layouts 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sp-opt %s -linalg-fuse-elementwise-ops | FileCheck %s
// RUN: not sp-opt %s -linalg-fuse-elementwise-ops --sp-verify-layouts 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: 'linalg.generic' op operand #{{[0-9]}} is invariant along `tp`, but operand #0 is partial

sp.mesh @mesh <tp = 2>

#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @add_exp
// CHECK:         linalg.generic
// CHECK:           arith.addf
// CHECK-NEXT:      math.exp
func.func @add_exp(%s: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x4xf32> {
  %p = sp.zero_pad %s : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = partial>>
  %ip = tensor.empty() : tensor<8x4xf32, #sp.layout<tp = partial>>
  %i = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %p : tensor<8x4xf32, #sp.layout<tp = partial>>, tensor<8x4xf32, #sp.layout<tp = partial>>)
      outs(%ip : tensor<8x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = arith.addf %a, %b : f32
      linalg.yield %m : f32
  } -> tensor<8x4xf32, #sp.layout<tp = partial>>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0 : tensor<8x4xf32, #sp.layout<tp = partial>>) outs(%i : tensor<8x4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %e = math.exp %a : f32
      linalg.yield %e : f32
  } -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
