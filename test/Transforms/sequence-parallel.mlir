// RUN: sp-opt %s --split-input-file --sp-parallelize="tp=2" --verify-diagnostics=only-expected --mlir-print-local-scope | FileCheck %s

// Two-layer MLP: 1 all-gather + 1 reduce-scatter. The bias and the residual are on
// the shard; the bias goes in through `copy`, whose adjoint sums its gradient.

func.func @mlp(%x: tensor<6x2x8xf32>, %g: tensor<8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>, %b2: tensor<8xf32>) -> tensor<6x2x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<6x2x16xf32>
  %n = sp.rms_norm %x, %g eps 1.0e-05 : (tensor<6x2x8xf32>, tensor<8xf32>) -> tensor<6x2x8xf32>
  %h = sp.linear %n, %w1 : (tensor<6x2x8xf32>, tensor<16x8xf32>) -> tensor<6x2x16xf32>
  %r = arith.maximumf %h, %zero : tensor<6x2x16xf32>
  %o = sp.linear %r, %w2 bias %b2 : (tensor<6x2x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<6x2x8xf32>
  %y = arith.addf %o, %x : tensor<6x2x8xf32>
  return %y : tensor<6x2x8xf32>
}
// CHECK-LABEL: func.func @mlp
// CHECK-SAME:    %[[X:[^:]*]]: tensor<6x2x8xf32>, %[[G:[^:]*]]: tensor<8xf32>
// CHECK-SAME:    %[[B2:[^:]*]]: tensor<8xf32>)
// CHECK-NEXT:    %[[XS:.*]] = sp.slice %[[X]]
// CHECK-NEXT:    %[[GR:.*]] = sp.copy %[[G]]
// CHECK-NEXT:    %[[N:.*]] = sp.rms_norm %[[XS]], %[[GR]]
// CHECK-NEXT:    %[[NG:.*]] = sp.all_gather %[[N]] : {{.*}} -> tensor<6x2x8xf32, #sp.layout<tp = replicate>>
// CHECK-NEXT:    sp.linear %[[NG]]
// CHECK:         %[[RS:.*]] = sp.reduce_scatter
// CHECK-NEXT:    %[[BR:.*]] = sp.copy %[[B2]]
// CHECK-NEXT:    %[[O:.*]] = sp.bias_add %[[RS]], %[[BR]]
// CHECK-NEXT:    %[[Y:.*]] = arith.addf %[[O]], %[[XS]]
// CHECK-NEXT:    return %[[Y]] : tensor<6x2x8xf32, #sp.layout<tp = shard(0)>>

// -----

// An op that mixes tokens reads the hidden state: one gather to invariant serves
// it, and none of the region is lost.

func.func @full_sequence_user(%x: tensor<6x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>, %w3: tensor<4x8xf32>) -> (tensor<6x2x8xf32>, tensor<6x2x4xf32>) {
  %h = sp.linear %x, %w1 : (tensor<6x2x8xf32>, tensor<16x8xf32>) -> tensor<6x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<6x2x16xf32>, tensor<8x16xf32>) -> tensor<6x2x8xf32>
  %y = arith.addf %x, %o : tensor<6x2x8xf32>
  // expected-remark @below {{stays whole}}
  %z = sp.linear %y, %w3 : (tensor<6x2x8xf32>, tensor<4x8xf32>) -> tensor<6x2x4xf32>
  return %y, %z : tensor<6x2x8xf32>, tensor<6x2x4xf32>
}
// CHECK-LABEL: func.func @full_sequence_user
// CHECK:         %[[RS:.*]] = sp.reduce_scatter
// CHECK:         %[[Y:.*]] = arith.addf {{.*}}, %[[RS]] : tensor<6x2x8xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    %[[YI:.*]] = sp.all_gather %[[Y]] : {{.*}} -> tensor<6x2x8xf32>
// CHECK-NEXT:    %[[Z:.*]] = sp.linear %[[YI]]
// CHECK-NEXT:    return %[[Y]], %[[Z]]

// -----

// A value that both a region and a whole user read: ONE gather, to invariant, and
// the copies into the region take that.

