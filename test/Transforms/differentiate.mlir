// RUN: sp-opt %s --split-input-file --sp-verify-layouts --sp-differentiate --sp-verify-layouts --mlir-print-local-scope | FileCheck %s -enable-var-scope

// The adjoint of every layout change is read off the table: one function per row.

sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @copy
// CHECK-SAME:    %[[W:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<8x4xf32, #sp.layout<tp = shard(0)>>
// CHECK:         %[[DW:.*]] = sp.sum_leading {{.*}} -> tensor<4xf32, #sp.layout<tp = partial>>
// CHECK:         sp.all_reduce %[[DW]] {sp.reason = {{.*}}, sp.sync_of = "0"} : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32>
func.func @copy(%w: tensor<4xf32>, %x: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32> {
  %c = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %y = sp.bias_add %x, %c : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @all_reduce
// CHECK:         %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK:         %[[DY:.*]] = sp.broadcast_leading %[[ONE]] count 2 : (tensor<f32>) -> tensor<8x4xf32>
// CHECK:         %[[DP:.*]] = sp.copy %[[DY]] : tensor<8x4xf32> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
// CHECK:         sp.linear_input_grad %[[DP]], %{{.*}} -> tensor<8x6xf32, #sp.layout<tp = shard(1)>>
func.func @all_reduce(%x: tensor<8x6xf32, #sp.layout<tp = shard(1)>>, %w: tensor<4x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<f32> {
  %p = sp.linear %x, %w : (tensor<8x6xf32, #sp.layout<tp = shard(1)>>, tensor<4x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x4xf32, #sp.layout<tp = partial>>
  %y = sp.all_reduce %p : tensor<8x4xf32, #sp.layout<tp = partial>> -> tensor<8x4xf32>
  %l = sp.sum_leading %y count 2 : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @reduce_scatter
// CHECK:         %[[DY:.*]] = sp.broadcast_leading %{{.*}} count 2 : {{.*}} -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
// CHECK:         sp.all_gather %[[DY]] : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
func.func @reduce_scatter(%x: tensor<8x6xf32, #sp.layout<tp = shard(1)>>, %w: tensor<4x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<f32> {
  %p = sp.linear %x, %w : (tensor<8x6xf32, #sp.layout<tp = shard(1)>>, tensor<4x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x4xf32, #sp.layout<tp = partial>>
  %y = sp.reduce_scatter %p : tensor<8x4xf32, #sp.layout<tp = partial>> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Into rank-specific work: each rank's cotangent is a summand.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @all_gather_to_replicate
// CHECK:         %[[DG:.*]] = sp.linear_input_grad {{.*}} -> tensor<8x4xf32, #sp.layout<tp = partial>>
// CHECK:         sp.reduce_scatter %[[DG]] : tensor<8x4xf32, #sp.layout<tp = partial>> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
func.func @all_gather_to_replicate(%x: tensor<8x4xf32, #sp.layout<tp = shard(0)>>, %w: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32> {
  %g = sp.all_gather %x : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
  %y = sp.linear %g, %w : (tensor<8x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x6xf32, #sp.layout<tp = shard(1)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Before work that every rank does alike: a sum would be T times too large.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @all_gather_to_invariant
// CHECK:         %[[DG:.*]] = sp.linear_input_grad {{.*}} -> tensor<8x4xf32>
// CHECK-NOT:     sp.reduce_scatter
// CHECK:         sp.slice %[[DG]] : tensor<8x4xf32> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
func.func @all_gather_to_invariant(%x: tensor<8x4xf32, #sp.layout<tp = shard(0)>>, %w: tensor<6x4xf32>) -> tensor<f32> {
  %g = sp.all_gather %x : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32>
  %y = sp.linear %g, %w : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
  %l = sp.sum_leading %y count 2 : (tensor<8x6xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Is the backward of a slice a gather or a zero-pad? Both, by the operand's layout.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @slice_of_invariant
// CHECK:         %[[D:.*]] = sp.broadcast_leading {{.*}} -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
// CHECK:         sp.all_gather %[[D]] : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32>
func.func @slice_of_invariant(%x: tensor<8x4xf32>) -> tensor<f32> {
  %y = sp.slice %x : tensor<8x4xf32> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @slice_of_replicate
// CHECK:         %[[D:.*]] = sp.broadcast_leading {{.*}} -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
// CHECK:         %[[P:.*]] = sp.zero_pad %[[D]] : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = partial>>
// CHECK:         sp.all_reduce %[[P]]
func.func @slice_of_replicate(%x: tensor<8x4xf32>) -> tensor<f32> {
  %c = sp.copy %x : tensor<8x4xf32> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
  %y = sp.slice %c : tensor<8x4xf32, #sp.layout<tp = replicate>> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @zero_pad
// CHECK:         %[[D:.*]] = sp.copy {{.*}} -> tensor<8x4xf32, #sp.layout<tp = replicate>>
// CHECK:         sp.slice %[[D]] : tensor<8x4xf32, #sp.layout<tp = replicate>> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
func.func @zero_pad(%x: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32> {
  %p = sp.zero_pad %x : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = partial>>
  %y = sp.all_reduce %p : tensor<8x4xf32, #sp.layout<tp = partial>> -> tensor<8x4xf32>
  %l = sp.sum_leading %y count 2 : (tensor<8x4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Only parameters get gradients in a function with names, under their names; one that
// the loss does not depend on gets zero. What is not on a path is not differentiated:
// the op without an adjoint here computes no gradient.
// CHECK-LABEL: func.func @names
// CHECK-SAME:    (tensor<f32> {sp.result = "loss"}, tensor<8x4xf32> {sp.result = "y"}, tensor<4xf32> {sp.result = "grad.b"}, tensor<3xf32> {sp.result = "grad.unused"})
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK:         return {{.*}}, %[[ZERO]] :
func.func @names(%x: tensor<8x4xf32> {sp.input = "x"}, %b: tensor<4xf32> {sp.param = "b"}, %u: tensor<3xf32> {sp.param = "unused"})
    -> (tensor<f32> {sp.result = "loss"}, tensor<8x4xf32> {sp.result = "y"}) {
  %r = arith.remf %x, %x : tensor<8x4xf32>
  %y = sp.bias_add %r, %b : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %l = sp.sum_leading %y count 2 : (tensor<8x4xf32>) -> tensor<f32>
  return %l, %y : tensor<f32>, tensor<8x4xf32>
}

// -----

// A value that is read twice gets the sum of both cotangents, while it is partial.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @read_twice
// CHECK:         %[[A:.*]] = sp.linear_input_grad {{.*}} -> tensor<8x4xf32, #sp.layout<tp = partial>>
// CHECK:         %[[B:.*]] = sp.linear_input_grad {{.*}} -> tensor<8x4xf32, #sp.layout<tp = partial>>
// CHECK:         %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : tensor<8x4xf32, #sp.layout<tp = partial>>
// CHECK:         sp.all_reduce %[[SUM]]
// CHECK-NOT:     sp.all_reduce
func.func @read_twice(%x: tensor<8x4xf32>, %w: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32> {
  %c = sp.copy %x : tensor<8x4xf32> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
  %a = sp.linear %c, %w : (tensor<8x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x6xf32, #sp.layout<tp = shard(1)>>
  %b = sp.linear %c, %w : (tensor<8x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x6xf32, #sp.layout<tp = shard(1)>>
  %y = arith.mulf %a, %b : tensor<8x6xf32, #sp.layout<tp = shard(1)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// The cotangent of a replicated value is partial: `arith.mulf` could not multiply it
// with the value.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @replicated_product
// CHECK:         sp.mul %{{.*}}, %{{.*}} : (tensor<4xf32, #sp.layout<tp = partial>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<4xf32, #sp.layout<tp = partial>>
func.func @replicated_product(%w: tensor<4xf32>, %x: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32> {
  %c = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %q = arith.mulf %c, %c : tensor<4xf32, #sp.layout<tp = replicate>>
  %y = sp.bias_add %x, %q : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A broadcast's adjoint is a sum over what it broadcasts along; on a shard it is
// partial.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @linalg_broadcast
// CHECK:         linalg.generic
// CHECK:         } -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
// CHECK:         linalg.generic
// CHECK:         } -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
// CHECK:         sp.sum_leading %{{.*}} count 1 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<4xf32, #sp.layout<tp = partial>>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @linalg_broadcast(%w: tensor<4xf32>, %x: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32> {
  %c = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %e = tensor.empty() : tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %c : tensor<8x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>)
      outs(%e : tensor<8x4xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %p = arith.mulf %a, %b : f32
      %t = math.tanh %p : f32
      linalg.yield %t : f32
  } -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %y count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}
