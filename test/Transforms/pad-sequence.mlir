// RUN: sp-opt %s --sp-tensor-parallel=tp=2 --sp-pad-sequence --sp-verify-layouts --mlir-print-local-scope --split-input-file --verify-diagnostics=only-expected | FileCheck -enable-var-scope %s

// What enters is padded by its last token, what leaves is cut; all between has one
// more token, and the sum over tokens reads the five that there are.
// CHECK-LABEL: func.func @mlp
// CHECK-SAME:    %[[X:[^:]*]]: tensor<5x2x8xf32>
// CHECK-SAME:    -> (tensor<5x2x8xf32>, tensor<8xf32>)
// CHECK:         %[[P:.*]] = sp.pad %[[X]] dim 0 : tensor<5x2x8xf32> -> tensor<6x2x8xf32>
// CHECK:         sp.linear {{.*}} -> tensor<6x2x16xf32, #sp.layout<tp = shard(2)>>
// CHECK:         %[[O:.*]] = sp.all_reduce {{.*}} -> tensor<6x2x8xf32>
// CHECK:         %[[Y:.*]] = arith.addf %[[P]], %[[O]] : tensor<6x2x8xf32>
// CHECK-NEXT:    %[[C:.*]] = sp.unpad %[[Y]] dim 0 : tensor<6x2x8xf32> -> tensor<5x2x8xf32>
// CHECK-NEXT:    %[[S:.*]] = sp.sum_leading %[[C]] count 2
// CHECK-NEXT:    return %[[C]], %[[S]]
func.func @mlp(%x: tensor<5x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> (tensor<5x2x8xf32>, tensor<8xf32>) {
  %h = sp.linear %x, %w1 : (tensor<5x2x8xf32>, tensor<16x8xf32>) -> tensor<5x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<5x2x16xf32>, tensor<8x16xf32>) -> tensor<5x2x8xf32>
  %y = arith.addf %x, %o : tensor<5x2x8xf32>
  %s = sp.sum_leading %y count 2 : (tensor<5x2x8xf32>) -> tensor<8xf32>
  return %y, %s : tensor<5x2x8xf32>, tensor<8xf32>
}

// -----

// Flattened tokens: sequence-major, so they too are padded at the end. A splat is
// made longer.
// CHECK-LABEL: func.func @flat
// CHECK:         %[[P:.*]] = sp.pad %{{.*}} dim 0 : tensor<3x2x8xf32> -> tensor<4x2x8xf32>
// CHECK:         tensor.collapse_shape %[[P]] {{.*}} : tensor<4x2x8xf32> into tensor<8x8xf32>
// CHECK:         arith.constant dense<2.000000e+00> : tensor<4x2x8xf32>
// CHECK:         tensor.expand_shape {{.*}} output_shape [4, 2, 8] : tensor<8x8xf32> into tensor<4x2x8xf32>
// CHECK:         sp.unpad {{.*}} dim 0 : tensor<4x2x8xf32> -> tensor<3x2x8xf32>
func.func @flat(%x: tensor<3x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<3x2x8xf32> {
  %f = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x2x8xf32> into tensor<6x8xf32>
  %h = sp.linear %f, %w1 : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %o = sp.linear %h, %w2 : (tensor<6x16xf32>, tensor<8x16xf32>) -> tensor<6x8xf32>
  %two = arith.constant dense<2.0> : tensor<3x2x8xf32>
  %e = tensor.expand_shape %o [[0, 1], [2]] output_shape [3, 2, 8] : tensor<6x8xf32> into tensor<3x2x8xf32>
  %y = arith.mulf %e, %two : tensor<3x2x8xf32>
  return %y : tensor<3x2x8xf32>
}

// -----

// Causal attention sees nothing behind a token ...
// CHECK-LABEL: func.func @causal
// CHECK:         sp.attention {{.*}} causal : {{.*}} -> tensor<4x2x2x4xf32
// CHECK:         sp.unpad {{.*}} dim 0 : tensor<4x2x8xf32> -> tensor<3x2x8xf32>
// CHECK-NEXT:    return
func.func @causal(%x: tensor<3x2x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>) -> tensor<3x2x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<3x2x8xf32>, tensor<8x8xf32>) -> tensor<3x2x8xf32>
  %q = tensor.expand_shape %h [[0], [1], [2, 3]] output_shape [3, 2, 2, 4] : tensor<3x2x8xf32> into tensor<3x2x2x4xf32>
  %a = sp.attention %q, %q, %q scale 0.5 causal : (tensor<3x2x2x4xf32>, tensor<3x2x2x4xf32>, tensor<3x2x2x4xf32>) -> tensor<3x2x2x4xf32>
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<3x2x2x4xf32> into tensor<3x2x8xf32>
  %o = sp.linear %c, %w2 : (tensor<3x2x8xf32>, tensor<8x8xf32>) -> tensor<3x2x8xf32>
  %y = arith.addf %x, %o : tensor<3x2x8xf32>
  return %y : tensor<3x2x8xf32>
}