func.func @region_and_whole_user(%x: tensor<6x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>,
    %w3: tensor<16x8xf32>, %w4: tensor<8x16xf32>, %w5: tensor<4x8xf32>) -> (tensor<6x2x8xf32>, tensor<6x2x4xf32>) {
  %0 = sp.linear %x, %w1 : (tensor<6x2x8xf32>, tensor<16x8xf32>) -> tensor<6x2x16xf32>
  %1 = sp.linear %0, %w2 : (tensor<6x2x16xf32>, tensor<8x16xf32>) -> tensor<6x2x8xf32>
  %2 = arith.negf %1 : tensor<6x2x8xf32>
  %3 = sp.linear %2, %w3 : (tensor<6x2x8xf32>, tensor<16x8xf32>) -> tensor<6x2x16xf32>
  %4 = sp.linear %3, %w4 : (tensor<6x2x16xf32>, tensor<8x16xf32>) -> tensor<6x2x8xf32>
  // expected-remark @below {{stays whole}}
  %5 = sp.linear %2, %w5 : (tensor<6x2x8xf32>, tensor<4x8xf32>) -> tensor<6x2x4xf32>
  return %4, %5 : tensor<6x2x8xf32>, tensor<6x2x4xf32>
}
// CHECK-LABEL: func.func @region_and_whole_user
// CHECK:         sp.reduce_scatter
// CHECK-NEXT:    %[[N:.*]] = arith.negf
// CHECK-NEXT:    %[[W:.*]] = sp.all_gather %[[N]] : {{.*}} -> tensor<6x2x8xf32>
// CHECK-NEXT:    %[[R:.*]] = sp.copy %[[W]]
// CHECK-NEXT:    sp.linear %[[R]]
// CHECK-NOT:     sp.all_gather
// CHECK:         sp.reduce_scatter
// CHECK-NEXT:    sp.linear %[[W]]

// -----

// The norm written out in linalg and arith, the add swapped: the same treatment,
// since what is token-local follows from the rules.

#id = affine_map<(s, b, h) -> (s, b, h)>
#w = affine_map<(s, b, h) -> (h)>
func.func @upstream_ops(%x: tensor<6x2x8xf32>, %g: tensor<8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<6x2x8xf32> {
  %init = tensor.empty() : tensor<6x2x8xf32>
  %n = linalg.generic {indexing_maps = [#id, #w, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %g : tensor<6x2x8xf32>, tensor<8xf32>) outs(%init : tensor<6x2x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
  } -> tensor<6x2x8xf32>
  %h = sp.linear %n, %w1 : (tensor<6x2x8xf32>, tensor<16x8xf32>) -> tensor<6x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<6x2x16xf32>, tensor<8x16xf32>) -> tensor<6x2x8xf32>
  %y = arith.addf %o, %x : tensor<6x2x8xf32>
  %z = math.tanh %y : tensor<6x2x8xf32>
  return %z : tensor<6x2x8xf32>
}
// CHECK-LABEL: func.func @upstream_ops
// CHECK-DAG:     %[[XS:.*]] = sp.slice %{{.*}} : tensor<6x2x8xf32> -> tensor<6x2x8xf32, #sp.layout<tp = shard(0)>>
// CHECK-DAG:     tensor.empty() : tensor<6x2x8xf32, #sp.layout<tp = shard(0)>>
// CHECK:         linalg.generic
// CHECK:         -> tensor<6x2x8xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    sp.all_gather
// CHECK:         %[[RS:.*]] = sp.reduce_scatter
// CHECK-NEXT:    arith.addf %[[RS]], %[[XS]]
// CHECK-NEXT:    math.tanh

// -----

// A rope outside every region: its table follows the shard.

func.func @rope_follows(%x: tensor<6x2x2x4xf32>, %w1: tensor<8x4xf32>, %w2: tensor<4x8xf32>) -> tensor<6x2x2x4xf32> {
  %cos, %sin = sp.rope_table theta 1.0e+04 : tensor<6x2xf32>, tensor<6x2xf32>
  %h = sp.linear %x, %w1 : (tensor<6x2x2x4xf32>, tensor<8x4xf32>) -> tensor<6x2x2x8xf32>
  %o = sp.linear %h, %w2 : (tensor<6x2x2x8xf32>, tensor<4x8xf32>) -> tensor<6x2x2x4xf32>
  %y = sp.rope %o, %cos, %sin : (tensor<6x2x2x4xf32>, tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2x2x4xf32>
  return %y : tensor<6x2x2x4xf32>
}
// CHECK-LABEL: func.func @rope_follows
// CHECK:         %[[COS:.*]], %[[SIN:.*]] = sp.rope_table
// CHECK-DAG:     %[[COSS:.*]] = sp.slice %[[COS]] : tensor<6x2xf32> -> tensor<6x2xf32, #sp.layout<tp = shard(0)>>
// CHECK-DAG:     %[[SINS:.*]] = sp.slice %[[SIN]]
// CHECK:         sp.rope %{{.*}}, %[[COSS]], %[[SINS]]

// -----

// A constant whose elements differ is no work to share: the readers on the shard
// take their part of it.

func.func @constant_beside_shard(%x: tensor<2x1x4xf32>, %w1: tensor<8x4xf32>, %w2: tensor<4x8xf32>) -> tensor<2x1x4xf32> {
  %c = arith.constant dense<[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]]]> : tensor<2x1x4xf32>
  %h = sp.linear %x, %w1 : (tensor<2x1x4xf32>, tensor<8x4xf32>) -> tensor<2x1x8xf32>
  %o = sp.linear %h, %w2 : (tensor<2x1x8xf32>, tensor<4x8xf32>) -> tensor<2x1x4xf32>
  %y = arith.mulf %o, %c : tensor<2x1x4xf32>
  return %y : tensor<2x1x4xf32>
}
// CHECK-LABEL: func.func @constant_beside_shard
// CHECK:         %[[C:.*]] = arith.constant {{.*}} : tensor<2x1x4xf32>
// CHECK:         %[[CS:.*]] = sp.slice %[[C]] : tensor<2x1x4xf32> -> tensor<2x1x4xf32, #sp.layout<tp = shard(0)>>
// CHECK:         %[[RS:.*]] = sp.reduce_scatter
// CHECK:         arith.mulf %[[RS]], %[[CS]]

