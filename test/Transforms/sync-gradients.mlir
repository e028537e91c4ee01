// RUN: sp-opt %s --split-input-file --sp-differentiate --sp-sync-gradients --sp-verify-layouts --mlir-print-local-scope 2>/dev/null | FileCheck %s

// All gradients that are summed over ranks travel in one vector; who reads them comes after.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @one_vector
// CHECK:         %[[DB:.*]] = sp.sum_leading {{.*}} -> tensor<4xf32, #sp.layout<tp = partial>>
// CHECK:         %[[DX:.*]], %[[DN:.*]] = sp.rms_norm_grad
// CHECK-NOT:     sp.all_reduce
// CHECK:         %[[P:.*]] = sp.pack %[[DB]], %[[DN]] : {{.*}} -> tensor<8xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[S:.*]] = sp.all_reduce %[[P]] {sp.reason = {{.*}}, sp.sync_of = ["n", "b"]} : tensor<8xf32, #sp.layout<tp = partial>> -> tensor<8xf32>
// CHECK-NEXT:    %[[U:.*]]:2 = sp.unpack %[[S]] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:    return %{{.*}}, %[[U]]#1, %[[U]]#0
func.func @one_vector(%x: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "x"}, %n: tensor<4xf32> {sp.param = "n"}, %b: tensor<4xf32> {sp.param = "b"})
    -> (tensor<f32> {sp.result = "loss"}) {
  %nc = sp.copy %n : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %y = sp.rms_norm %x, %nc eps 1.0e-06 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %bc = sp.copy %b : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %z = sp.bias_add %y, %bc : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %z count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A parameter that is read twice: its summands are added while they are partial.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @read_twice
// CHECK:         %[[A:.*]] = sp.sum_leading {{.*}} -> tensor<4xf32, #sp.layout<tp = partial>>
// CHECK:         %[[B:.*]] = sp.sum_leading {{.*}} -> tensor<4xf32, #sp.layout<tp = partial>>
// CHECK:         %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : tensor<4xf32, #sp.layout<tp = partial>>
// CHECK:         %[[G:.*]] = sp.all_reduce %[[SUM]] {{.*}}sp.sync_of = "b"
// CHECK-NOT:     sp.all_reduce
// CHECK:         return %{{.*}}, %[[G]]
func.func @read_twice(%x: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "x"}, %b: tensor<4xf32> {sp.param = "b"})
    -> (tensor<f32> {sp.result = "loss"}) {
  %c0 = sp.copy %b : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %y = sp.bias_add %x, %c0 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %t = math.tanh %y : tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %c1 = sp.copy %b : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %z = sp.bias_add %t, %c1 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %s = sp.sum_leading %z count 2 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Nothing to sum: nothing is added.
// CHECK-LABEL: func.func @unsharded
// CHECK-NOT:     sp.pack
// CHECK-NOT:     sp.all_reduce
func.func @unsharded(%b: tensor<4xf32> {sp.param = "b"}) -> (tensor<f32> {sp.result = "loss"}) {
  %l = sp.sum_leading %b count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A parameter that is a hidden state: its gradient is the sum of two cotangents, of
// which the backward pass of the first region reads one. That one's all_reduce is no
// gradient's sum and stays where it is.
sp.mesh @mesh <tp = 2>
// CHECK-LABEL: func.func @hidden_state
// CHECK:         %[[P:.*]] = sp.linear_input_grad
// CHECK-NEXT:    %[[D:.*]] = sp.all_reduce %[[P]] : tensor<2x1x4xf32, #sp.layout<tp = partial>> -> tensor<2x1x4xf32>
// CHECK-NEXT:    sp.copy %[[D]]
// CHECK:         sp.all_reduce %{{.*}} {sp.reason = {{.*}}, sp.sync_of = "x"} : tensor<2x1x4xf32, #sp.layout<tp = partial>> -> tensor<2x1x4xf32>
// CHECK-NOT:     sp.pack
func.func @hidden_state(%x: tensor<2x1x4xf32> {sp.param = "x"}, %w1: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "w1"}, %w2: tensor<4x8xf32, #sp.layout<tp = shard(1)>> {sp.input = "w2"},
    %w3: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "w3"}) -> (tensor<f32> {sp.result = "loss"}) {
  %xc = sp.copy %x : tensor<2x1x4xf32> -> tensor<2x1x4xf32, #sp.layout<tp = replicate>>
  %h = sp.linear %xc, %w1 : (tensor<2x1x4xf32, #sp.layout<tp = replicate>>, tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<2x1x8xf32, #sp.layout<tp = shard(2)>>
  %p = sp.linear %h, %w2 : (tensor<2x1x8xf32, #sp.layout<tp = shard(2)>>, tensor<4x8xf32, #sp.layout<tp = shard(1)>>) -> tensor<2x1x4xf32, #sp.layout<tp = partial>>
  %o = sp.all_reduce %p : tensor<2x1x4xf32, #sp.layout<tp = partial>> -> tensor<2x1x4xf32>
  %y = arith.addf %o, %x : tensor<2x1x4xf32>
  %yc = sp.copy %y : tensor<2x1x4xf32> -> tensor<2x1x4xf32, #sp.layout<tp = replicate>>
  %z = sp.linear %yc, %w3 : (tensor<2x1x4xf32, #sp.layout<tp = replicate>>, tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<2x1x8xf32, #sp.layout<tp = shard(2)>>
  %s = sp.sum_leading %z count 3 : (tensor<2x1x8xf32, #sp.layout<tp = shard(2)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %s : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}