// -----

// ... the other kind gets what there is.
// CHECK-LABEL: func.func @all_to_all
// CHECK:         %[[Q:.*]] = tensor.expand_shape {{.*}} into tensor<4x2x2x4xf32
// CHECK-NEXT:    %[[C:.*]] = sp.unpad %[[Q]] dim 0 : {{.*}} -> tensor<3x2x2x4xf32
// CHECK-NEXT:    %[[A:.*]] = sp.attention %[[C]], %[[C]], %[[C]] scale 5.000000e-01 :
// CHECK-NEXT:    %[[P:.*]] = sp.pad %[[A]] dim 0 : {{.*}} -> tensor<4x2x2x4xf32
// CHECK-NEXT:    tensor.collapse_shape %[[P]]
func.func @all_to_all(%x: tensor<3x2x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>) -> tensor<3x2x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<3x2x8xf32>, tensor<8x8xf32>) -> tensor<3x2x8xf32>
  %q = tensor.expand_shape %h [[0], [1], [2, 3]] output_shape [3, 2, 2, 4] : tensor<3x2x8xf32> into tensor<3x2x2x4xf32>
  %a = sp.attention %q, %q, %q scale 0.5 : (tensor<3x2x2x4xf32>, tensor<3x2x2x4xf32>, tensor<3x2x2x4xf32>) -> tensor<3x2x2x4xf32>
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<3x2x2x4xf32> into tensor<3x2x8xf32>
  %o = sp.linear %c, %w2 : (tensor<3x2x8xf32>, tensor<8x8xf32>) -> tensor<3x2x8xf32>
  %y = arith.addf %x, %o : tensor<3x2x8xf32>
  return %y : tensor<3x2x8xf32>
}

// -----

// Token ids repeat the last one, targets are ignored behind it.
// CHECK-LABEL: func.func @loss
// CHECK-SAME:    %[[IDS:[^:]*]]: tensor<2x3xi64>{{[^%]*}}%[[TARGETS:[^:]*]]: tensor<3x2xi64>
// CHECK-DAG:     sp.pad %[[IDS]] dim 1 : tensor<2x3xi64> -> tensor<2x4xi64>
// CHECK-DAG:     %[[T:.*]] = sp.pad %[[TARGETS]] dim 0 fill -100 : tensor<3x2xi64> -> tensor<4x2xi64>
// CHECK:         sp.cross_entropy %{{.*}}, %[[T]] ignore_index -100 : (tensor<4x2x8xf32>, tensor<4x2xi64>)
func.func @loss(%ids: tensor<2x3xi64>, %targets: tensor<3x2xi64>, %table: tensor<8x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<f32> {
  %x = sp.embedding %ids, %table : (tensor<2x3xi64>, tensor<8x8xf32>) -> tensor<3x2x8xf32>
  %h = sp.linear %x, %w1 : (tensor<3x2x8xf32>, tensor<16x8xf32>) -> tensor<3x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<3x2x16xf32>, tensor<8x16xf32>) -> tensor<3x2x8xf32>
  %sum, %count = sp.cross_entropy %o, %targets ignore_index -100 : (tensor<3x2x8xf32>, tensor<3x2xi64>) -> (tensor<f32>, tensor<f32>)
  return %sum : tensor<f32>
}

// -----

