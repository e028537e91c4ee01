// RUN: sp-opt %s --sp-verify-layouts --verify-roundtrip -o /dev/null
// What verifies can be localised, and is well-formed then.
// RUN: sp-opt %s --sp-localize --sp-verify-collectives -o /dev/null
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

func.func @vocabulary(%i: tensor<2x8xi64>, %t: tensor<8x2xi64>, %table: tensor<10x4xf32, #sp.layout<tp = shard(0)>>,
    %x: !x, %l: tensor<8x2x10xf32, #sp.layout<tp = shard(2)>>) {
  %ir = sp.copy %i : tensor<2x8xi64> -> tensor<2x8xi64, #sp.layout<tp = replicate>>
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  %xr = sp.copy %x : !x -> !xr
  // A rank has nothing for the tokens of the others, and of the table's gradient its rows.
  %0 = sp.embedding %ir, %table : (tensor<2x8xi64, #sp.layout<tp = replicate>>, tensor<10x4xf32, #sp.layout<tp = shard(0)>>) -> !xp
  %1 = sp.embedding_grad %xr, %ir : (!xr, tensor<2x8xi64, #sp.layout<tp = replicate>>) -> tensor<10x4xf32, #sp.layout<tp = shard(0)>>
  // Two parts, one for each rank; ten, five for each.
  %2 = sp.cross_entropy_parts %l, %tr ignore_index -100 : (tensor<8x2x10xf32, #sp.layout<tp = shard(2)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>>
  %3 = sp.cross_entropy_parts %l, %tr ignore_index -100 : (tensor<8x2x10xf32, #sp.layout<tp = shard(2)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> tensor<10x8x2x2xf32, #sp.layout<tp = shard(0)>>
  %4 = sp.all_gather %2 : tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>> -> tensor<2x8x2x2xf32>
  %5:2 = sp.cross_entropy_join %4, %t ignore_index -100 : (tensor<2x8x2x2xf32>, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  // The backward pass sends nothing.
  %6 = sp.cross_entropy_join_grad %5#0, %4, %t ignore_index -100 : (tensor<f32>, tensor<2x8x2x2xf32>, tensor<8x2xi64>) -> tensor<2x8x2x2xf32>
  %7 = sp.slice %6 : tensor<2x8x2x2xf32> -> tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>>
  %8 = sp.cross_entropy_parts_grad %7, %l, %tr ignore_index -100 : (tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x10xf32, #sp.layout<tp = shard(2)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> tensor<8x2x10xf32, #sp.layout<tp = shard(2)>>
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

//===----------------------------------------------------------------------===//
// The other combinations: replicate, batch shards, partial where linear
//===----------------------------------------------------------------------===//

func.func @linear_more(%x: !x, %b: !xb, %w: tensor<6x4xf32>, %column: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %bias: tensor<6xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : !x -> !xr
  %wr = sp.copy %w : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %wp = sp.zero_pad %column : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %bp = sp.zero_pad %bias : tensor<6xf32, #sp.layout<tp = shard(0)>> -> tensor<6xf32, #sp.layout<tp = partial>>
  %0 = sp.linear %xr, %wr : (!xr, tensor<6x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x6xf32, #sp.layout<tp = replicate>>
  %1 = sp.linear %b, %wr : (!xb, tensor<6x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(1)>>
  // Linear in the weight, and in the weight and the bias together.
  %2 = sp.linear %xr, %wp : (!xr, tensor<6x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  %3 = sp.linear %xr, %wp bias %bp : (!xr, tensor<6x4xf32, #sp.layout<tp = partial>>, tensor<6xf32, #sp.layout<tp = partial>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  return
}

func.func @elementwise_more(%x: !x, %b: !xb, %h: !xh, %w: !v) {
  %xr = sp.copy %x : !x -> !xr
  %wr = sp.copy %w : !v -> !vr
  %0 = sp.bias_add %xr, %wr : (!xr, !vr) -> !xr
  %1 = sp.bias_add %b, %wr : (!xb, !vr) -> !xb
  %2 = sp.scale %xr by 2.0 : (!xr) -> !xr
  %3 = sp.scale %h by 2.0 : (!xh) -> !xh
  %4 = sp.dropout %x p 0.1 op_id 2 : (!x) -> !x
  %5 = sp.dropout %xr p 0.1 op_id 3 : (!xr) -> !xr
  %6 = sp.dropout %h p 0.1 op_id 4 : (!xh) -> !xh
  %7 = sp.swiglu %xr, %xr : (!xr, !xr) -> !xr
  %8 = sp.swiglu %h, %h : (!xh, !xh) -> !xh
  return
}

func.func @attention_more(%q: !q, %k: !k, %kh: !kh, %qb: !qb) {
  %qr = sp.copy %q : !q -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  %kr = sp.copy %k : !k -> tensor<8x2x2x6xf32, #sp.layout<tp = replicate>>
  %vp = sp.zero_pad %kh : !kh -> tensor<8x2x2x6xf32, #sp.layout<tp = partial>>
  %qp = sp.zero_pad %qb : !qb -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  %0 = sp.attention %qr, %kr, %kr scale 1.0 : (tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x2x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x2x6xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  // Linear in the values alone.
  %1 = sp.attention %qr, %kr, %vp scale 1.0 causal : (tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x2x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x2x6xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  %c, %s = sp.rope_table theta 1.0e+04 : !t, !t
  %cr = sp.copy %c : !t -> !tr
  %sr = sp.copy %s : !t -> !tr
  %cs = sp.slice %c : !t -> !ts
  %ss = sp.slice %s : !t -> !ts
  %cp = sp.zero_pad %cs : !ts -> tensor<8x3xf32, #sp.layout<tp = partial>>
  %sp = sp.zero_pad %ss : !ts -> tensor<8x3xf32, #sp.layout<tp = partial>>
  %2 = sp.rope %qr, %cr, %sr : (tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, !tr, !tr) -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  %3 = sp.rope %qb, %cr, %sr : (!qb, !tr, !tr) -> !qb
  // Linear in the input, and in both tables together.
  %4 = sp.rope %qp, %cr, %sr : (tensor<8x2x4x6xf32, #sp.layout<tp = partial>>, !tr, !tr) -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  %5 = sp.rope %qr, %cp, %sp : (tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x3xf32, #sp.layout<tp = partial>>, tensor<8x3xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  return
}

func.func @lookup_and_loss_more(%i: tensor<2x8xi64>, %ib: tensor<2x8xi64, #sp.layout<tp = shard(0)>>, %table: tensor<10x4xf32>,
    %x: !x, %b: !xb, %t: tensor<8x2xi64>, %tb: tensor<8x2xi64, #sp.layout<tp = shard(1)>>) {
  %ir = sp.copy %i : tensor<2x8xi64> -> tensor<2x8xi64, #sp.layout<tp = replicate>>
  %tabler = sp.copy %table : tensor<10x4xf32> -> tensor<10x4xf32, #sp.layout<tp = replicate>>
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  %xr = sp.copy %x : !x -> !xr
  %0 = sp.embedding %ir, %tabler : (tensor<2x8xi64, #sp.layout<tp = replicate>>, tensor<10x4xf32, #sp.layout<tp = replicate>>) -> !xr
  // A batch shard is dimension 0 of the ids and dimension 1 of the result.
  %1 = sp.embedding %ib, %tabler : (tensor<2x8xi64, #sp.layout<tp = shard(0)>>, tensor<10x4xf32, #sp.layout<tp = replicate>>) -> !xb
  %2 = sp.shift_labels %ir ignore_index -100 : (tensor<2x8xi64, #sp.layout<tp = replicate>>) -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  %3:2 = sp.cross_entropy %xr, %tr ignore_index -100 : (!xr, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> (tensor<f32, #sp.layout<tp = replicate>>, tensor<f32, #sp.layout<tp = replicate>>)
  %4:2 = sp.cross_entropy %b, %tb ignore_index -100 : (!xb, tensor<8x2xi64, #sp.layout<tp = shard(1)>>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32, #sp.layout<tp = partial>>)
  %5 = sp.batch_major %x : (!x) -> tensor<2x8x4xf32>
  %6 = sp.batch_major %xr : (!xr) -> tensor<2x8x4xf32, #sp.layout<tp = replicate>>
  %7 = sp.batch_major %b : (!xb) -> tensor<2x8x4xf32, #sp.layout<tp = shard(0)>>
  return
}

func.func @arith_more(%x: !x, %s: !xs, %c: i1, %n: tensor<8xi64, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : !x -> !xr
  %p = sp.zero_pad %s : !xs -> !xp
  %np = sp.zero_pad %n : tensor<8xi64, #sp.layout<tp = shard(0)>> -> tensor<8xi64, #sp.layout<tp = partial>>
  %0 = arith.mulf %xr, %xr : !xr
  %1 = math.rsqrt %xr : !xr
  %2 = arith.truncf %s : !xs to tensor<8x2x4xbf16, #sp.layout<tp = shard(0)>>
  %3 = arith.cmpf olt, %s, %s : !xs
  // A scalar is the same on every rank: it mixes with all.
  %4 = arith.select %c, %s, %s : !xs
  // Widening is linear, unlike rounding.
  %5 = arith.extf %p : !xp to tensor<8x2x4xf64, #sp.layout<tp = partial>>
  %6 = arith.addi %np, %np : tensor<8xi64, #sp.layout<tp = partial>>
  return
}

// A linear op after another keeps a partial partial.
func.func @chain_of_linear_ops(%s: !xs, %w: tensor<6x4xf32>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(0)>> {
  %p = sp.zero_pad %s : !xs -> !xp
  %wr = sp.copy %w : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %0 = sp.scale %p by 0.5 : (!xp) -> !xp
  %1 = sp.dropout %0 p 0.5 op_id 5 : (!xp) -> !xp
  %2 = arith.addf %1, %p : !xp
  %3 = sp.linear %2, %wr : (!xp, tensor<6x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  %4 = sp.reduce_scatter %3 : tensor<8x2x6xf32, #sp.layout<tp = partial>> -> tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>
  return %4 : tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>
}

#bias = affine_map<(s, b, h) -> (b, h)>
#swap = affine_map<(s, b, h) -> (b, s, h)>
#rows = affine_map<(s, b, h) -> (s, b)>
func.func @linalg_more(%x: !x, %s: !xs, %b: !xb, %h: !xh, %bh: tensor<2x4xf32, #sp.layout<tp = shard(1)>>) {
  %xr = sp.copy %x : !x -> !xr
  %p = sp.zero_pad %s : !xs -> !xp
  %ir = tensor.empty() : !xr
  %is = tensor.empty() : !xs
  %ih = tensor.empty() : !xh
  %ip = tensor.empty() : !xp
  %it = tensor.empty() : tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>
  %itp = tensor.empty() : tensor<2x8x4xf32, #sp.layout<tp = partial>>
  %rows = tensor.empty() : tensor<8x2xf32, #sp.layout<tp = shard(0)>>
  %rowsp = tensor.empty() : tensor<8x2xf32, #sp.layout<tp = partial>>
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %replicate = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%xr : !xr) outs(%ir : !xr) {
    ^bb0(%a: f32, %o: f32):
      %e = math.exp %a : f32
      linalg.yield %e : f32
  } -> !xr
  // A broadcast operand that has the sharded dimension.
  %broadcast = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %bh : !xh, tensor<2x4xf32, #sp.layout<tp = shard(1)>>) outs(%ih : !xh) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %m = arith.addf %a, %c : f32
      linalg.yield %m : f32
  } -> !xh
  // A permuted map moves the shard to another dimension; partial stays partial.
  %permuted = linalg.generic {indexing_maps = [#id, #swap], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : !xs) outs(%it : tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
  } -> tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>
  %permuted_partial = linalg.generic {indexing_maps = [#id, #swap], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : !xp) outs(%itp : tensor<2x8x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
  } -> tensor<2x8x4xf32, #sp.layout<tp = partial>>
  // A reduction over a whole loop: the others may be sharded, the sum may be partial.
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<8x2xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2xf32, #sp.layout<tp = shard(0)>>
  %max = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : !xs) outs(%init : tensor<8x2xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.maximumf %a, %o : f32
      linalg.yield %m : f32
  } -> tensor<8x2xf32, #sp.layout<tp = shard(0)>>
  %initp = linalg.fill ins(%zero : f32) outs(%rowsp : tensor<8x2xf32, #sp.layout<tp = partial>>) -> tensor<8x2xf32, #sp.layout<tp = partial>>
  %sum = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p : !xp) outs(%initp : tensor<8x2xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.addf %a, %o : f32
      linalg.yield %m : f32
  } -> tensor<8x2xf32, #sp.layout<tp = partial>>
  // Linear bodies: a captured scalar as factor or divisor, a choice that does not
  // depend on the partial, a widening. The index of a whole loop is the same everywhere.
  %linear = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %xr : !xp, !xr) outs(%ip : !xp) {
    ^bb0(%a: f32, %r: f32, %o: f32):
      %f = math.exp %r : f32
      %m = arith.mulf %f, %a : f32
      %d = arith.divf %a, %two : f32
      %g = arith.cmpf ogt, %r, %zero : f32
      %e = arith.select %g, %m, %d : f32
      %t = arith.subf %e, %a : f32
      linalg.yield %t : f32
  } -> !xp
  %index = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : !xs) outs(%is : !xs) {
    ^bb0(%a: f32, %o: f32):
      %j = linalg.index 2 : index
      %k = arith.index_cast %j : index to i64
      %f = arith.sitofp %k : i64 to f32
      %m = arith.mulf %a, %f : f32
      linalg.yield %m : f32
  } -> !xs
  return
}

func.func @named_linalg(%s: !xs, %v: tensor<8xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : !xs -> !xp
  %is = tensor.empty() : !xs
  %ip = tensor.empty() : !xp
  %it = tensor.empty() : tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>
  %two = arith.constant 2.0 : f32
  %0 = linalg.exp ins(%s : !xs) outs(%is : !xs) -> !xs
  %1 = linalg.add ins(%p, %p : !xp, !xp) outs(%ip : !xp) -> !xp
  %2 = linalg.transpose ins(%s : !xs) outs(%it : tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>) permutation = [1, 0, 2]
  %3 = linalg.broadcast ins(%v : tensor<8xf32, #sp.layout<tp = shard(0)>>) outs(%is : !xs) dimensions = [1, 2]
  %4 = linalg.map {arith.mulf} ins(%s, %s : !xs, !xs) outs(%is : !xs)
  %5 = linalg.map {arith.negf} ins(%p : !xp) outs(%ip : !xp)
  %6 = linalg.elementwise kind=#linalg.elementwise_kind<exp> ins(%s : !xs) outs(%is : !xs) -> !xs
  // A fill is a splat: any shard of it is one, too.
  %7 = linalg.fill ins(%two : f32) outs(%is : !xs) -> !xs
  return
}

func.func @sources() {
  %zero_partial = arith.constant dense<0> : tensor<8xi64, #sp.layout<tp = partial>>
  %splat_shard = arith.constant dense<3> : tensor<8xi64, #sp.layout<tp = shard(0)>>
  %replicate = arith.constant dense<[1, 2]> : tensor<2xi64, #sp.layout<tp = replicate>>
  %two_axes = arith.constant dense<0.0> : tensor<8xf32, #sp.layout<dp = shard(0), tp = partial>>
  %scalar = arith.constant dense<0.0> : tensor<f32, #sp.layout<tp = partial>>
  return
}

func.func @reshapes_more(%x: !x, %s: !xs, %h: tensor<8x2x12xf32, #sp.layout<tp = shard(2)>>, %heads: tensor<8x2x4x3xf32, #sp.layout<tp = shard(2)>>,
    %flat: tensor<16x4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : !x -> !xr
  %p = sp.zero_pad %s : !xs -> !xp
  // There and back.
  %0 = tensor.collapse_shape %heads [[0], [1], [2, 3]] : tensor<8x2x4x3xf32, #sp.layout<tp = shard(2)>> into tensor<8x2x12xf32, #sp.layout<tp = shard(2)>>
  %1 = tensor.expand_shape %flat [[0, 1], [2]] output_shape [8, 2, 4] : tensor<16x4xf32, #sp.layout<tp = shard(0)>> into !xs
  // Any reshape of a replicate or partial tensor.
  %2 = tensor.collapse_shape %xr [[0, 1, 2]] : !xr into tensor<64xf32, #sp.layout<tp = replicate>>
  %3 = tensor.collapse_shape %p [[0, 1, 2]] : !xp into tensor<64xf32, #sp.layout<tp = partial>>
  // An extent of 1 in front is no dimension to split, when expanding either.
  %4 = tensor.expand_shape %flat [[0, 1], [2]] output_shape [1, 16, 4] : tensor<16x4xf32, #sp.layout<tp = shard(0)>> into tensor<1x16x4xf32, #sp.layout<tp = shard(1)>>
  return
}

// A layout change along one axis, whatever the other axis holds.
!two = tensor<8x4x4xf32, #sp.layout<dp = shard(1), tp = partial>>
func.func @changes_beside_another_axis(%x: tensor<8x4x4xf32, #sp.layout<dp = shard(1), tp = shard(0)>>) {
  %p = sp.zero_pad %x : tensor<8x4x4xf32, #sp.layout<dp = shard(1), tp = shard(0)>> -> !two
  %0 = sp.all_gather %p : !two -> tensor<8x4x4xf32, #sp.layout<tp = partial>>
  %1 = sp.all_gather %p : !two -> tensor<8x4x4xf32, #sp.layout<dp = replicate, tp = partial>>
  %2 = sp.zero_pad %p : !two -> tensor<8x4x4xf32, #sp.layout<dp = partial, tp = partial>>
  %3 = sp.all_reduce %2 : tensor<8x4x4xf32, #sp.layout<dp = partial, tp = partial>> -> tensor<8x4x4xf32, #sp.layout<dp = partial>>
  %4 = sp.reduce_scatter %2 : tensor<8x4x4xf32, #sp.layout<dp = partial, tp = partial>> -> tensor<8x4x4xf32, #sp.layout<dp = shard(0), tp = partial>>
  %5 = sp.copy %0 : tensor<8x4x4xf32, #sp.layout<tp = partial>> -> tensor<8x4x4xf32, #sp.layout<dp = replicate, tp = partial>>
  %6 = sp.slice %0 : tensor<8x4x4xf32, #sp.layout<tp = partial>> -> tensor<8x4x4xf32, #sp.layout<dp = shard(2), tp = partial>>
  return
}

// Bilinear ops take one partial operand per axis.
func.func @two_partial_operands(%x: tensor<8x4xf32, #sp.layout<dp = shard(0)>>, %w: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  %xp = sp.zero_pad %x : tensor<8x4xf32, #sp.layout<dp = shard(0)>> -> tensor<8x4xf32, #sp.layout<dp = partial>>
  %wp = sp.zero_pad %w : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %0 = sp.copy %xp : tensor<8x4xf32, #sp.layout<dp = partial>> -> tensor<8x4xf32, #sp.layout<dp = partial, tp = replicate>>
  %1 = sp.copy %wp : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<dp = replicate, tp = partial>>
  %2 = sp.linear %0, %1 : (tensor<8x4xf32, #sp.layout<dp = partial, tp = replicate>>, tensor<6x4xf32, #sp.layout<dp = replicate, tp = partial>>) -> tensor<8x6xf32, #sp.layout<dp = partial, tp = partial>>
  return
}

// A zero is linear in everything: what a linalg op selects instead of a partial value,
// and what it yields alone.
func.func @zero_or_partial(%x: !x, %s: !xs) -> (!x, !x) {
  %xr = sp.copy %x : !x -> !xr
  %p = sp.zero_pad %s : !xs -> !xp
  %i = tensor.empty() : !xp
  %0:2 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %xr : !xp, !xr) outs(%i, %i : !xp, !xp) {
    ^bb0(%a: f32, %b: f32, %o: f32, %q: f32):
      %zero = arith.constant 0.0 : f32
      %positive = arith.cmpf ogt, %b, %zero : f32
      %chosen = arith.select %positive, %a, %zero : f32
      linalg.yield %chosen, %zero : f32, f32
  } -> (!xp, !xp)
  %1 = sp.all_reduce %0#0 : !xp -> !x
  %2 = sp.all_reduce %0#1 : !xp -> !x
  return %1, %2 : !x, !x
}
