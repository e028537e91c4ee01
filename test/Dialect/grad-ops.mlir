// RUN: sp-opt %s --sp-verify-layouts --mlir-print-local-scope | FileCheck %s

sp.mesh @mesh <tp = 2>

// How layouts go through the ops of backward passes: what sums over a sharded
// dimension is partial, and only cotangents may be.

// CHECK-LABEL: func.func @column_linear
func.func @column_linear(%dy: tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>, %w: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %x: tensor<8x2x4xf32>)
    -> (tensor<8x2x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  // CHECK: sp.linear_input_grad {{.*}} -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %dx = sp.linear_input_grad %dy, %w : (tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // CHECK: sp.linear_weight_grad {{.*}} -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %dw = sp.linear_weight_grad %dy, %xr : (tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %sum = sp.all_reduce %dx : tensor<8x2x4xf32, #sp.layout<tp = partial>> -> tensor<8x2x4xf32>
  return %sum, %dw : tensor<8x2x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>
}

// On a shard of the tokens a weight's gradient is partial.
// CHECK-LABEL: func.func @tokens
func.func @tokens(%dy: tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, %x: tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, %w: tensor<6xf32>, %ids: tensor<2x8xi64, #sp.layout<tp = shard(1)>>)
    -> (tensor<6x6xf32>, tensor<6xf32>, tensor<9x6xf32>) {
  // CHECK: sp.linear_weight_grad {{.*}} -> tensor<6x6xf32, #sp.layout<tp = partial>>
  %dw = sp.linear_weight_grad %dy, %x : (tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>) -> tensor<6x6xf32, #sp.layout<tp = partial>>
  %wr = sp.copy %w : tensor<6xf32> -> tensor<6xf32, #sp.layout<tp = replicate>>
  // CHECK: sp.rms_norm_grad {{.*}} -> (tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, tensor<6xf32, #sp.layout<tp = partial>>)
  %dx, %dn = sp.rms_norm_grad %dy, %x, %wr eps 1.0e-06 : (tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, tensor<6xf32, #sp.layout<tp = replicate>>) -> (tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, tensor<6xf32, #sp.layout<tp = partial>>)
  // CHECK: sp.embedding_grad {{.*}} -> tensor<9x6xf32, #sp.layout<tp = partial>>
  %de = sp.embedding_grad %dx, %ids : (tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>, tensor<2x8xi64, #sp.layout<tp = shard(1)>>) -> tensor<9x6xf32, #sp.layout<tp = partial>>
  %a = sp.all_reduce %dw : tensor<6x6xf32, #sp.layout<tp = partial>> -> tensor<6x6xf32>
  %b = sp.all_reduce %dn : tensor<6xf32, #sp.layout<tp = partial>> -> tensor<6xf32>
  %c = sp.all_reduce %de : tensor<9x6xf32, #sp.layout<tp = partial>> -> tensor<9x6xf32>
  return %a, %b, %c : tensor<6x6xf32>, tensor<6xf32>, tensor<9x6xf32>
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, %l: tensor<8x2x7xf32>, %t: tensor<8x2xi64>, %g: tensor<f32>, %p: tensor<4xf32>, %s: tensor<f64>) -> (tensor<f64>, tensor<4xf32>, tensor<8x2x7xf32>) {
  // CHECK: sp.attention_grad {{.*}} scale 5.000000e-01 causal dropout 1.000000e-01 op_id 3 : {{.*}} -> (tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>)
  %a:3 = sp.attention_grad %x, %x, %x, %x scale 0.5 causal dropout 0.1 op_id 3 : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>) -> (tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>)
  // CHECK: sp.swiglu_grad
  %b:2 = sp.swiglu_grad %a#0, %a#1, %a#2 : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>) -> (tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>)
  // CHECK: sp.sum_squares {{.*}} -> tensor<f64, #sp.layout<tp = partial>>
  %q = sp.sum_squares %b#0 : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>) -> tensor<f64, #sp.layout<tp = partial>>
  %n = sp.all_reduce %q : tensor<f64, #sp.layout<tp = partial>> -> tensor<f64>
  // CHECK: sp.cross_entropy_grad
  %d = sp.cross_entropy_grad %g, %l, %t ignore_index -100 : (tensor<f32>, tensor<8x2x7xf32>, tensor<8x2xi64>) -> tensor<8x2x7xf32>
  // CHECK: sp.cross_entropy_join_grad %{{.*}}, %{{.*}}, %{{.*}} ignore_index -100 : (tensor<f32>, tensor<7x8x2x2xf32>, tensor<8x2xi64>) -> tensor<7x8x2x2xf32>
  %parts = sp.cross_entropy_parts %l, %t ignore_index -100 : (tensor<8x2x7xf32>, tensor<8x2xi64>) -> tensor<7x8x2x2xf32>
  %j = sp.cross_entropy_join_grad %g, %parts, %t ignore_index -100 : (tensor<f32>, tensor<7x8x2x2xf32>, tensor<8x2xi64>) -> tensor<7x8x2x2xf32>
  // CHECK: sp.cross_entropy_parts_grad %{{.*}}, %{{.*}}, %{{.*}} ignore_index -100 : (tensor<7x8x2x2xf32>, tensor<8x2x7xf32>, tensor<8x2xi64>) -> tensor<8x2x7xf32>
  %v = sp.cross_entropy_parts_grad %j, %l, %t ignore_index -100 : (tensor<7x8x2x2xf32>, tensor<8x2x7xf32>, tensor<8x2xi64>) -> tensor<8x2x7xf32>
  // CHECK: sp.pack %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  %k = sp.pack %p, %g : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  // CHECK: sp.unpack %{{.*}} : (tensor<5xf32>) -> (tensor<f32>, tensor<4xf32>)
  %u:2 = sp.unpack %k : (tensor<5xf32>) -> (tensor<f32>, tensor<4xf32>)
  // CHECK: sp.unpack %{{.*}} : (tensor<8x2x7xf32>) -> (tensor<8x4xf32>, tensor<8x2x5xf32>)
  %o:2 = sp.unpack %l : (tensor<8x2x7xf32>) -> (tensor<8x4xf32>, tensor<8x2x5xf32>)
  // CHECK: sp.pack %{{.*}}, %{{.*}} : (tensor<8x2x5xf32>, tensor<8x4xf32>) -> tensor<8x2x7xf32>
  %i = sp.pack %o#1, %o#0 : (tensor<8x2x5xf32>, tensor<8x4xf32>) -> tensor<8x2x7xf32>
  // CHECK: sp.adamw {{.*}} scale %{{.*}} lr %{{.*}} corrections %{{.*}}, %{{.*}} betas 9.000000e-01, 5.000000e-01 eps 1.000000e-08 decay 1.000000e-02
  %w:3 = sp.adamw %p, %u#1, %p, %p scale %s lr %s corrections %s, %s betas 0.9, 0.5 eps 1.0e-08 decay 0.01 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %n, %w#0, %d : tensor<f64>, tensor<4xf32>, tensor<8x2x7xf32>
}

// The cotangent of what every rank has may be a summand on each.
// CHECK-LABEL: func.func @partial_cotangents
func.func @partial_cotangents(%x: tensor<8x2xf32, #sp.layout<tp = shard(0)>>, %y: tensor<8x2xf32>, %b: tensor<2xf32>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  %p = sp.zero_pad %x : tensor<8x2xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2xf32, #sp.layout<tp = partial>>
  %r = sp.copy %y : tensor<8x2xf32> -> tensor<8x2xf32, #sp.layout<tp = replicate>>
  // CHECK: sp.mul {{.*}} -> tensor<8x2xf32, #sp.layout<tp = partial>>
  %m = sp.mul %p, %r : (tensor<8x2xf32, #sp.layout<tp = partial>>, tensor<8x2xf32, #sp.layout<tp = replicate>>) -> tensor<8x2xf32, #sp.layout<tp = partial>>
  %s = sp.all_reduce %m : tensor<8x2xf32, #sp.layout<tp = partial>> -> tensor<8x2xf32>
  %br = sp.copy %b : tensor<2xf32> -> tensor<2xf32, #sp.layout<tp = replicate>>
  // CHECK: sp.broadcast_leading {{.*}} -> tensor<8x2xf32, #sp.layout<tp = shard(0)>>
  %e = sp.broadcast_leading %br count 1 : (tensor<2xf32, #sp.layout<tp = replicate>>) -> tensor<8x2xf32, #sp.layout<tp = shard(0)>>
  %g = sp.all_gather %e : tensor<8x2xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2xf32>
  return %s, %g : tensor<8x2xf32>, tensor<8x2xf32>
}