// A sequence that divides stays as it is.
// CHECK-LABEL: func.func @even
// CHECK-NOT:     sp.pad
// CHECK-NOT:     sp.unpad
// CHECK:         return
func.func @even(%x: tensor<4x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<4x2x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<4x2x8xf32>, tensor<16x8xf32>) -> tensor<4x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<4x2x16xf32>, tensor<8x16xf32>) -> tensor<4x2x8xf32>
  return %o : tensor<4x2x8xf32>
}

// -----

// Another sequence, of a length that divides: it is no reason to pad to a multiple of
// what both have in common.
// CHECK-LABEL: func.func @unrelated_lengths
// CHECK:         sp.pad %{{.*}} dim 0 : tensor<7x2x8xf32> -> tensor<8x2x8xf32>
// CHECK-NOT:     sp.pad
// CHECK:         return %{{.*}}, %{{.*}} : tensor<7x2x8xf32>, tensor<4x2x8xf32>
func.func @unrelated_lengths(%x: tensor<7x2x8xf32>, %y: tensor<4x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>, %v1: tensor<16x8xf32>, %v2: tensor<8x16xf32>) -> (tensor<7x2x8xf32>, tensor<4x2x8xf32>) {
  %h = sp.linear %x, %w1 : (tensor<7x2x8xf32>, tensor<16x8xf32>) -> tensor<7x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<7x2x16xf32>, tensor<8x16xf32>) -> tensor<7x2x8xf32>
  %h2 = sp.linear %y, %v1 : (tensor<4x2x8xf32>, tensor<16x8xf32>) -> tensor<4x2x16xf32>
  %o2 = sp.linear %h2, %v2 : (tensor<4x2x16xf32>, tensor<8x16xf32>) -> tensor<4x2x8xf32>
  return %o, %o2 : tensor<7x2x8xf32>, tensor<4x2x8xf32>
}

// -----

// The end is cut off before the transposition at the exit, so that it is not moved ...
// CHECK-LABEL: func.func @cut_after_transpose
// CHECK:         %[[O:.*]] = sp.all_reduce {{.*}} -> tensor<4x2x8xf32>
// CHECK-NEXT:    %[[C:.*]] = sp.unpad %[[O]] dim 0 : tensor<4x2x8xf32> -> tensor<3x2x8xf32>
// CHECK-NEXT:    sp.batch_major %[[C]] : (tensor<3x2x8xf32>) -> tensor<2x3x8xf32>
// CHECK-NEXT:    return
func.func @cut_after_transpose(%x: tensor<3x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<2x3x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<3x2x8xf32>, tensor<16x8xf32>) -> tensor<3x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<3x2x16xf32>, tensor<8x16xf32>) -> tensor<3x2x8xf32>
  %y = sp.batch_major %o : (tensor<3x2x8xf32>) -> tensor<2x3x8xf32>
  return %y : tensor<2x3x8xf32>
}

// -----

// ... and is not cut off at all if work on each token follows.
// CHECK-LABEL: func.func @transpose_within
// CHECK:         sp.batch_major %{{.*}} : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    arith.negf
// CHECK-NEXT:    sp.unpad %{{.*}} dim 1 : tensor<2x4x8xf32> -> tensor<2x3x8xf32>
func.func @transpose_within(%x: tensor<3x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<2x3x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<3x2x8xf32>, tensor<16x8xf32>) -> tensor<3x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<3x2x16xf32>, tensor<8x16xf32>) -> tensor<3x2x8xf32>
  %y = sp.batch_major %o : (tensor<3x2x8xf32>) -> tensor<2x3x8xf32>
  %z = arith.negf %y : tensor<2x3x8xf32>
  return %z : tensor<2x3x8xf32>
}

// -----

