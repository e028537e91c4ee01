// RUN: sp-opt %s --split-input-file --sp-tensor-parallel="tp=2 head=vocab" --sp-verify-layouts --verify-diagnostics=only-expected --mlir-print-local-scope | FileCheck %s
// By default the head is the one of the literature: whole on every rank.
// RUN: sp-opt %s --split-input-file --sp-tensor-parallel="tp=2" --sp-verify-layouts 2>/dev/null | FileCheck %s --check-prefix=REPLICATED
// REPLICATED-NOT: cross_entropy_parts

// A tied table: the lookup is a sum over the ranks, the logits are a shard, also the
// ones that are a result, and the loss gathers two numbers per token and rank.

func.func @tied(%ids: tensor<3x6xi64>, %targets: tensor<6x3xi64>, %table: tensor<10x4xf32> {sp.param = "table"}) -> (tensor<f32>, tensor<3x6x10xf32>) {
  %h = sp.embedding %ids, %table : (tensor<3x6xi64>, tensor<10x4xf32>) -> tensor<6x3x4xf32>
  %logits = sp.linear %h, %table : (tensor<6x3x4xf32>, tensor<10x4xf32>) -> tensor<6x3x10xf32>
  %out = sp.batch_major %logits : (tensor<6x3x10xf32>) -> tensor<3x6x10xf32>
  %sum, %count = sp.cross_entropy %logits, %targets ignore_index -100 : (tensor<6x3x10xf32>, tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>)
  %loss = arith.divf %sum, %count : tensor<f32>
  return %loss, %out : tensor<f32>, tensor<3x6x10xf32>
}
// CHECK-LABEL: func.func @tied
// CHECK-SAME:    %[[IDS:[^:]*]]: tensor<3x6xi64>, %[[TARGETS:[^:]*]]: tensor<6x3xi64>,
// CHECK-SAME:    %[[TABLE:[^:]*]]: tensor<10x4xf32, #sp.layout<tp = shard(0)>> {sp.param = "table"})
// CHECK-SAME:    -> (tensor<f32>, tensor<3x6x10xf32, #sp.layout<tp = shard(2)>>)
// CHECK-NEXT:    %[[I:.*]] = sp.copy %[[IDS]]
// CHECK-NEXT:    %[[E:.*]] = sp.embedding %[[I]], %[[TABLE]] : {{.*}} -> tensor<6x3x4xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[H:.*]] = sp.all_reduce %[[E]]
// CHECK-NEXT:    %[[HR:.*]] = sp.copy %[[H]]
// CHECK-NEXT:    %[[L:.*]] = sp.linear %[[HR]], %[[TABLE]] : {{.*}} -> tensor<6x3x10xf32, #sp.layout<tp = shard(2)>>
// CHECK-NEXT:    %[[OUT:.*]] = sp.batch_major %[[L]]
// CHECK-NEXT:    %[[T:.*]] = sp.copy %[[TARGETS]]
// CHECK-NEXT:    %[[P:.*]] = sp.cross_entropy_parts %[[L]], %[[T]] ignore_index -100 : {{.*}} -> tensor<2x6x3x2xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    %[[G:.*]] = sp.all_gather %[[P]] : tensor<2x6x3x2xf32, #sp.layout<tp = shard(0)>> -> tensor<2x6x3x2xf32>
// CHECK-NEXT:    %[[SUM:.*]], %[[COUNT:.*]] = sp.cross_entropy_join %[[G]], %[[TARGETS]] ignore_index -100
// CHECK-NEXT:    %[[LOSS:.*]] = arith.divf %[[SUM]], %[[COUNT]]
// CHECK-NEXT:    return %[[LOSS]], %[[OUT]]

// -----

// Untied, with a bias and a scale on the way, f32 weights of bf16 data; the lookup's
// table is another one.

func.func @untied(%ids: tensor<3x6xi64>, %targets: tensor<6x3xi64>, %table: tensor<10x4xf32>, %w: tensor<10x4xf32>, %b: tensor<10xbf16>) -> tensor<f32> {
  %t = arith.truncf %table : tensor<10x4xf32> to tensor<10x4xbf16>
  %h = sp.embedding %ids, %t : (tensor<3x6xi64>, tensor<10x4xbf16>) -> tensor<6x3x4xbf16>
  %v = arith.truncf %w : tensor<10x4xf32> to tensor<10x4xbf16>
  %l = sp.linear %h, %v bias %b : (tensor<6x3x4xbf16>, tensor<10x4xbf16>, tensor<10xbf16>) -> tensor<6x3x10xbf16>
  %s = sp.scale %l by 0.5 : (tensor<6x3x10xbf16>) -> tensor<6x3x10xbf16>
  %sum, %count = sp.cross_entropy %s, %targets ignore_index -100 : (tensor<6x3x10xbf16>, tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>)
  return %sum : tensor<f32>
}
// CHECK-LABEL: func.func @untied
// CHECK-SAME:    %{{.*}}: tensor<10x4xf32>, %[[W:[^:]*]]: tensor<10x4xf32, #sp.layout<tp = shard(0)>>, %[[B:[^:]*]]: tensor<10xbf16, #sp.layout<tp = shard(0)>>) -> tensor<f32>
// CHECK:         sp.embedding {{.*}} -> tensor<6x3x4xbf16>
// CHECK-NOT:     sp.all_reduce
// CHECK:         sp.scale {{.*}} -> tensor<6x3x10xbf16, #sp.layout<tp = shard(2)>>
// CHECK:         sp.cross_entropy_parts {{.*}} -> tensor<2x6x3x2xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    sp.all_gather
// CHECK-NEXT:    sp.cross_entropy_join

