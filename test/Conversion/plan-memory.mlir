// RUN: sp-opt %s --pass-pipeline='builtin.module(func.func(sp-plan-memory))' | FileCheck %s

// Values whose lives do not overlap share bytes; every offset is on a cache line.
// CHECK-LABEL: func.func @reuse
// CHECK-SAME: sp.activation_bytes = 768 : i64, sp.arena_bytes = 512 : i64
func.func @reuse(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: sp.linear {{.*}} {sp.offsets = array<i64: 0>}
  %a = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sp.linear {{.*}} {sp.offsets = array<i64: 256>}
  %b = sp.linear %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sp.linear {{.*}} {sp.offsets = array<i64: 0>}
  %c = sp.linear %b, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}

// Of two free ranges the smallest that fits is taken, so that the larger one is
// whole when it is needed.
// CHECK-LABEL: func.func @best_fit
// CHECK-SAME: sp.arena_bytes = 2048 : i64
func.func @best_fit(%w: tensor<8x8xf32>, %v: tensor<16x8xf32>, %z: tensor<32x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x32xf32>, tensor<8x8xf32>, tensor<8x16xf32>) {
  // CHECK: array<i64: 0>
  %a = sp.linear %w, %v : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<8x16xf32>
  // CHECK: array<i64: 512>
  %b = sp.linear %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 768>
  %c = sp.linear %a, %a : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 1024>
  %d = sp.linear %c, %z : (tensor<8x8xf32>, tensor<32x8xf32>) -> tensor<8x32xf32>
  // CHECK: array<i64: 768>
  %e = sp.linear %w, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 0>
  %f = sp.linear %w, %v : (tensor<8x8xf32>, tensor<16x8xf32>) -> tensor<8x16xf32>
  return %b, %d, %e, %f : tensor<8x8xf32>, tensor<8x32xf32>, tensor<8x8xf32>, tensor<8x16xf32>
}

// A rank's slice has bytes of its own: the whole that it is of is not kept for it.
// CHECK-LABEL: func.func @slice
// CHECK-SAME: sp.arena_bytes = 768 : i64
func.func @slice(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<16x8xf32>) {
  // CHECK: sp.linear {{.*}} {sp.offsets = array<i64: 0>}
  %a = sp.linear %x, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  // CHECK: sp.local_slice {{.*}}sp.offsets = array<i64: 512>
  %b = sp.local_slice %a over "tp" dim 0 : tensor<16x8xf32> -> tensor<8x8xf32>
  // CHECK: sp.linear {{.*}} {sp.offsets = array<i64: 0>}
  %c = sp.linear %x, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  return %b, %c : tensor<8x8xf32>, tensor<16x8xf32>
}

// What comes first of the outermost dimension is where it was, for as long as it is
// read; what is cut out of an inner one, or summed, is not.
// CHECK-LABEL: func.func @unpad_copies
// CHECK-SAME: sp.activation_bytes = 960 : i64, sp.arena_bytes = 1024 : i64
func.func @unpad_copies(%x: tensor<8x8xf32>) -> (tensor<7x8xf32>, tensor<8x7xf32>, tensor<7x8xf32>) {
  // CHECK: sp.linear {{.*}} {sp.offsets = array<i64: 0>}
  %a = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sp.unpad %{{.*}} dim 0 :
  %b = sp.unpad %a dim 0 : tensor<8x8xf32> -> tensor<7x8xf32>
  // CHECK: sp.linear {{.*}} {sp.offsets = array<i64: 256>}
  %c = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sp.unpad %{{.*}} dim 1 {sp.offsets
  %d = sp.unpad %c dim 1 : tensor<8x8xf32> -> tensor<8x7xf32>
  // CHECK: sp.unpad %{{.*}} dim 0 fold {sp.offsets
  %e = sp.unpad %c dim 0 fold : tensor<8x8xf32> -> tensor<7x8xf32>
  return %b, %d, %e : tensor<7x8xf32>, tensor<8x7xf32>, tensor<7x8xf32>
}

// A reshape has no bytes of its own, and keeps its operand's alive.
// CHECK-LABEL: func.func @reshape
// CHECK-SAME: sp.activation_bytes = 1024 : i64, sp.arena_bytes = 768 : i64
func.func @reshape(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: array<i64: 0>
  %a = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: tensor.expand_shape
  // CHECK-NOT: sp.offsets
  // CHECK: sp.linear
  %r = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 4, 8] : tensor<8x8xf32> into tensor<2x4x8xf32>
  // CHECK-SAME: array<i64: 256>
  %b = sp.linear %a, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 512>
  %c = sp.linear %r, %b : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: tensor.collapse_shape
  %f = tensor.collapse_shape %c [[0, 1], [2]] : tensor<2x4x8xf32> into tensor<8x8xf32>
  // CHECK: array<i64: 0>
  %d = sp.linear %f, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %d : tensor<8x8xf32>
}

