// RUN: sp-opt %s --sp-rematerialize 2>/dev/null | FileCheck %s --check-prefix=GATHERS
// RUN: sp-opt %s --sp-rematerialize="recompute=none" 2>/dev/null | FileCheck %s --check-prefix=NONE
// RUN: sp-opt %s --sp-rematerialize="recompute=all" 2>/dev/null | FileCheck %s --check-prefix=ALL
// RUN: sp-opt %s --sp-rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=TABLE

// RUN: sp-opt %s --sp-rematerialize="activation-budget=256" -o /dev/null 2>&1 | FileCheck %s --check-prefix=B256
// RUN: sp-opt %s --sp-rematerialize="activation-budget=192" -o /dev/null 2>&1 | FileCheck %s --check-prefix=B192
// RUN: sp-opt %s --sp-rematerialize="activation-budget=191" -o /dev/null 2>&1 | FileCheck %s --check-prefix=B191
// RUN: sp-opt %s --sp-rematerialize="activation-budget=64" -o /dev/null 2>&1 | FileCheck %s --check-prefix=B64

// Under a budget, the cheapest plan that fits: nothing; the product; the gather and the
// norm before it, which is cheaper than the product and the gather; all of it.
// B256: saves 256 bytes of activations per rank for the backward pass (without recomputation 256)
// B192: saves 192 bytes
// B192: recompute 1 x sp.swiglu {{.*}}: 64 bytes, work 192
// B191: saves 128 bytes
// B191-DAG: recompute 1 x sp.rms_norm {{.*}}: 64 bytes, work 144
// B191-DAG: recompute 1 x sp.all_gather {{.*}}: 128 bytes, work 704
// B64: saves 64 bytes

// A column-parallel linear behind a norm, its backward pass, and a product of
// activations.

sp.mesh @mesh <tp = 2>

// GATHERS-LABEL: func.func @block
// GATHERS:      %[[NORM:.*]] = sp.rms_norm
// GATHERS:      sp.all_gather %[[NORM]]
// GATHERS:      sp.swiglu
// Nothing full-sequence is saved: the gathered value is gathered again.
// GATHERS:      %[[SAVED:.*]] = sp.optimization_barrier %[[NORM]]
// GATHERS-NEXT: %[[AGAIN:.*]] = sp.all_gather %[[SAVED]]
// GATHERS-NEXT: sp.linear_weight_grad %{{.*}}, %[[AGAIN]]

// NONE-LABEL: func.func @block
// NONE:     %[[GATHERED:.*]] = sp.all_gather
// NONE-NOT: optimization_barrier
// NONE:     sp.linear_weight_grad %{{.*}}, %[[GATHERED]]

// The product comes from what is saved anyway, and so does the norm.
// ALL-LABEL: func.func @block
// ALL:      sp.rms_norm %arg0
// ALL:      %[[LINEAR:.*]] = sp.linear
// ALL:      sp.swiglu
// ALL:      %[[BACK:.*]] = sp.optimization_barrier %[[LINEAR]]
// ALL-NEXT: %[[PRODUCT:.*]] = sp.swiglu %[[BACK]], %[[BACK]]
// ALL-NEXT: sp.linear_weight_grad %{{.*}}, %[[PRODUCT]]
// ALL:      sp.swiglu_grad %{{.*}}, %[[BACK]], %[[BACK]]
// ALL:      %[[NORM:.*]] = sp.rms_norm
// ALL-NEXT: %[[AGAIN:.*]] = sp.all_gather %[[NORM]]
// ALL-NEXT: sp.linear_weight_grad %{{.*}}, %[[AGAIN]]