// What runs without padding is named: attention that is not causal, and sums over the
// tokens that there are, transposed or not.
// CHECK-LABEL: func.func @silent_mixers
// CHECK:         sp.attention {{.*}} -> tensor<5x1x4x2xf32, #sp.layout<tp = shard(2)>>
// CHECK:         sp.sum_leading {{.*}} : (tensor<5x1x8xf32>) -> tensor<1x8xf32>
// CHECK:         sp.sum_leading {{.*}} : (tensor<1x5x8xf32>) -> tensor<8xf32>
func.func @silent_mixers(%x: tensor<5x1x8xf32>, %wq: tensor<8x8xf32>, %wo: tensor<8x8xf32>) -> (tensor<1x8xf32>, tensor<8xf32>) {
  %q = sp.linear %x, %wq : (tensor<5x1x8xf32>, tensor<8x8xf32>) -> tensor<5x1x8xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [5, 1, 4, 2] : tensor<5x1x8xf32> into tensor<5x1x4x2xf32>
  // expected-remark @below {{`sp.attention` runs without padding}}
  %a = sp.attention %qh, %qh, %qh scale 0.5 : (tensor<5x1x4x2xf32>, tensor<5x1x4x2xf32>, tensor<5x1x4x2xf32>) -> tensor<5x1x4x2xf32>
  %ac = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<5x1x4x2xf32> into tensor<5x1x8xf32>
  %o = sp.linear %ac, %wo : (tensor<5x1x8xf32>, tensor<8x8xf32>) -> tensor<5x1x8xf32>
  %y = arith.addf %x, %o : tensor<5x1x8xf32>
  // expected-remark @below {{`sp.sum_leading` runs without padding}}
  %s = sp.sum_leading %y count 1 : (tensor<5x1x8xf32>) -> tensor<1x8xf32>
  %mean = sp.scale %s by 0.2 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %t = sp.batch_major %y : (tensor<5x1x8xf32>) -> tensor<1x5x8xf32>
  // expected-remark @below {{`sp.sum_leading` runs without padding}}
  %all = sp.sum_leading %t count 2 : (tensor<1x5x8xf32>) -> tensor<8xf32>
  return %mean, %all : tensor<1x8xf32>, tensor<8xf32>
}

// -----

// Targets that are computed for each token: behind their end is what is ignored, not
// what would be computed there.
// CHECK-LABEL: func.func @computed_targets
// CHECK:         %[[T:.*]] = arith.addi %{{.*}}, %{{.*}} : tensor<8x1xi64>
// CHECK-NEXT:    %[[C:.*]] = sp.unpad %[[T]] dim 0 : tensor<8x1xi64> -> tensor<7x1xi64>
// CHECK-NEXT:    %[[P:.*]] = sp.pad %[[C]] dim 0 fill 3 : tensor<7x1xi64> -> tensor<8x1xi64>
// CHECK:         sp.cross_entropy %{{.*}}, %[[P]] ignore_index 3
func.func @computed_targets(%ids: tensor<7x1xi64>, %x: tensor<7x1x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<f32> {
  %one = arith.constant dense<1> : tensor<7x1xi64>
  %t = arith.addi %ids, %one : tensor<7x1xi64>
  %h = sp.linear %x, %w1 : (tensor<7x1x8xf32>, tensor<16x8xf32>) -> tensor<7x1x16xf32>
  %y = sp.linear %h, %w2 : (tensor<7x1x16xf32>, tensor<8x16xf32>) -> tensor<7x1x8xf32>
  %sum, %count = sp.cross_entropy %y, %t ignore_index 3 : (tensor<7x1x8xf32>, tensor<7x1xi64>) -> (tensor<f32>, tensor<f32>)
  return %sum : tensor<f32>
}

// -----

// So is it behind targets that are all the same.
// CHECK-LABEL: func.func @constant_targets
// CHECK:         %[[T:.*]] = arith.constant dense<1> : tensor<7x1xi64>
// CHECK-NEXT:    %[[P:.*]] = sp.pad %[[T]] dim 0 fill -100 : tensor<7x1xi64> -> tensor<8x1xi64>
// CHECK:         sp.cross_entropy %{{.*}}, %[[P]] ignore_index -100
func.func @constant_targets(%x: tensor<7x1x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<f32> {
  %t = arith.constant dense<1> : tensor<7x1xi64>
  %h = sp.linear %x, %w1 : (tensor<7x1x8xf32>, tensor<16x8xf32>) -> tensor<7x1x16xf32>
  %y = sp.linear %h, %w2 : (tensor<7x1x16xf32>, tensor<8x16xf32>) -> tensor<7x1x8xf32>
  %sum, %count = sp.cross_entropy %y, %t ignore_index -100 : (tensor<7x1x8xf32>, tensor<7x1xi64>) -> (tensor<f32>, tensor<f32>)
  return %sum : tensor<f32>
}