// A dead value needs its bytes while its op runs; a scalar has a cache line of its own.
// CHECK-LABEL: func.func @dead_and_scalar
// CHECK-SAME: sp.activation_bytes = 264 : i64, sp.arena_bytes = 384 : i64
func.func @dead_and_scalar(%l: tensor<2x2x4xf32>, %t: tensor<2x2xi64>, %x: tensor<8x8xf32>)
    -> (tensor<f32>, tensor<f32>) {
  // CHECK: array<i64: 0, 64>
  %s, %n = sp.cross_entropy %l, %t ignore_index -100
      : (tensor<2x2x4xf32>, tensor<2x2xi64>) -> (tensor<f32>, tensor<f32>)
  // CHECK: array<i64: 128>
  %a = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %s, %n : tensor<f32>, tensor<f32>
}

// A constant lies in the program.
// CHECK-LABEL: func.func @constant
// CHECK-SAME: sp.activation_bytes = 0 : i64, sp.arena_bytes = 0 : i64
func.func @constant() -> tensor<2xf32> {
  // CHECK: arith.constant dense
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %c : tensor<2xf32>
}

#dense = affine_map<(r, c) -> (r * 8 + c)>
#transposed = affine_map<(r, c) -> (r + c * 8)>

// A row kernel writes over an input that dies there, if it reads it in the order in
// which it writes; also after a reduction. An argument is not the arena's to write to.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: sp.arena_bytes = 256 : i64
func.func @in_place(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: sp.row_kernel
  // CHECK: sp.offsets = array<i64: 0>
  %a = sp.row_kernel rows 8 cols 8 ins(%x : tensor<8x8xf32>) maps [#dense]
      outs [#dense] to [0] : tensor<8x8xf32> {
    ^bb0(%e: f32):
      %y = arith.addf %e, %e : f32
      sp.yield %y : f32
  }
  // CHECK: sp.row_kernel
  // CHECK: sp.offsets = array<i64: 0>
  %b = sp.row_kernel rows 8 cols 8 ins(%a : tensor<8x8xf32>) maps [#dense]
      outs [#dense] to [0] : tensor<8x8xf32> {
    ^bb0(%e: f32):
      %s = sp.row_reduce sum %e : f32
      %y = arith.addf %e, %s : f32
      sp.yield %y : f32
  }
  return %b : tensor<8x8xf32>
}

// Two results take over two inputs.
// CHECK-LABEL: func.func @two_in_place
// CHECK-SAME: sp.arena_bytes = 512 : i64
func.func @two_in_place(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sp.row_kernel
  // CHECK: sp.offsets = array<i64: 0, 256>
  %c:2 = sp.row_kernel rows 8 cols 8 ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>)
      maps [#dense, #dense] outs [#dense, #dense] to [0, 1]
      : tensor<8x8xf32>, tensor<8x8xf32> {
    ^bb0(%d: f32, %e: f32):
      %s = arith.addf %d, %e : f32
      %t = arith.subf %d, %e : f32
      sp.yield %s, %t : f32, f32
  }
  return %c#0, %c#1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// Not in place: the input is the end of a buffer whose beginning the result would take.
// CHECK-LABEL: func.func @not_over_an_end
// CHECK-SAME: sp.arena_bytes = 768 : i64
func.func @not_over_an_end(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = sp.linear %x, %w : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %end = tensor.extract_slice %a[8, 0] [8, 8] [1, 1] : tensor<16x8xf32> to tensor<8x8xf32>
  // CHECK: sp.row_kernel
  // CHECK: sp.offsets = array<i64: 512>
  %b = sp.row_kernel rows 8 cols 8 ins(%end : tensor<8x8xf32>) maps [#dense]
      outs [#dense] to [0] : tensor<8x8xf32> {
    ^bb0(%e: f32):
      %y = arith.addf %e, %e : f32
      sp.yield %y : f32
  }
  return %b : tensor<8x8xf32>
}

// Not in place: the input lives on; it is read in another order; it is read twice,
// in two orders; it is written in another order.
// CHECK-LABEL: func.func @not_in_place
func.func @not_in_place(%x: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: array<i64: 0>
  %a = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 256>
  %b = sp.row_kernel rows 8 cols 8 ins(%a : tensor<8x8xf32>) maps [#dense]
      outs [#dense] to [0] : tensor<8x8xf32> {
    ^bb0(%e: f32):
      sp.yield %e : f32
  }
  // CHECK: array<i64: 512>
  %c = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 768>
  %d = sp.row_kernel rows 8 cols 8 ins(%c : tensor<8x8xf32>) maps [#transposed]
      outs [#dense] to [0] : tensor<8x8xf32> {
    ^bb0(%e: f32):
      sp.yield %e : f32
  }
  // CHECK: array<i64: 512>
  %f = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 1024>
  %g = sp.row_kernel rows 8 cols 8 ins(%f, %f : tensor<8x8xf32>, tensor<8x8xf32>)
      maps [#dense, #transposed] outs [#dense] to [0] : tensor<8x8xf32> {
    ^bb0(%e: f32, %h: f32):
      %s = arith.addf %e, %h : f32
      sp.yield %s : f32
  }
  // CHECK: array<i64: 512>
  %i = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: array<i64: 1280>
  %j = sp.row_kernel rows 8 cols 8 ins(%i : tensor<8x8xf32>) maps [#dense]
      outs [#transposed] to [0] : tensor<8x8xf32> {
    ^bb0(%e: f32):
      sp.yield %e : f32
  }
  return %a, %b, %d, %g, %j
      : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