// -----

// Without a loss the logits leave as they are.

func.func @inference(%x: tensor<6x3x4xf32>, %w: tensor<10x4xf32>) -> tensor<3x6x10xf32> {
  %l = sp.linear %x, %w : (tensor<6x3x4xf32>, tensor<10x4xf32>) -> tensor<6x3x10xf32>
  %o = sp.batch_major %l : (tensor<6x3x10xf32>) -> tensor<3x6x10xf32>
  return %o : tensor<3x6x10xf32>
}
// CHECK-LABEL: func.func @inference
// CHECK-SAME:    -> tensor<3x6x10xf32, #sp.layout<tp = shard(2)>>
// CHECK-NOT:     sp.all_

// -----

// The regions of the blocks come first: what they close leaves whole.

func.func @block(%x: tensor<6x3x4xf32>, %u: tensor<10x4xf32>, %d: tensor<4x10xf32>) -> tensor<6x3x4xf32> {
  %0 = sp.linear %x, %u : (tensor<6x3x4xf32>, tensor<10x4xf32>) -> tensor<6x3x10xf32>
  %1 = sp.linear %0, %d : (tensor<6x3x10xf32>, tensor<4x10xf32>) -> tensor<6x3x4xf32>
  return %1 : tensor<6x3x4xf32>
}
// CHECK-LABEL: func.func @block
// CHECK-SAME:    -> tensor<6x3x4xf32>
// CHECK:         sp.all_reduce

// -----

// Two losses of one head.

func.func @two_losses(%x: tensor<6x3x4xf32>, %w: tensor<10x4xf32>, %a: tensor<6x3xi64>, %b: tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>) {
  %l = sp.linear %x, %w : (tensor<6x3x4xf32>, tensor<10x4xf32>) -> tensor<6x3x10xf32>
  %0:2 = sp.cross_entropy %l, %a ignore_index -100 : (tensor<6x3x10xf32>, tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>)
  %1:2 = sp.cross_entropy %l, %b ignore_index 0 : (tensor<6x3x10xf32>, tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>)
  return %0#0, %1#0 : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: func.func @two_losses
// CHECK:         sp.cross_entropy_parts
// CHECK:         sp.cross_entropy_join
// CHECK:         sp.cross_entropy_parts
// CHECK:         sp.cross_entropy_join {{.*}} ignore_index 0

// -----

// What stays whole, and why.

func.func @softmax(%x: tensor<6x3x4xf32>, %w: tensor<10x4xf32>, %n: tensor<10xf32>, %t: tensor<6x3xi64>) -> (tensor<f32>, tensor<6x3x10xf32>) {
  // expected-remark @below {{`sp.linear` stays whole}}
  %l = sp.linear %x, %w : (tensor<6x3x4xf32>, tensor<10x4xf32>) -> tensor<6x3x10xf32>
  %m = sp.rms_norm %l, %n eps 1.0e-06 : (tensor<6x3x10xf32>, tensor<10xf32>) -> tensor<6x3x10xf32>
  // expected-remark @below {{`sp.cross_entropy` stays whole: `sp.rms_norm` needs the whole of dimension 2}}
  %0:2 = sp.cross_entropy %l, %t ignore_index -100 : (tensor<6x3x10xf32>, tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>)
  return %0#0, %m : tensor<f32>, tensor<6x3x10xf32>
}
// CHECK-LABEL: func.func @softmax
// CHECK:         sp.cross_entropy %

// -----

func.func @weight_elsewhere(%x: tensor<6x3x4xf32>, %w: tensor<10x4xf32> {sp.param = "w"}, %n: tensor<40xf32>, %t: tensor<6x3xi64>) -> (tensor<f32>, tensor<40xf32>) {
  // expected-remark @below {{`sp.linear` stays whole}}
  %l = sp.linear %x, %w : (tensor<6x3x4xf32>, tensor<10x4xf32>) -> tensor<6x3x10xf32>
  // expected-remark @below {{`sp.cross_entropy` stays whole: `sp.rms_norm` needs the whole of dimension 0}}
  %0:2 = sp.cross_entropy %l, %t ignore_index -100 : (tensor<6x3x10xf32>, tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>)
  %f = tensor.collapse_shape %w [[0, 1]] : tensor<10x4xf32> into tensor<40xf32>
  %m = sp.rms_norm %f, %n eps 1.0e-06 : (tensor<40xf32>, tensor<40xf32>) -> tensor<40xf32>
  return %0#0, %m : tensor<f32>, tensor<40xf32>
}
// CHECK-LABEL: func.func @weight_elsewhere
// CHECK:         sp.cross_entropy %