// -----

// A sum over tokens of nothing but what the region reduces: on the shard it is
// partial.

func.func @sum_of_reduction(%x: tensor<6x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<f32> {
  %h = sp.linear %x, %w1 : (tensor<6x2x8xf32>, tensor<16x8xf32>) -> tensor<6x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<6x2x16xf32>, tensor<8x16xf32>) -> tensor<6x2x8xf32>
  %s = sp.sum_leading %o count 3 : (tensor<6x2x8xf32>) -> tensor<f32>
  return %s : tensor<f32>
}
// CHECK-LABEL: func.func @sum_of_reduction
// CHECK:         %[[RS:.*]] = sp.reduce_scatter
// CHECK-NEXT:    %[[S:.*]] = sp.sum_leading %[[RS]] count 3 : {{.*}} -> tensor<f32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[A:.*]] = sp.all_reduce %[[S]]
// CHECK-NEXT:    return %[[A]]

// -----

// A region on a mean over the sequence reduces no hidden state: its dimension 0, the
// batch, does not divide, and it stays whole. The batch of the hidden state is not
// sharded for it.

func.func @pooled(%x: tensor<6x3x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>, %w3: tensor<16x8xf32>, %w4: tensor<8x16xf32>) -> tensor<6x3x8xf32> {
  %p = sp.sum_leading %x count 1 : (tensor<6x3x8xf32>) -> tensor<3x8xf32>
  %h = sp.linear %p, %w1 : (tensor<3x8xf32>, tensor<16x8xf32>) -> tensor<3x16xf32>
  // expected-remark @below {{stays whole}}
  %o = sp.linear %h, %w2 : (tensor<3x16xf32>, tensor<8x16xf32>) -> tensor<3x8xf32>
  %b = sp.broadcast_leading %o count 1 : (tensor<3x8xf32>) -> tensor<6x3x8xf32>
  %y = arith.mulf %x, %b : tensor<6x3x8xf32>
  %h2 = sp.linear %y, %w3 : (tensor<6x3x8xf32>, tensor<16x8xf32>) -> tensor<6x3x16xf32>
  %o2 = sp.linear %h2, %w4 : (tensor<6x3x16xf32>, tensor<8x16xf32>) -> tensor<6x3x8xf32>
  %z = arith.addf %y, %o2 : tensor<6x3x8xf32>
  return %z : tensor<6x3x8xf32>
}
// CHECK-LABEL: func.func @pooled
// CHECK:         sp.all_reduce %{{.*}} -> tensor<3x8xf32>
// CHECK:         arith.mulf {{.*}} : tensor<6x3x8xf32, #sp.layout<tp = shard(0)>>
// CHECK:         sp.reduce_scatter
// CHECK:         return %{{.*}} : tensor<6x3x8xf32, #sp.layout<tp = shard(0)>>

// -----

// A region on a vector reduces features, not tokens.

func.func @vector(%x: tensor<6x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<6x2x8xf32> {
  %p = sp.sum_leading %x count 2 : (tensor<6x2x8xf32>) -> tensor<8xf32>
  %h = sp.linear %p, %w1 : (tensor<8xf32>, tensor<16x8xf32>) -> tensor<16xf32>
  // expected-remark @below {{stays whole}}
  %o = sp.linear %h, %w2 : (tensor<16xf32>, tensor<8x16xf32>) -> tensor<8xf32>
  %b = sp.broadcast_leading %o count 2 : (tensor<8xf32>) -> tensor<6x2x8xf32>
  %y = arith.mulf %x, %b : tensor<6x2x8xf32>
  return %y : tensor<6x2x8xf32>
}
// CHECK-LABEL: func.func @vector
// CHECK:         sp.all_reduce %{{.*}} -> tensor<8xf32>
// CHECK-NOT:     shard(2)
// CHECK:         return %{{.*}} : tensor<6x2x8xf32>
