// RUN: sp-opt %s --sp-form-gemms --verify-roundtrip | FileCheck %s

// A matmul on a fill is one product.
// CHECK-LABEL: func.func @matmul
// CHECK:         %[[C:.*]] = sp.gemm %arg0, %arg1 batch 1 m 6 n 4 k 8 : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:    return %[[C]]
func.func @matmul(%a: tensor<6x8xf32>, %b: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %c = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x4xf32>) outs(%i : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %c : tensor<6x4xf32>
}

// What else it starts from is added.
// CHECK-LABEL: func.func @plus
// CHECK-NEXT:    sp.gemm %arg0, %arg1 plus %arg2 batch 1 m 6 n 4 k 8
func.func @plus(%a: tensor<6x8xf32>, %b: tensor<8x4xf32>, %i: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %c = linalg.matmul ins(%a, %b : tensor<6x8xf32>, tensor<8x4xf32>) outs(%i : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %c : tensor<6x4xf32>
}

// The weight first and [N,K], leading dimensions together: a transposed factor, and nothing moves.
// CHECK-LABEL: func.func @linear
// CHECK:         sp.gemm %arg1, %arg0 transposed batch 1 m 6 n 4 k 8 : (tensor<3x2x8xf32>, tensor<4x8xf32>) -> tensor<3x2x4xf32>
// CHECK-NOT:     linalg
func.func @linear(%w: tensor<4x8xf32>, %x: tensor<3x2x8xf32>) -> tensor<3x2x4xf32> {
  %i = arith.constant dense<0.0> : tensor<3x2x4xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(s, b, n, k) -> (n, k)>, affine_map<(s, b, n, k) -> (s, b, k)>, affine_map<(s, b, n, k) -> (s, b, n)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%w, %x : tensor<4x8xf32>, tensor<3x2x8xf32>) outs(%i : tensor<3x2x4xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %r = arith.addf %m, %o : f32
      linalg.yield %r : f32
  } -> tensor<3x2x4xf32>
  return %c : tensor<3x2x4xf32>
}

// Scores of sequence-major heads: both factors are transposed first, since heads are the batch.
// CHECK-LABEL: func.func @scores
// CHECK:         %[[Q:.*]] = linalg.transpose ins(%arg0 : tensor<6x2x4x8xf32>) outs(%{{.*}} : tensor<2x4x6x8xf32>) permutation = [1, 2, 0, 3]
// CHECK:         %[[K:.*]] = linalg.transpose ins(%arg1 : tensor<6x2x4x8xf32>) outs(%{{.*}} : tensor<2x4x8x6xf32>) permutation = [1, 2, 3, 0]
// CHECK:         sp.gemm %[[Q]], %[[K]] batch 8 m 6 n 6 k 8
func.func @scores(%q: tensor<6x2x4x8xf32>, %k: tensor<6x2x4x8xf32>) -> tensor<2x4x6x6xf32> {
  %i = arith.constant dense<0.0> : tensor<2x4x6x6xf32>
  %c = linalg.contract indexing_maps = [affine_map<(b, h, s, t, d) -> (s, b, h, d)>, affine_map<(b, h, s, t, d) -> (t, b, h, d)>, affine_map<(b, h, s, t, d) -> (b, h, s, t)>]
      ins(%q, %k : tensor<6x2x4x8xf32>, tensor<6x2x4x8xf32>) outs(%i : tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  return %c : tensor<2x4x6x6xf32>
}

// Dimensions of 1 are nowhere in memory.
// CHECK-LABEL: func.func @units
// CHECK-NOT:     linalg.transpose
// CHECK:         sp.gemm %arg0, %arg1 transposed batch 4 m 6 n 6 k 8
func.func @units(%q: tensor<1x4x6x8xf32>, %k: tensor<4x6x1x8xf32>) -> tensor<4x1x6x6xf32> {
  %i = arith.constant dense<0.0> : tensor<4x1x6x6xf32>
  %c = linalg.contract indexing_maps = [affine_map<(b, h, s, t, d) -> (b, h, s, d)>, affine_map<(b, h, s, t, d) -> (h, t, b, d)>, affine_map<(b, h, s, t, d) -> (h, b, s, t)>]
      ins(%q, %k : tensor<1x4x6x8xf32>, tensor<4x6x1x8xf32>) outs(%i : tensor<4x1x6x6xf32>) -> tensor<4x1x6x6xf32>
  return %c : tensor<4x1x6x6xf32>
}

// Mixed types, and a loop of one factor alone, are left to row kernels.
// CHECK-LABEL: func.func @left
// CHECK-NOT:     sp.gemm
// CHECK:         linalg.matmul
// CHECK:         linalg.generic
func.func @left(%a: tensor<6x8xbf16>, %b: tensor<8x4xbf16>, %v: tensor<4xf32>) -> (tensor<6x4xf32>, tensor<6xf32>) {
  %i = arith.constant dense<0.0> : tensor<6x4xf32>
  %c = linalg.matmul ins(%a, %b : tensor<6x8xbf16>, tensor<8x4xbf16>) outs(%i : tensor<6x4xf32>) -> tensor<6x4xf32>
  %j = arith.constant dense<0.0> : tensor<6xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%c, %v : tensor<6x4xf32>, tensor<4xf32>) outs(%j : tensor<6xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %r = arith.addf %m, %o : f32
      linalg.yield %r : f32
  } -> tensor<6xf32>
  return %c, %d : tensor<6x4xf32>, tensor<6xf32>
}