// 8 x 1 x 4 elements of four bytes on half of the rows; 8 x 1 x 4 on half of the
// features, twice.
// TABLE:      remark: loc("block"): saves 192 bytes of activations per rank for the backward pass (without recomputation 256)
// TABLE-DAG:    save         1 x sp.rms_norm tensor<8x1x4xf32, #sp.layout<tp = shard(0)>>: 64 bytes
// TABLE-DAG:    save         1 x sp.linear tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>: 64 bytes
// TABLE-DAG:    save         1 x sp.swiglu tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>: 64 bytes
// TABLE-DAG:    recompute    1 x sp.all_gather tensor<8x1x4xf32, #sp.layout<tp = replicate>>: 128 bytes, work
func.func @block(%x: tensor<8x1x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "x"},
                 %gain: tensor<4xf32> {sp.param = "gain"},
                 %up: tensor<4x4xf32, #sp.layout<tp = shard(0)>> {sp.param = "up"},
                 %down: tensor<4x4xf32, #sp.layout<tp = shard(1)>> {sp.param = "down"})
    -> (tensor<8x1x4xf32, #sp.layout<tp = shard(0)>> {sp.result = "y"},
        tensor<4x4xf32, #sp.layout<tp = shard(0)>> {sp.result = "grad.up"},
        tensor<4x4xf32, #sp.layout<tp = shard(1)>> {sp.result = "grad.down"}) {
  %g = sp.copy %gain : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %n = sp.rms_norm %x, %g eps 1.0e-6 : (tensor<8x1x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x1x4xf32, #sp.layout<tp = shard(0)>>
  %a = sp.all_gather %n : tensor<8x1x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x1x4xf32, #sp.layout<tp = replicate>>
  %h = sp.linear %a, %up : (tensor<8x1x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>
  %p = sp.swiglu %h, %h : (tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>, tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>) -> tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>
  %o = sp.linear %p, %down : (tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x1x4xf32, #sp.layout<tp = partial>>
  %y = sp.reduce_scatter %o : tensor<8x1x4xf32, #sp.layout<tp = partial>> -> tensor<8x1x4xf32, #sp.layout<tp = shard(0)>>
  // The backward pass of the sum of y.
  %one = arith.constant dense<1.0> : tensor<8x1x4xf32, #sp.layout<tp = shard(0)>>
  %dy = sp.all_gather %one : tensor<8x1x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x1x4xf32, #sp.layout<tp = replicate>>
  %dp = sp.linear_input_grad %dy, %down : (tensor<8x1x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>
  %ddown = sp.linear_weight_grad %dy, %p : (tensor<8x1x4xf32, #sp.layout<tp = replicate>>, tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>) -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  %dg, %du = sp.swiglu_grad %dp, %h, %h : (tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>, tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>, tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>) -> (tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>, tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>)
  %dh = arith.addf %dg, %du : tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>
  %dup = sp.linear_weight_grad %dh, %a : (tensor<8x1x4xf32, #sp.layout<tp = shard(2)>>, tensor<8x1x4xf32, #sp.layout<tp = replicate>>) -> tensor<4x4xf32, #sp.layout<tp = shard(0)>>
  return %y, %dup, %ddown : tensor<8x1x4xf32, #sp.layout<tp = shard(0)>>, tensor<4x4xf32, #sp.layout<tp = shard(0)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>
}

// What costs more than its data is never repeated with `all`, biased or not, nor a maximum
// over tokens.
// ALL-LABEL: func.func @dear
// ALL:      sp.linear
// ALL:      linalg.reduce
// ALL-NOT:  sp.optimization_barrier
// ALL:      return
func.func @dear(%x: tensor<2x1x2xf32> {sp.input = "x"}, %w: tensor<4x2xf32> {sp.param = "w"}, %b: tensor<4xf32> {sp.param = "b"})
    -> (tensor<f32> {sp.result = "y"}, tensor<4x2xf32> {sp.result = "grad.w"}) {
  %h = sp.linear %x, %w bias %b : (tensor<2x1x2xf32>, tensor<4x2xf32>, tensor<4xf32>) -> tensor<2x1x4xf32>
  %low = arith.constant dense<-1.0e+30> : tensor<1x4xf32>
  %max = linalg.reduce { arith.maximumf } ins(%h : tensor<2x1x4xf32>) outs(%low : tensor<1x4xf32>) dimensions = [0]
  %y = sp.sum_leading %max count 2 : (tensor<1x4xf32>) -> tensor<f32>
  // As if the backward pass read both.
  %m = sp.broadcast_leading %max count 1 : (tensor<1x4xf32>) -> tensor<2x1x4xf32>
  %dh = arith.mulf %h, %m : tensor<2x1x4xf32>
  %dw = sp.linear_weight_grad %dh, %x : (tensor<2x1x4xf32>, tensor<2x1x2xf32>) -> tensor<4x2xf32>
  return %y, %dw : tensor<f32>, tensor<4x2xf32>
}
