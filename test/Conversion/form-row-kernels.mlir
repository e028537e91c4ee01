// RUN: sp-opt %s --sp-form-row-kernels --verify-roundtrip --mlir-print-local-scope | FileCheck %s

// A row is a token's hidden vector; the weight is read per column.
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME:    %[[X:[^:]*]]: tensor<3x2x8xf32>, %[[W:[^:]*]]: tensor<8xf32>
// CHECK-NEXT:    sp.row_kernel rows 6 cols 8 ins(%[[X]], %[[W]] : tensor<3x2x8xf32>, tensor<8xf32>)
// CHECK-SAME:      maps [affine_map<(d0, d1) -> (d0 * 8 + d1)>, affine_map<(d0, d1) -> (d1)>]
// CHECK-SAME:      outs [affine_map<(d0, d1) -> (d0 * 8 + d1)>] to [0] : tensor<3x2x8xf32>
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:      %[[SQ:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK-NEXT:      sp.row_reduce sum %[[SQ]] : f32
func.func @rms_norm(%x: tensor<3x2x8xf32>, %w: tensor<8xf32>) -> tensor<3x2x8xf32> {
  %0 = sp.rms_norm %x, %w eps 1.0e-05 : (tensor<3x2x8xf32>, tensor<8xf32>) -> tensor<3x2x8xf32>
  return %0 : tensor<3x2x8xf32>
}

// The bias of a linear becomes a kernel; the product stays for the runtime.
// CHECK-LABEL: func.func @linear
// CHECK:         %[[P:.*]] = sp.linear %{{.*}}, %{{.*}} : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    sp.row_kernel rows 3 cols 4 ins(%[[P]], %{{.*}} : tensor<3x4xf32>, tensor<4xf32>)
func.func @linear(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = sp.linear %x, %w bias %b : (tensor<3x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// A row is one head of one token, a column a pair of its elements; the table's row
// is the position.
// CHECK-LABEL: func.func @rope
// CHECK:         sp.row_kernel rows 30 cols 2
// CHECK-SAME:      maps [affine_map<(d0, d1) -> (d0 * 4 + d1)>, affine_map<(d0, d1) -> (d0 * 4 + d1 + 2)>, affine_map<(d0, d1) -> ((d0 floordiv 6) * 2 + d1)>, affine_map<(d0, d1) -> ((d0 floordiv 6) * 2 + d1)>]
// CHECK-SAME:      outs [affine_map<(d0, d1) -> (d0 * 4 + d1)>, affine_map<(d0, d1) -> (d0 * 4 + d1 + 2)>] to [0, 0]
func.func @rope(%x: tensor<5x2x3x4xf32>, %c: tensor<5x2xf32>, %s: tensor<5x2xf32>) -> tensor<5x2x3x4xf32> {
  %0 = sp.rope %x, %c, %s : (tensor<5x2x3x4xf32>, tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2x3x4xf32>
  return %0 : tensor<5x2x3x4xf32>
}

// bf16 is computed in f32 and rounded when stored.
// CHECK-LABEL: func.func @bf16
// CHECK:         ^bb0(%[[G:.*]]: bf16, %[[U:.*]]: bf16):
// CHECK-NEXT:      %[[GF:.*]] = arith.extf %[[G]] : bf16 to f32
// CHECK:           math.exp {{.*}} : f32
// CHECK:           %[[R:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:      sp.yield %[[R]] : bf16
func.func @bf16(%g: tensor<3x8xbf16>, %u: tensor<3x8xbf16>) -> tensor<3x8xbf16> {
  %0 = sp.swiglu %g, %u : (tensor<3x8xbf16>, tensor<3x8xbf16>) -> tensor<3x8xbf16>
  return %0 : tensor<3x8xbf16>
}

// A splat constant is a scalar of the body, and disappears.
// CHECK-LABEL: func.func @splat
// CHECK-NOT:     dense
// CHECK:         sp.row_kernel rows 3 cols 8 ins(%{{.*}} : tensor<3x8xf32>)
// CHECK:           %[[C:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:      arith.maximumf %{{.*}}, %[[C]] : f32
func.func @splat(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %c = arith.constant dense<0.5> : tensor<3x8xf32>
  %0 = arith.maximumf %x, %c : tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// One that something else reads is a kernel without inputs.
// CHECK-LABEL: func.func @returned_splat
// CHECK:         %[[S:.*]] = sp.row_kernel rows 1 cols 1 maps [] outs
// CHECK:         return %[[S]]
func.func @returned_splat() -> tensor<f32> {
  %c = arith.constant dense<2.0> : tensor<f32>
  return %c : tensor<f32>
}

// The targets are checked before they are compared with columns; each token's loss
// and then their sum, in f64.
// CHECK-LABEL: func.func @cross_entropy
// CHECK-SAME:    %[[L:[^:]*]]: tensor<3x2x8xf32>, %[[T:[^:]*]]: tensor<3x2xi64>
// CHECK-NEXT:    %[[V:.*]] = sp.check_targets %[[T]] vocab 8 ignore_index -100 : tensor<3x2xi64>
// CHECK-NEXT:    %[[E:.*]]:2 = sp.row_kernel rows 6 cols 8 ins(%[[L]], %[[V]] : tensor<3x2x8xf32>, tensor<3x2xi64>) {{.*}} : tensor<6xf64>, tensor<6xf64>
// CHECK:           sp.row_reduce max
// CHECK:           sp.col_index
// CHECK:         sp.row_kernel rows 1 cols 6 ins(%[[E]]#0, %[[E]]#1 : tensor<6xf64>, tensor<6xf64>) {{.*}} : tensor<f32>, tensor<f32>
func.func @cross_entropy(%l: tensor<3x2x8xf32>, %t: tensor<3x2xi64>) -> (tensor<f32>, tensor<f32>) {
  %s, %n = sp.cross_entropy %l, %t ignore_index -100 : (tensor<3x2x8xf32>, tensor<3x2xi64>) -> (tensor<f32>, tensor<f32>)
  return %s, %n : tensor<f32>, tensor<f32>
}

// Over parts of the vocabulary: a row is a token's part of its logits, which is dense in
// them, and the target's column may be none.
// CHECK-LABEL: func.func @cross_entropy_parts
// CHECK-SAME:    %[[L:[^:]*]]: tensor<3x2x8xf32>, %[[T:[^:]*]]: tensor<3x2xi64>
// CHECK-NEXT:    %[[V:.*]] = sp.part_targets %[[T]] vocab 8 ignore_index -100 layout <tp = shard(2)> : tensor<3x2xi64> -> tensor<3x2x2xi64>
// CHECK-NEXT:    %[[P:.*]] = sp.row_kernel rows 12 cols 4 ins(%[[L]], %[[V]] : tensor<3x2x8xf32>, tensor<3x2x2xi64>)
// CHECK-SAME:      maps [affine_map<(d0, d1) -> (d0 * 4 + d1)>, affine_map<(d0, d1) -> (d0)>]
// CHECK-SAME:      : tensor<2x3x2x2xf32>
// CHECK:         sp.row_kernel rows 6 cols 2 ins(%[[P]], %[[P]], %[[T]] : tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>, tensor<3x2xi64>)
// CHECK-SAME:      maps [affine_map<(d0, d1) -> ((d1 * 6 + d0) * 2)>, affine_map<(d0, d1) -> ((d1 * 6 + d0) * 2 + 1)>, affine_map<(d0, d1) -> (d0)>]
// CHECK:         sp.row_kernel rows 1 cols 6
func.func @cross_entropy_parts(%l: tensor<3x2x8xf32>, %t: tensor<3x2xi64>) -> (tensor<f32>, tensor<f32>) {
  %p = sp.cross_entropy_parts %l, %t ignore_index -100 layout <tp = shard(2)> : (tensor<3x2x8xf32>, tensor<3x2xi64>) -> tensor<2x3x2x2xf32>
  %s, %n = sp.cross_entropy_join %p, %t ignore_index -100 : (tensor<2x3x2x2xf32>, tensor<3x2xi64>) -> (tensor<f32>, tensor<f32>)
  return %s, %n : tensor<f32>, tensor<f32>
}

// linalg: broadcasts and transposes become maps.
// CHECK-LABEL: func.func @linalg
// CHECK:         sp.row_kernel rows 6 cols 4
// CHECK-SAME:      maps [affine_map<(d0, d1) -> (d0 * 4 + d1)>, affine_map<(d0, d1) -> (d0 mod 3)>, affine_map<(d0, d1) -> (d1 * 2 + d0 floordiv 3)>]
// CHECK-NOT:     linalg
func.func @linalg(%x: tensor<2x3x4xf32>, %v: tensor<3xf32>, %p: tensor<4x2xf32>) -> tensor<2x3x4xf32> {
  %i = tensor.empty() : tensor<2x3x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (b)>, affine_map<(a, b, c) -> (c, a)>, affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %v, %p : tensor<2x3x4xf32>, tensor<3xf32>, tensor<4x2xf32>) outs(%i : tensor<2x3x4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
      %m = math.fma %a, %b, %c : f32
      linalg.yield %m : f32
  } -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// Truth values are in no memory: each reader computes them.
// CHECK-LABEL: func.func @truth
// CHECK:         sp.row_kernel rows 3 cols 8 ins(%[[X:.*]], %[[Y:.*]] : tensor<3x8xf32>, tensor<3x8xf32>)
// CHECK:           %[[P:.*]] = arith.cmpf olt, %[[A:.*]], %[[B:.*]] : f32
// CHECK-NEXT:      arith.select %[[P]], %[[A]], %[[B]] : f32
// CHECK:         sp.row_kernel rows 3 cols 8 ins(%[[X]], %[[Y]]
// CHECK:           %[[P:.*]] = arith.cmpf olt
// CHECK-NEXT:      %[[I:.*]] = arith.extui %[[P]] : i1 to i64
// CHECK-NEXT:      sp.yield %[[I]] : i64
// CHECK-NOT:     tensor<3x8xi1>
func.func @truth(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xi64>) {
  %p = arith.cmpf olt, %x, %y : tensor<3x8xf32>
  %0 = arith.select %p, %x, %y : tensor<3x8xi1>, tensor<3x8xf32>
  %1 = arith.extui %p : tensor<3x8xi1> to tensor<3x8xi64>
  return %0, %1 : tensor<3x8xf32>, tensor<3x8xi64>
}

// What an op reads twice is one input.
// CHECK-LABEL: func.func @square
// CHECK:         sp.row_kernel rows 3 cols 8 ins(%{{[^,]*}} : tensor<3x8xf32>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32):
// CHECK-NEXT:      arith.mulf %[[A]], %[[A]]
func.func @square(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0 = arith.mulf %x, %x : tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// An explicit rounding to bf16 happens, one at the store once.
// CHECK-LABEL: func.func @truncated
// CHECK:         ^bb0(%[[A:.*]]: f32):
// CHECK-NEXT:      %[[R:.*]] = arith.truncf %[[A]] : f32 to bf16
// CHECK-NEXT:      %{{.*}} = arith.extf %[[R]]
// CHECK-NEXT:      sp.yield %[[R]] : bf16
func.func @truncated(%x: tensor<3x8xf32>) -> tensor<3x8xbf16> {
  %0 = arith.truncf %x : tensor<3x8xf32> to tensor<3x8xbf16>
  return %0 : tensor<3x8xbf16>
}

// A fill is a kernel without inputs.
// CHECK-LABEL: func.func @fill
// CHECK:         sp.row_kernel rows 3 cols 8 maps [] outs
func.func @fill() -> tensor<3x8xf32> {
  %c = arith.constant 2.0 : f32
  %i = tensor.empty() : tensor<3x8xf32>
  %0 = linalg.fill ins(%c : f32) outs(%i : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
