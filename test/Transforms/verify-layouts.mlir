// RUN: sp-opt %s --sp-verify-layouts --verify-roundtrip -o /dev/null
// What each op lets through: one function per op, one line per legal combination
// along `tp`. All of them verify; the negative twin is verify-layouts-errors.mlir.

sp.mesh @mesh <dp = 2, tp = 2>

!x = tensor<8x2x4xf32>
!xr = tensor<8x2x4xf32, #sp.layout<tp = replicate>>
!xs = tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
!xb = tensor<8x2x4xf32, #sp.layout<tp = shard(1)>>
!xh = tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>
!xp = tensor<8x2x4xf32, #sp.layout<tp = partial>>
!v = tensor<4xf32>
!vr = tensor<4xf32, #sp.layout<tp = replicate>>
!vs = tensor<4xf32, #sp.layout<tp = shard(0)>>
!vp = tensor<4xf32, #sp.layout<tp = partial>>

func.func @layout_changes(%x: !x, %s: !xs) -> !xs {
  %copy = sp.copy %x : !x -> !xr
  %slice_invariant = sp.slice %x : !x -> !xs
  %slice_replicate = sp.slice %copy : !xr -> !xs
  %zero_pad = sp.zero_pad %s : !xs -> !xp
  %all_reduce = sp.all_reduce %zero_pad : !xp -> !x
  %reduce_scatter = sp.reduce_scatter %zero_pad : !xp -> !xs
  %to_other_dim = sp.reduce_scatter %zero_pad : !xp -> !xh
  %gather_replicate = sp.all_gather %s : !xs -> !xr
  %gather_invariant = sp.all_gather %s : !xs -> !x
  return %reduce_scatter : !xs
}

func.func @rms_norm(%x: !x, %w: !v, %s: !xs) {
  %xr = sp.copy %x : !x -> !xr
  %wr = sp.copy %w : !v -> !vr
  %b = sp.slice %x : !x -> !xb
  %0 = sp.rms_norm %x, %w eps 1.0e-05 : (!x, !v) -> !x
  %1 = sp.rms_norm %xr, %wr eps 1.0e-05 : (!xr, !vr) -> !xr
  %2 = sp.rms_norm %s, %wr eps 1.0e-05 : (!xs, !vr) -> !xs
  %3 = sp.rms_norm %b, %wr eps 1.0e-05 : (!xb, !vr) -> !xb
  return
}

