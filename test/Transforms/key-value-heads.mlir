// RUN: sp-opt %s --sp-tensor-parallel=tp=4 --sp-verify-layouts 2>/dev/null | FileCheck %s
// RUN: sp-opt %s --sp-tensor-parallel=tp=4 --sp-verify-layouts --sp-differentiate --sp-verify-layouts 2>/dev/null | FileCheck %s --check-prefix=GRAD
// RUN: sp-opt %s --sp-tensor-parallel=tp=4 --sp-localize 2>/dev/null | FileCheck %s --check-prefix=LOCAL

// Four query heads and two key/value heads on four ranks: the axis is split, key/value
// heads are sharded on the major part and the same along the minor one.

// CHECK: sp.mesh @mesh <tp = 4, tp.kv = 2, tp.rep = 2>
// CHECK-LABEL: func.func @attention
// CHECK-SAME: tensor<8x8xf32, #sp.layout<tp = shard(0)>> {sp.param = "q"}
// CHECK-SAME: tensor<4x8xf32, #sp.layout<tp.kv = shard(0)>> {sp.param = "k"}
// CHECK-SAME: tensor<8x8xf32, #sp.layout<tp = shard(1)>> {sp.param = "o"}
// CHECK:      sp.linear {{.*}} -> tensor<4x1x8xf32, #sp.layout<tp = shard(2)>>
// CHECK:      %[[K:.*]] = sp.copy {{.*}} : tensor<4x8xf32, #sp.layout<tp.kv = shard(0)>> -> tensor<4x8xf32, #sp.layout<tp.kv = shard(0), tp.rep = replicate>>
// CHECK:      sp.linear {{.*}}, %[[K]] : {{.*}} -> tensor<4x1x4xf32, #sp.layout<tp.kv = shard(2), tp.rep = replicate>>
// CHECK:      sp.attention {{.*}} -> tensor<4x1x4x2xf32, #sp.layout<tp = shard(2)>>

// The keys' cotangent is a summand on each replica; only they are summed over.
// GRAD-LABEL: func.func @attention
// GRAD: sp.attention_grad {{.*}} -> (tensor<4x1x4x2xf32, #sp.layout<tp = shard(2)>>, tensor<4x1x2x2xf32, #sp.layout<tp.kv = shard(2), tp.rep = partial>>, tensor<4x1x2x2xf32, #sp.layout<tp.kv = shard(2), tp.rep = partial>>)
// GRAD: sp.all_reduce {{.*}} {sp.reason = {{.*}}, sp.sync_of = "k"} : tensor<4x8xf32, #sp.layout<tp.kv = shard(0), tp.rep = partial>> -> tensor<4x8xf32, #sp.layout<tp.kv = shard(0)>>

