// -canonicalize turns a copying generic with mixed types into a tensor.cast from
// partial to invariant. What it leaves does not verify, and neither did its input.

// RUN: not sp-opt %s --sp-verify-layouts 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE: error: 'linalg.generic' op operand #1 is invariant along `tp`, but operand #0 is partial
// RUN: sp-opt %s -canonicalize | FileCheck %s --check-prefix=CANONICALIZE
// CANONICALIZE: tensor.cast %{{.*}} : tensor<8x4xf32, #sp.layout<tp = partial>> to tensor<8x4xf32>
// RUN: not sp-opt %s -canonicalize --sp-verify-layouts 2>&1 | FileCheck %s --check-prefix=CAST
// CAST: error: 'tensor.cast' op touches a tensor with a layout, but has no layout rule (C3)

sp.mesh @mesh <tp = 2>

#id = affine_map<(i, j) -> (i, j)>

func.func @copy(%s: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x4xf32> {
  %p = sp.zero_pad %s : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = partial>>
  %i = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<8x4xf32, #sp.layout<tp = partial>>) outs(%i : tensor<8x4xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