func.func @linear(%x: !x, %s: !xs, %h: !xh, %w: tensor<6x4xf32>, %b: tensor<6xf32>,
    %column: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %bias: tensor<6xf32, #sp.layout<tp = shard(0)>>,
    %row: tensor<6x4xf32, #sp.layout<tp = shard(1)>>) {
  %xr = sp.copy %x : !x -> !xr
  %wr = sp.copy %w : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %br = sp.copy %b : tensor<6xf32> -> tensor<6xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : !xs -> !xp
  %0 = sp.linear %x, %w bias %b : (!x, tensor<6x4xf32>, tensor<6xf32>) -> tensor<8x2x6xf32>
  %1 = sp.linear %xr, %column bias %bias : (!xr, tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>
  %2 = sp.linear %h, %row : (!xh, tensor<6x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  %3 = sp.linear %s, %wr bias %br : (!xs, tensor<6x4xf32, #sp.layout<tp = replicate>>, tensor<6xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>
  %4 = sp.linear %p, %wr : (!xp, tensor<6x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  return
}

func.func @bias_add(%x: !x, %w: !v, %s: !xs, %h: !xh, %ws: !vs) {
  %wr = sp.copy %w : !v -> !vr
  %p = sp.zero_pad %s : !xs -> !xp
  %wp = sp.zero_pad %ws : !vs -> !vp
  %0 = sp.bias_add %x, %w : (!x, !v) -> !x
  %1 = sp.bias_add %s, %wr : (!xs, !vr) -> !xs
  %2 = sp.bias_add %h, %ws : (!xh, !vs) -> !xh
  %3 = sp.bias_add %p, %wp : (!xp, !vp) -> !xp
  return
}

func.func @scale_and_dropout(%x: !x, %s: !xs) {
  %p = sp.zero_pad %s : !xs -> !xp
  %0 = sp.scale %x by 2.0 : (!x) -> !x
  %1 = sp.scale %s by 2.0 : (!xs) -> !xs
  %2 = sp.scale %p by 2.0 : (!xp) -> !xp
  %3 = sp.dropout %s p 0.1 op_id 1 : (!xs) -> !xs
  %4 = sp.dropout %p p 0.1 op_id 1 : (!xp) -> !xp
  return
}

func.func @swiglu(%x: !x, %s: !xs) {
  %p = sp.zero_pad %s : !xs -> !xp
  %xr = sp.copy %x : !x -> !xr
  %0 = sp.swiglu %x, %x : (!x, !x) -> !x
  %1 = sp.swiglu %s, %s : (!xs, !xs) -> !xs
  // Linear in the second operand.
  %2 = sp.swiglu %xr, %p : (!xr, !xp) -> !xp
  return
}

!q = tensor<8x2x4x6xf32>
!qh = tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>
!qs = tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>
!qb = tensor<8x2x4x6xf32, #sp.layout<tp = shard(1)>>
!k = tensor<8x2x2x6xf32>
!kh = tensor<8x2x2x6xf32, #sp.layout<tp = shard(2)>>
!kb = tensor<8x2x2x6xf32, #sp.layout<tp = shard(1)>>
!t = tensor<8x3xf32>
!tr = tensor<8x3xf32, #sp.layout<tp = replicate>>
!ts = tensor<8x3xf32, #sp.layout<tp = shard(0)>>

func.func @rope(%q: !q, %qh: !qh, %qs: !qs) {
  %c, %s = sp.rope_table theta 1.0e+04 : !t, !t
  %cr = sp.copy %c : !t -> !tr
  %sr = sp.copy %s : !t -> !tr
  %cs = sp.slice %c : !t -> !ts
  %ss = sp.slice %s : !t -> !ts
  %0 = sp.rope %q, %c, %s : (!q, !t, !t) -> !q
  %1 = sp.rope %qh, %cr, %sr : (!qh, !tr, !tr) -> !qh
  %2 = sp.rope %qs, %cs, %ss : (!qs, !ts, !ts) -> !qs
  return
}

func.func @attention(%q: !q, %k: !k, %qh: !qh, %kh: !kh, %qb: !qb, %kb: !kb) {
  %0 = sp.attention %q, %k, %k scale 1.0 causal : (!q, !k, !k) -> !q
  %1 = sp.attention %qh, %kh, %kh scale 1.0 causal : (!qh, !kh, !kh) -> !qh
  %2 = sp.attention %qb, %kb, %kb scale 1.0 : (!qb, !kb, !kb) -> !qb
  return
}

func.func @embedding(%i: tensor<2x8xi64>, %table: tensor<10x4xf32>,
    %is: tensor<2x8xi64, #sp.layout<tp = shard(1)>>, %th: tensor<10x4xf32, #sp.layout<tp = shard(1)>>) {
  %ir = sp.copy %i : tensor<2x8xi64> -> tensor<2x8xi64, #sp.layout<tp = replicate>>
  %tr = sp.copy %table : tensor<10x4xf32> -> tensor<10x4xf32, #sp.layout<tp = replicate>>
  %0 = sp.embedding %i, %table : (tensor<2x8xi64>, tensor<10x4xf32>) -> !x
  %1 = sp.embedding %is, %tr : (tensor<2x8xi64, #sp.layout<tp = shard(1)>>, tensor<10x4xf32, #sp.layout<tp = replicate>>) -> !xs
  %2 = sp.embedding %ir, %th : (tensor<2x8xi64, #sp.layout<tp = replicate>>, tensor<10x4xf32, #sp.layout<tp = shard(1)>>) -> !xh
  return
}

func.func @labels_and_loss(%l: tensor<2x8xi64>, %lb: tensor<2x8xi64, #sp.layout<tp = shard(0)>>, %x: !x, %s: !xs,
    %ts: tensor<8x2xi64, #sp.layout<tp = shard(0)>>) {
  %0 = sp.shift_labels %l ignore_index -100 : (tensor<2x8xi64>) -> tensor<8x2xi64>
  %1 = sp.shift_labels %lb ignore_index -100 : (tensor<2x8xi64, #sp.layout<tp = shard(0)>>) -> tensor<8x2xi64, #sp.layout<tp = shard(1)>>
  %2:2 = sp.cross_entropy %x, %0 ignore_index -100 : (!x, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  // Sums over tokens: each rank has its tokens' part.
  %3:2 = sp.cross_entropy %s, %ts ignore_index -100 : (!xs, tensor<8x2xi64, #sp.layout<tp = shard(0)>>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32, #sp.layout<tp = partial>>)
  return
}

func.func @batch_major(%x: !x, %s: !xs, %h: !xh) {
  %p = sp.zero_pad %s : !xs -> !xp
  %0 = sp.batch_major %s : (!xs) -> tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>
  %1 = sp.batch_major %h : (!xh) -> tensor<2x8x4xf32, #sp.layout<tp = shard(2)>>
  %2 = sp.batch_major %p : (!xp) -> tensor<2x8x4xf32, #sp.layout<tp = partial>>
  return
}

func.func @arith_and_math(%x: !x, %s: !xs) {
  %p = sp.zero_pad %s : !xs -> !xp
  %zero_partial = arith.constant dense<0.0> : !xp
  %one_shard = arith.constant dense<1.0> : !xs
  %any_replicate = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : !vr
  %0 = arith.addf %p, %zero_partial : !xp
  %1 = arith.subf %p, %0 : !xp
  %2 = arith.negf %p : !xp
  %3 = arith.mulf %s, %one_shard : !xs
  %4 = math.exp %s : !xs
  return
}

#id = affine_map<(s, b, h) -> (s, b, h)>
#h = affine_map<(s, b, h) -> (h)>
func.func @linalg(%x: !x, %s: !xs, %h: !xh, %w: !v, %ws: !vs) {
  %zero = arith.constant 0.0 : f32
  %wr = sp.copy %w : !v -> !vr
  %p = sp.zero_pad %s : !xs -> !xp
  %is = tensor.empty() : !xs
  %ih = tensor.empty() : !xh
  %ip = tensor.empty() : !xp
  %fill = linalg.fill ins(%zero : f32) outs(%ip : !xp) -> !xp
  // A broadcast operand lacks the sharded dimension, or is sharded with it.
  %0 = linalg.generic {indexing_maps = [#id, #h, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %wr : !xs, !vr) outs(%is : !xs) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
  } -> !xs
  %1 = linalg.generic {indexing_maps = [#id, #h, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %ws : !xh, !vs) outs(%ih : !xh) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
  } -> !xh
  // Linear in the partial operand: scaled by a replicated one.
  %2 = linalg.generic {indexing_maps = [#id, #h, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %wr : !xp, !vr) outs(%ip : !xp) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      %n = arith.negf %m : f32
      linalg.yield %n : f32
  } -> !xp
  return
}

// A reshape carries a shard on the outermost dimension of a group.
func.func @reshapes(%h: tensor<8x2x12xf32, #sp.layout<tp = shard(2)>>, %s: !xs, %u: tensor<1x8x4xf32, #sp.layout<tp = shard(1)>>) {
  %0 = tensor.expand_shape %h [[0], [1], [2, 3]] output_shape [8, 2, 4, 3] : tensor<8x2x12xf32, #sp.layout<tp = shard(2)>> into tensor<8x2x4x3xf32, #sp.layout<tp = shard(2)>>
  %1 = tensor.collapse_shape %s [[0, 1], [2]] : !xs into tensor<16x4xf32, #sp.layout<tp = shard(0)>>
  // An extent of 1 in front is no dimension to split.
  %2 = tensor.collapse_shape %u [[0, 1], [2]] : tensor<1x8x4xf32, #sp.layout<tp = shard(1)>> into tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// Axes are independent: partial along tp, sharded along dp.
func.func @two_axes(%x: tensor<8x4x4xf32, #sp.layout<dp = shard(1), tp = shard(2)>>, %w: tensor<6x4xf32, #sp.layout<tp = shard(1)>>)
    -> tensor<8x4x6xf32, #sp.layout<dp = shard(1), tp = shard(0)>> {
  %wd = sp.copy %w : tensor<6x4xf32, #sp.layout<tp = shard(1)>> -> tensor<6x4xf32, #sp.layout<dp = replicate, tp = shard(1)>>
  %0 = sp.linear %x, %wd : (tensor<8x4x4xf32, #sp.layout<dp = shard(1), tp = shard(2)>>, tensor<6x4xf32, #sp.layout<dp = replicate, tp = shard(1)>>) -> tensor<8x4x6xf32, #sp.layout<dp = shard(1), tp = partial>>
  %1 = sp.reduce_scatter %0 : tensor<8x4x6xf32, #sp.layout<dp = shard(1), tp = partial>> -> tensor<8x4x6xf32, #sp.layout<dp = shard(1), tp = shard(0)>>
  return %1 : tensor<8x4x6xf32, #sp.layout<dp = shard(1), tp = shard(0)>>
}
