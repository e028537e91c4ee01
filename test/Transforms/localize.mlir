// RUN: sp-opt %s --sp-localize --sp-verify-collectives --mlir-print-local-scope | FileCheck %s

sp.mesh @mesh <tp = 2>

// CHECK-LABEL: func.func @changes
// CHECK-SAME:    %[[X:[^:]*]]: tensor<6x4xf32>,
// CHECK-SAME:    %[[Y:[^:]*]]: tensor<3x4xf32> {sp.layout = #sp.layout<tp = shard(0)>})
// CHECK-SAME:    -> (tensor<3x4xf32> {sp.layout = #sp.layout<tp = shard(0)>}, tensor<6x4xf32>)
// The record names what reaches each collective: arguments and other collectives.
// CHECK-SAME:    sp.collectives = ["all_gather tp dim 0 tensor<3x4xf32> from [a0]", "reduce_scatter tp dim 0 tensor<6x4xf32> from [a1]", "all_reduce tp tensor<6x4xf32> from [a1 c1]"
func.func @changes(%x: tensor<6x4xf32>, %y: tensor<6x4xf32, #sp.layout<tp = shard(0)>>)
    -> (tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32>) {
  // CHECK-NEXT: %[[S:.*]] = sp.local_slice %[[X]] over "tp" dim 0 : tensor<6x4xf32> -> tensor<3x4xf32>
  %0 = sp.slice %x : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  // CHECK-NEXT: %[[G:.*]] = sp.collective all_gather %[[S]] over "tp" dim 0 : tensor<3x4xf32> -> tensor<6x4xf32>
  %1 = sp.all_gather %0 : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32>
  // CHECK-NEXT: %[[P:.*]] = sp.local_zero_pad %[[Y]] over "tp" dim 0 : tensor<3x4xf32> -> tensor<6x4xf32>
  %2 = sp.zero_pad %y : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  // CHECK-NEXT: %[[RS:.*]] = sp.collective reduce_scatter %[[P]] over "tp" dim 0 : tensor<6x4xf32> -> tensor<3x4xf32>
  %3 = sp.reduce_scatter %2 : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  // CHECK-NEXT: %[[Z:.*]] = sp.local_zero_pad %[[RS]]
  %4 = sp.zero_pad %3 : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  // CHECK-NEXT: %[[A:.*]] = arith.addf %[[Z]], %[[P]] : tensor<6x4xf32>
  %5 = arith.addf %4, %2 : tensor<6x4xf32, #sp.layout<tp = partial>>
  // CHECK-NEXT: %[[AR:.*]] = sp.collective all_reduce %[[A]] over "tp" : tensor<6x4xf32> -> tensor<6x4xf32>
  %6 = sp.all_reduce %5 : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32>
  // A copy moves nothing and disappears; slicing a replicated value is the same op.
  // CHECK-NEXT: %[[S2:.*]] = sp.local_slice %[[AR]]
  %7 = sp.copy %6 : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %8 = sp.slice %7 : tensor<6x4xf32, #sp.layout<tp = replicate>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  // CHECK-NEXT: return %[[S2]], %[[G]]
  return %8, %1 : tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32>
}

// Attributes that repeat a shape follow; dropout remembers where its shard is.
// CHECK-LABEL: func.func @attributes
func.func @attributes(%x: tensor<6x8xf32, #sp.layout<tp = shard(1)>>) -> tensor<6x4x2xf32, #sp.layout<tp = shard(1)>> {
  // CHECK: arith.constant dense<1.000000e+00> : tensor<6x4xf32>
  %one = arith.constant dense<1.0> : tensor<6x8xf32, #sp.layout<tp = shard(1)>>
  %0 = arith.addf %x, %one : tensor<6x8xf32, #sp.layout<tp = shard(1)>>
  // CHECK: sp.dropout %{{.*}} p 1.000000e-01 op_id 3 layout <tp = shard(1)> : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = sp.dropout %0 p 0.1 op_id 3 : (tensor<6x8xf32, #sp.layout<tp = shard(1)>>) -> tensor<6x8xf32, #sp.layout<tp = shard(1)>>
  // CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [6, 2, 2] : tensor<6x4xf32> into tensor<6x2x2xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [6, 4, 2] : tensor<6x8xf32, #sp.layout<tp = shard(1)>> into tensor<6x4x2xf32, #sp.layout<tp = shard(1)>>
  return %2 : tensor<6x4x2xf32, #sp.layout<tp = shard(1)>>
}

// What a rank's part of the vocabulary is about remembers which part it is.
// CHECK-LABEL: func.func @vocabulary
func.func @vocabulary(%i: tensor<2x6xi64>, %targets: tensor<6x2xi64>, %master: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> (tensor<6x2x4xbf16>, tensor<f32>) {
  %ids = sp.copy %i : tensor<2x6xi64> -> tensor<2x6xi64, #sp.layout<tp = replicate>>
  %t = sp.copy %targets : tensor<6x2xi64> -> tensor<6x2xi64, #sp.layout<tp = replicate>>
  // Also behind a cast, whose own type has become local.
  %table = arith.truncf %master : tensor<8x4xf32, #sp.layout<tp = shard(0)>> to tensor<8x4xbf16, #sp.layout<tp = shard(0)>>
  // CHECK: sp.embedding %{{.*}}, %{{.*}} layout <tp = shard(0)> : (tensor<2x6xi64>, tensor<4x4xbf16>) -> tensor<6x2x4xbf16>
  %0 = sp.embedding %ids, %table : (tensor<2x6xi64, #sp.layout<tp = replicate>>, tensor<8x4xbf16, #sp.layout<tp = shard(0)>>) -> tensor<6x2x4xbf16, #sp.layout<tp = partial>>
  %1 = sp.all_reduce %0 : tensor<6x2x4xbf16, #sp.layout<tp = partial>> -> tensor<6x2x4xbf16>
  %2 = sp.copy %1 : tensor<6x2x4xbf16> -> tensor<6x2x4xbf16, #sp.layout<tp = replicate>>
  %3 = sp.linear %2, %table : (tensor<6x2x4xbf16, #sp.layout<tp = replicate>>, tensor<8x4xbf16, #sp.layout<tp = shard(0)>>) -> tensor<6x2x8xbf16, #sp.layout<tp = shard(2)>>
  // CHECK: sp.cross_entropy_parts %{{.*}}, %{{.*}} ignore_index -100 layout <tp = shard(2)> : (tensor<6x2x4xbf16>, tensor<6x2xi64>) -> tensor<1x6x2x2xf32>
  %4 = sp.cross_entropy_parts %3, %t ignore_index -100 : (tensor<6x2x8xbf16, #sp.layout<tp = shard(2)>>, tensor<6x2xi64, #sp.layout<tp = replicate>>) -> tensor<2x6x2x2xf32, #sp.layout<tp = shard(0)>>
  // CHECK-NEXT: sp.collective all_gather %{{.*}} over "tp" dim 0 : tensor<1x6x2x2xf32> -> tensor<2x6x2x2xf32>
  %5 = sp.all_gather %4 : tensor<2x6x2x2xf32, #sp.layout<tp = shard(0)>> -> tensor<2x6x2x2xf32>
  %6:2 = sp.cross_entropy_join %5, %targets ignore_index -100 : (tensor<2x6x2x2xf32>, tensor<6x2xi64>) -> (tensor<f32>, tensor<f32>)
  return %1, %6#0 : tensor<6x2x4xbf16>, tensor<f32>
}
