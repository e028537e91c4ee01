// RUN: sp-opt %s --sp-form-row-kernels --sp-fuse-row-kernels --verify-roundtrip --mlir-print-local-scope | FileCheck %s

// The residual sum is in a register when it is normalised, and stored for later.
// CHECK-LABEL: func.func @residual
// CHECK-SAME:    %[[X:[^:]*]]: tensor<3x2x8xf32>, %[[Y:[^:]*]]: tensor<3x2x8xf32>, %[[W:[^:]*]]: tensor<8xf32>
// CHECK-NEXT:    %[[K:.*]]:2 = sp.row_kernel rows 6 cols 8 ins(%[[X]], %[[Y]], %[[W]] : tensor<3x2x8xf32>, tensor<3x2x8xf32>, tensor<8xf32>)
// CHECK-SAME:      maps [affine_map<(d0, d1) -> (d0 * 8 + d1)>, affine_map<(d0, d1) -> (d0 * 8 + d1)>, affine_map<(d0, d1) -> (d1)>]
// CHECK-SAME:      outs [affine_map<(d0, d1) -> (d0 * 8 + d1)>, affine_map<(d0, d1) -> (d0 * 8 + d1)>] to [0, 1]
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[V:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT:      %[[SQ:.*]] = arith.mulf %[[S]], %[[S]] : f32
// CHECK-NEXT:      sp.row_reduce sum %[[SQ]] : f32
// CHECK:           %[[N:.*]] = arith.mulf %{{.*}}, %[[V]] : f32
// CHECK-NEXT:      sp.yield %[[S]], %[[N]] : f32, f32
// CHECK-NOT:     sp.row_kernel
// CHECK:         return %[[K]]#0, %[[K]]#1
func.func @residual(%x: tensor<3x2x8xf32>, %y: tensor<3x2x8xf32>, %w: tensor<8xf32>) -> (tensor<3x2x8xf32>, tensor<3x2x8xf32>) {
  %0 = arith.addf %x, %y : tensor<3x2x8xf32>
  %1 = sp.rms_norm %0, %w eps 1.0e-05 : (tensor<3x2x8xf32>, tensor<8xf32>) -> tensor<3x2x8xf32>
  return %0, %1 : tensor<3x2x8xf32>, tensor<3x2x8xf32>
}

// A value is used as it would have been stored: rounded.
// CHECK-LABEL: func.func @rounded
// CHECK:         %[[S:.*]] = arith.addf
// CHECK-NEXT:    %[[R:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK-NEXT:    %[[E:.*]] = arith.extf %[[R]] : bf16 to f32
// CHECK:         arith.mulf %[[E]]
// CHECK-NOT:     sp.row_kernel
func.func @rounded(%x: tensor<3x8xbf16>, %y: tensor<3x8xbf16>) -> tensor<3x8xbf16> {
  %0 = arith.addf %x, %y : tensor<3x8xbf16>
  %1 = sp.scale %0 by 0.5 : (tensor<3x8xbf16>) -> tensor<3x8xbf16>
  return %1 : tensor<3x8xbf16>
}

// What both read is read once; two producers go into one consumer.
// CHECK-LABEL: func.func @diamond
// CHECK:         sp.row_kernel rows 3 cols 8 ins(%{{.*}} : tensor<3x8xf32>)
// CHECK-NOT:     sp.row_kernel
func.func @diamond(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0 = sp.scale %x by 2.0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = sp.scale %x by 3.0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %2 = arith.mulf %0, %1 : tensor<3x8xf32>
  return %2 : tensor<3x8xf32>
}

// A row's reduction is the same row's scalar.
// CHECK-LABEL: func.func @per_row
// CHECK:         sp.row_kernel rows 3 cols 8
// CHECK-NOT:     sp.row_kernel
func.func @per_row(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0 = sp.row_kernel rows 3 cols 8 ins(%x : tensor<3x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>] outs [affine_map<(r, c) -> (r)>] to [0] : tensor<3xf32> {
    ^bb0(%a: f32):
      %s = sp.row_reduce sum %a : f32
      sp.yield %s : f32
  }
  %1 = sp.row_kernel rows 3 cols 8 ins(%x, %0 : tensor<3x8xf32>, tensor<3xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>, affine_map<(r, c) -> (r)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [0] : tensor<3x8xf32> {
    ^bb0(%a: f32, %s: f32):
      %d = arith.divf %a, %s : f32
      sp.yield %d : f32
  }
  return %1 : tensor<3x8xf32>
}

// Another op needs the sum before the second kernel: it stays.
// CHECK-LABEL: func.func @needed_before
// CHECK:         %[[S:.*]] = sp.row_kernel
// CHECK:         %[[C:.*]] = sp.collective all_reduce %[[S]]
// CHECK:         sp.row_kernel rows 3 cols 8 ins(%[[S]], %[[C]]
func.func @needed_before(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %0 = sp.scale %x by 2.0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = sp.collective all_reduce %0 over "tp" : tensor<3x8xf32> -> tensor<3x8xf32>
  %2 = arith.addf %0, %1 : tensor<3x8xf32>
  return %2 : tensor<3x8xf32>
}

// Each element needs elements of other columns.
// CHECK-LABEL: func.func @other_columns
// CHECK-COUNT-2: sp.row_kernel
func.func @other_columns(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sp.scale %x by 2.0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = tensor.empty() : tensor<8x8xf32>
  %2 = linalg.transpose ins(%0 : tensor<8x8xf32>) outs(%1 : tensor<8x8xf32>) permutation = [1, 0]
  return %2 : tensor<8x8xf32>
}

// Equal offsets of a tensor, but the rows share them.
// CHECK-LABEL: func.func @shared_offsets
// CHECK-COUNT-2: sp.row_kernel
func.func @shared_offsets(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<8xf32>) maps [affine_map<(r, c) -> (c)>] outs [affine_map<(r, c) -> (c)>] to [0] : tensor<8xf32> {
    ^bb0(%a: f32):
      sp.yield %a : f32
  }
  %1 = sp.row_kernel rows 4 cols 8 ins(%y, %0 : tensor<4x8xf32>, tensor<8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>, affine_map<(r, c) -> (c)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [0] : tensor<4x8xf32> {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      sp.yield %s : f32
  }
  return %1 : tensor<4x8xf32>
}

// Rows that are reduced are computed several times: exp is not taken in.
// CHECK-LABEL: func.func @expensive
// CHECK-COUNT-2: sp.row_kernel
func.func @expensive(%g: tensor<3x8xf32>, %u: tensor<3x8xf32>, %w: tensor<8xf32>) -> tensor<3x8xf32> {
  %0 = sp.swiglu %g, %u : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %1 = sp.rms_norm %0, %w eps 1.0e-05 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// Other rows and columns, though the same elements.
// CHECK-LABEL: func.func @reshaped
// CHECK-COUNT-2: sp.row_kernel
func.func @reshaped(%x: tensor<3x2x8xf32>, %y: tensor<3x16xf32>) -> tensor<3x16xf32> {
  %0 = sp.scale %x by 2.0 : (tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<3x2x8xf32> into tensor<3x16xf32>
  %2 = arith.addf %1, %y : tensor<3x16xf32>
  return %2 : tensor<3x16xf32>
}
