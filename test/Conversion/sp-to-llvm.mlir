// RUN: sp-opt %s --pass-pipeline='builtin.module(func.func(sp-plan-memory),convert-sp-to-llvm)' | FileCheck %s

sp.mesh @mesh <dp = 1, tp = 2>

// The mesh has done its work.
// CHECK-NOT: sp.mesh

// A linear is a product with the transposed weight; a status that is not 0 is
// returned at once.
// CHECK-LABEL: llvm.func @program_linear
// CHECK-SAME: (%[[CONTEXT:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %[[RESULTS:.*]]: !llvm.ptr) -> i32
// CHECK: %[[X:.*]] = llvm.load
// CHECK: %[[W:.*]] = llvm.load
// CHECK: %[[Y:.*]] = llvm.getelementptr %[[ARENA]]
// CHECK: %[[STATUS:.*]] = llvm.call @sp_gemm(%[[CONTEXT]], {{.*}}, %[[X]], %{{.*}}, %[[W]], %{{.*}}, %[[Y]], %{{.*}}) : (!llvm.ptr, i32, i32, i32, i32, i64, i64, i64, !llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64) -> i32
// CHECK: %[[GOOD:.*]] = llvm.icmp "eq" %[[STATUS]]
// CHECK: llvm.cond_br %[[GOOD]], ^[[NEXT:.*]], ^[[EXIT:.*]](%[[STATUS]] : i32)
// CHECK: ^[[NEXT]]:
// CHECK: %[[RESULT:.*]] = llvm.load
// CHECK: %[[SOURCE:.*]] = llvm.getelementptr %[[ARENA]]
// CHECK: "llvm.intr.memcpy"(%[[RESULT]], %[[SOURCE]]
// CHECK: llvm.return
// CHECK: ^[[EXIT]](%[[CODE:.*]]: i32):
// CHECK: llvm.return %[[CODE]]
func.func @linear(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>) -> tensor<2x4x16xf32> {
  %y = sp.linear %x, %w : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  return %y : tensor<2x4x16xf32>
}

// Collectives name the axis by its number, and the global extent.
// CHECK-LABEL: llvm.func @program_collectives
// CHECK-DAG: %[[TP:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-DAG: %[[F64:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.mlir.constant(2 : i64)
// CHECK: llvm.mlir.constant(8 : i64)
// CHECK: llvm.mlir.constant(3 : i64)
// CHECK: llvm.call @sp_all_gather
// CHECK: llvm.mlir.constant(1 : i64)
// CHECK: llvm.mlir.constant(2 : i64)
// CHECK: llvm.mlir.constant(24 : i64)
// CHECK: llvm.call @sp_reduce_scatter
// CHECK: llvm.mlir.constant(24 : i64)
// CHECK: llvm.call @sp_all_reduce
// CHECK: llvm.call @sp_zero_pad
// CHECK: llvm.call @sp_slice
func.func @collectives(%x: tensor<2x4x3xf64>) -> tensor<1x8x3xf64> {
  %a = sp.collective all_gather %x over "tp" dim 1 : tensor<2x4x3xf64> -> tensor<2x8x3xf64>
  %b = sp.collective reduce_scatter %a over "tp" dim 0 : tensor<2x8x3xf64> -> tensor<1x8x3xf64>
  %c = sp.collective all_reduce %b over "tp" : tensor<1x8x3xf64> -> tensor<1x8x3xf64>
  %d = sp.local_zero_pad %c over "tp" dim 0 : tensor<1x8x3xf64> -> tensor<2x8x3xf64>
  %e = sp.local_slice %d over "tp" dim 0 : tensor<2x8x3xf64> -> tensor<1x8x3xf64>
  return %e : tensor<1x8x3xf64>
}

#dense = affine_map<(r, c) -> (r * 8 + c)>

// Equal row kernels share a function, whatever they work on; other shapes do not.
// CHECK-LABEL: llvm.func @program_kernels
// CHECK: llvm.mlir.addressof @[[FIRST:row_kernel_[0-9]+]]
// CHECK: llvm.call @sp_launch
// CHECK: llvm.mlir.addressof @[[FIRST]]
// CHECK: llvm.call @sp_launch
// CHECK: llvm.mlir.addressof @[[SECOND:row_kernel_[0-9]+]]
// CHECK: llvm.call @sp_launch
func.func @kernels(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>) {
  %a = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [#dense]
      outs [#dense] to [0] : tensor<4x8xf32> {
    ^bb0(%e: f32):
      %s = arith.addf %e, %e : f32
      sp.yield %s : f32
  }
  %b = sp.row_kernel rows 4 cols 8 ins(%a : tensor<4x8xf32>) maps [#dense]
      outs [#dense] to [0] : tensor<4x8xf32> {
    ^bb0(%e: f32):
      %s = arith.addf %e, %e : f32
      sp.yield %s : f32
  }
  %c = sp.row_kernel rows 2 cols 8 ins(%y : tensor<2x8xf32>) maps [#dense]
      outs [#dense] to [0] : tensor<2x8xf32> {
    ^bb0(%e: f32):
      %s = arith.addf %e, %e : f32
      sp.yield %s : f32
  }
  return %b, %c : tensor<4x8xf32>, tensor<2x8xf32>
}

// The rank's place in the sequence is part of a dropped element's coordinates.
// CHECK-LABEL: llvm.func @program_dropout
// CHECK: %[[RANK:.*]] = llvm.call @sp_axis_rank
// CHECK: llvm.mul %[[RANK]]
// CHECK: llvm.call @sp_dropout
func.func @dropout(%x: tensor<4x2x8xf32>) -> tensor<4x2x8xf32> {
  %y = sp.dropout %x p 0.1 op_id 7 layout <tp = shard(0)> : (tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
  return %y : tensor<4x2x8xf32>
}

// Equal constants are one global.
// CHECK-LABEL: llvm.func @program_constants
// CHECK: llvm.mlir.addressof @[[CONSTANT:constant_[0-9]+]]
// CHECK: llvm.mlir.addressof @[[CONSTANT]]
func.func @constants() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  return %a, %b : tensor<2x2xf32>, tensor<2x2xf32>
}

// An argument can be a result.
// CHECK-LABEL: llvm.func @program_forward_argument
// CHECK: "llvm.intr.memcpy"
func.func @forward_argument(%x: tensor<4xi64>) -> tensor<4xi64> {
  return %x : tensor<4xi64>
}

// The first rows of what was padded are where they were; only others are copied.
// CHECK-LABEL: llvm.func @program_unpad
// CHECK-COUNT-1: llvm.call @sp_unpad(
// CHECK-NOT: llvm.call @sp_unpad(
// CHECK: llvm.call @sp_unpad_fold(
// CHECK: llvm.return
func.func @unpad(%x: tensor<4x4xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>, tensor<3x4xf32>) {
  %a = sp.unpad %x dim 0 : tensor<4x4xf32> -> tensor<3x4xf32>
  %b = sp.unpad %x dim 1 : tensor<4x4xf32> -> tensor<4x3xf32>
  %c = sp.unpad %x dim 0 fold : tensor<4x4xf32> -> tensor<3x4xf32>
  return %a, %b, %c : tensor<3x4xf32>, tensor<4x3xf32>, tensor<3x4xf32>
}
