// RUN: sp-opt %s --split-input-file --sp-tensor-parallel="tp=2" --sp-verify-layouts --verify-diagnostics=only-expected --mlir-print-local-scope | FileCheck %s

// A column-parallel linear opens, a row-parallel one closes; its bias comes after
// the sum. The splat constant takes the shard's type; no copy of it is needed.

func.func @mlp_with_biases(%x: tensor<6x2x8xf32>,
    %w1: tensor<16x8xf32> {sp.param = "w1"}, %b1: tensor<16xf32> {sp.param = "b1"},
    %w2: tensor<8x16xf32> {sp.param = "w2"}, %b2: tensor<8xf32> {sp.param = "b2"}) -> tensor<6x2x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<6x2x16xf32>
  %h = sp.linear %x, %w1 bias %b1 : (tensor<6x2x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<6x2x16xf32>
  %r = arith.maximumf %h, %zero : tensor<6x2x16xf32>
  %o = sp.linear %r, %w2 bias %b2 : (tensor<6x2x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<6x2x8xf32>
  return %o : tensor<6x2x8xf32>
}
// CHECK: sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @mlp_with_biases
// CHECK-SAME:    %[[X:[^:]*]]: tensor<6x2x8xf32>,
// CHECK-SAME:    %[[W1:[^:]*]]: tensor<16x8xf32, #sp.layout<tp = shard(0)>> {sp.param = "w1"},
// CHECK-SAME:    %[[B1:[^:]*]]: tensor<16xf32, #sp.layout<tp = shard(0)>> {sp.param = "b1"},
// CHECK-SAME:    %[[W2:[^:]*]]: tensor<8x16xf32, #sp.layout<tp = shard(1)>> {sp.param = "w2"},
// CHECK-SAME:    %[[B2:[^:]*]]: tensor<8xf32> {sp.param = "b2"})
// CHECK-NEXT:    %[[XR:.*]] = sp.copy %[[X]]
// CHECK-NEXT:    %[[H:.*]] = sp.linear %[[XR]], %[[W1]] bias %[[B1]] : {{.*}} -> tensor<6x2x16xf32, #sp.layout<tp = shard(2)>>
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<6x2x16xf32, #sp.layout<tp = shard(2)>>
// CHECK-NEXT:    %[[R:.*]] = arith.maximumf %[[H]], %[[ZERO]] : tensor<6x2x16xf32, #sp.layout<tp = shard(2)>>
// CHECK-NEXT:    %[[P:.*]] = sp.linear %[[R]], %[[W2]] : {{.*}} -> tensor<6x2x8xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[S:.*]] = sp.all_reduce %[[P]] : {{.*}} -> tensor<6x2x8xf32>
// CHECK-NEXT:    %[[O:.*]] = sp.bias_add %[[S]], %[[B2]]
// CHECK-NEXT:    return %[[O]]

// -----

// The same written with linalg: the region is found by layout rules, not op names.

func.func @linalg_relu(%x: tensor<12x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<12x8xf32> {
  %zero = arith.constant 0.0 : f32
  %h = sp.linear %x, %w1 : (tensor<12x8xf32>, tensor<16x8xf32>) -> tensor<12x16xf32>
  %init = tensor.empty() : tensor<12x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<12x16xf32>) outs(%init : tensor<12x16xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.maximumf %a, %zero : f32
      linalg.yield %m : f32
  } -> tensor<12x16xf32>
  %o = sp.linear %r, %w2 : (tensor<12x16xf32>, tensor<8x16xf32>) -> tensor<12x8xf32>
  return %o : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @linalg_relu
// CHECK:         tensor.empty() : tensor<12x16xf32, #sp.layout<tp = shard(1)>>
// CHECK:         linalg.generic
// CHECK:         -> tensor<12x16xf32, #sp.layout<tp = shard(1)>>
// CHECK:         sp.all_reduce

// -----

// A sharded value that something else needs whole: no region, and the remark says why.

func.func @hidden_returned(%x: tensor<6x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> (tensor<6x8xf32>, tensor<6x16xf32>) {
  // expected-remark @below {{`sp.linear` stays whole: argument #0 comes from outside as a whole}}
  %h = sp.linear %x, %w1 : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  // expected-remark @below {{`sp.linear` stays whole: the result of `sp.linear` is also needed whole, by `func.return`}}
  %o = sp.linear %h, %w2 : (tensor<6x16xf32>, tensor<8x16xf32>) -> tensor<6x8xf32>
  return %o, %h : tensor<6x8xf32>, tensor<6x16xf32>
}
// CHECK-LABEL: func.func @hidden_returned
// CHECK-NOT:     sp.layout

// -----

// A weight with two uses (tied) is not sharded.

func.func @tied(%x: tensor<6x8xf32>, %w: tensor<8x8xf32> {sp.param = "w"}) -> tensor<6x8xf32> {
  // expected-remark @below {{`w` has other uses}}
  %h = sp.linear %x, %w : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  // expected-remark @below {{`w` has other uses}}
  %o = sp.linear %h, %w : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----

// A norm over the feature dimension ends a region: it needs the whole of it.

func.func @norm_between(%x: tensor<6x8xf32>, %w1: tensor<16x8xf32>, %g: tensor<16xf32>, %w2: tensor<8x16xf32>) -> tensor<6x8xf32> {
  // expected-remark @below {{stays whole}}
  %h = sp.linear %x, %w1 : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %n = sp.rms_norm %h, %g eps 1.0e-05 : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  // expected-remark @below {{`sp.rms_norm` needs the whole of dimension 1}}
  %o = sp.linear %n, %w2 : (tensor<6x16xf32>, tensor<8x16xf32>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----

// A constant whose elements differ: each rank takes its part.

func.func @constant_in_region(%x: tensor<2x1x4xf32>, %w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>) -> tensor<2x1x4xf32> {
  %c = arith.constant dense<[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]]]> : tensor<2x1x4xf32>
  %h = sp.linear %x, %w1 : (tensor<2x1x4xf32>, tensor<4x4xf32>) -> tensor<2x1x4xf32>
  %m = arith.mulf %h, %c : tensor<2x1x4xf32>
  %o = sp.linear %m, %w2 : (tensor<2x1x4xf32>, tensor<4x4xf32>) -> tensor<2x1x4xf32>
  return %o : tensor<2x1x4xf32>
}
// CHECK-LABEL: func.func @constant_in_region
// CHECK:         %[[C:.*]] = arith.constant {{.*}} : tensor<2x1x4xf32>
// CHECK:         %[[H:.*]] = sp.linear
// CHECK-NEXT:    %[[CS:.*]] = sp.slice %[[C]] : tensor<2x1x4xf32> -> tensor<2x1x4xf32, #sp.layout<tp = shard(2)>>
// CHECK-NEXT:    arith.mulf %[[H]], %[[CS]] : tensor<2x1x4xf32, #sp.layout<tp = shard(2)>>
// CHECK:         sp.all_reduce