// Each rank has one query head and one key/value head.
// LOCAL: sp.attention {{.*}} : (tensor<4x1x1x2xf32>, tensor<4x1x1x2xf32>, tensor<4x1x1x2xf32>) -> tensor<4x1x1x2xf32>
func.func @attention(%x: tensor<4x1x8xf32> {sp.input = "x"}, %wq: tensor<8x8xf32> {sp.param = "q"},
                     %wk: tensor<4x8xf32> {sp.param = "k"}, %wo: tensor<8x8xf32> {sp.param = "o"})
    -> (tensor<f32> {sp.result = "loss"}) {
  %0 = sp.linear %x, %wq : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %1 = sp.linear %x, %wk : (tensor<4x1x8xf32>, tensor<4x8xf32>) -> tensor<4x1x4xf32>
  %2 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [4, 1, 4, 2] : tensor<4x1x8xf32> into tensor<4x1x4x2xf32>
  %3 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [4, 1, 2, 2] : tensor<4x1x4xf32> into tensor<4x1x2x2xf32>
  %4 = sp.attention %2, %3, %3 scale 5.0e-01 causal : (tensor<4x1x4x2xf32>, tensor<4x1x2x2xf32>, tensor<4x1x2x2xf32>) -> tensor<4x1x4x2xf32>
  %5 = tensor.collapse_shape %4 [[0], [1], [2, 3]] : tensor<4x1x4x2xf32> into tensor<4x1x8xf32>
  %6 = sp.linear %5, %wo : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %loss = sp.sum_leading %6 count 3 : (tensor<4x1x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// What is made of a whole parameter inside is made of a copy, so it is for work of a
// rank's own; its gradient is a sum over all ranks.
// CHECK-LABEL: func.func @normalised
// CHECK:         sp.broadcast_leading {{.*}} : (tensor<2xf32, #sp.layout<tp = replicate>>) -> tensor<4x1x2x2xf32, #sp.layout<tp.kv = shard(2), tp.rep = replicate>>
// GRAD-LABEL: func.func @normalised
// GRAD:         sp.all_reduce {{.*}}sp.sync_of = "n"} : tensor<2xf32, #sp.layout<tp = partial>> -> tensor<2xf32>
func.func @normalised(%x: tensor<4x1x8xf32> {sp.input = "x"}, %wq: tensor<8x8xf32> {sp.param = "q"},
                      %wk: tensor<4x8xf32> {sp.param = "k"}, %n: tensor<2xf32> {sp.param = "n"},
                      %wo: tensor<8x8xf32> {sp.param = "o"}) -> (tensor<f32> {sp.result = "loss"}) {
  %0 = sp.linear %x, %wq : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %1 = sp.linear %x, %wk : (tensor<4x1x8xf32>, tensor<4x8xf32>) -> tensor<4x1x4xf32>
  %2 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [4, 1, 4, 2] : tensor<4x1x8xf32> into tensor<4x1x4x2xf32>
  %3 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [4, 1, 2, 2] : tensor<4x1x4xf32> into tensor<4x1x2x2xf32>
  %4 = sp.broadcast_leading %n count 3 : (tensor<2xf32>) -> tensor<4x1x2x2xf32>
  %5 = arith.mulf %3, %4 : tensor<4x1x2x2xf32>
  %6 = sp.attention %2, %5, %5 scale 5.0e-01 causal : (tensor<4x1x4x2xf32>, tensor<4x1x2x2xf32>, tensor<4x1x2x2xf32>) -> tensor<4x1x4x2xf32>
  %7 = tensor.collapse_shape %6 [[0], [1], [2, 3]] : tensor<4x1x4x2xf32> into tensor<4x1x8xf32>
  %8 = sp.linear %7, %wo : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %loss = sp.sum_leading %8 count 3 : (tensor<4x1x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// A single head is every rank's: made inside, from copies of its weights, whose gradients are
// sums over all ranks. Outside, its cotangent would be summed, too.
// CHECK-LABEL: func.func @single(
// CHECK:         sp.linear {{.*}} -> tensor<4x1x8xf32, #sp.layout<tp = shard(2)>>
// CHECK:         %[[X:.*]] = sp.copy %{{.*}} : tensor<4x1x8xf32> -> tensor<4x1x8xf32, #sp.layout<tp = replicate>>
// CHECK:         %[[W:.*]] = sp.copy %{{.*}} : tensor<2x8xf32> -> tensor<2x8xf32, #sp.layout<tp = replicate>>
// CHECK:         sp.linear %[[X]], %[[W]] : {{.*}} -> tensor<4x1x2xf32, #sp.layout<tp = replicate>>
// CHECK:         sp.attention {{.*}} tensor<4x1x1x2xf32, #sp.layout<tp = replicate>>
// GRAD-LABEL: func.func @single(
// GRAD:         sp.attention_grad {{.*}} tensor<4x1x1x2xf32, #sp.layout<tp = partial>>)
// GRAD-NOT:     sp.all_reduce {{.*}} tensor<4x1x1x2xf32>
// GRAD:         sp.all_reduce {{.*}}sp.sync_of = "k"} : tensor<2x8xf32, #sp.layout<tp = partial>> -> tensor<2x8xf32>
func.func @single(%x: tensor<4x1x8xf32> {sp.input = "x"}, %wq: tensor<8x8xf32> {sp.param = "q"},
                  %wk: tensor<2x8xf32> {sp.param = "k"}, %wo: tensor<8x8xf32> {sp.param = "o"})
    -> (tensor<f32> {sp.result = "loss"}) {
  %0 = sp.linear %x, %wq : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %1 = sp.linear %x, %wk : (tensor<4x1x8xf32>, tensor<2x8xf32>) -> tensor<4x1x2xf32>
  %2 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [4, 1, 4, 2] : tensor<4x1x8xf32> into tensor<4x1x4x2xf32>
  %3 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [4, 1, 1, 2] : tensor<4x1x2xf32> into tensor<4x1x1x2xf32>
  %4 = sp.attention %2, %3, %3 scale 5.0e-01 causal : (tensor<4x1x4x2xf32>, tensor<4x1x1x2xf32>, tensor<4x1x1x2xf32>) -> tensor<4x1x4x2xf32>
  %5 = tensor.collapse_shape %4 [[0], [1], [2, 3]] : tensor<4x1x4x2xf32> into tensor<4x1x8xf32>
  %6 = sp.linear %5, %wo : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %loss = sp.sum_leading %6 count 3 : (tensor<4x1x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// One that comes from elsewhere is made outside.
// CHECK-LABEL: func.func @single_elsewhere
// CHECK-SAME:    %[[OTHER:[^:]*]]: tensor<4x1x8xf32> {sp.input = "other"}
// CHECK:         sp.linear %[[OTHER]], %{{.*}} -> tensor<4x1x2xf32>
// CHECK:         sp.copy %{{.*}} : tensor<4x1x1x2xf32> -> tensor<4x1x1x2xf32, #sp.layout<tp = replicate>>
func.func @single_elsewhere(%x: tensor<4x1x8xf32> {sp.input = "x"}, %other: tensor<4x1x8xf32> {sp.input = "other"}, %wq: tensor<8x8xf32> {sp.param = "q"},
                            %wk: tensor<2x8xf32> {sp.param = "k"}, %wo: tensor<8x8xf32> {sp.param = "o"})
    -> (tensor<f32> {sp.result = "loss"}) {
  %0 = sp.linear %x, %wq : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %1 = sp.linear %other, %wk : (tensor<4x1x8xf32>, tensor<2x8xf32>) -> tensor<4x1x2xf32>
  %2 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [4, 1, 4, 2] : tensor<4x1x8xf32> into tensor<4x1x4x2xf32>
  %3 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [4, 1, 1, 2] : tensor<4x1x2xf32> into tensor<4x1x1x2xf32>
  %4 = sp.attention %2, %3, %3 scale 5.0e-01 causal : (tensor<4x1x4x2xf32>, tensor<4x1x1x2xf32>, tensor<4x1x1x2xf32>) -> tensor<4x1x4x2xf32>
  %5 = tensor.collapse_shape %4 [[0], [1], [2, 3]] : tensor<4x1x4x2xf32> into tensor<4x1x8xf32>
  %6 = sp.linear %5, %wo : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %loss = sp.sum_leading %6 count 3 : (tensor<4x1x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
