// RUN: sp-opt %s --verify-roundtrip | FileCheck %s

// Assembly formats. (Round trips of whole programs: roundtrip.test.)

// CHECK: sp.mesh @mesh <dp = 2, "odd name" = 3>
sp.mesh @mesh <dp = 2, "odd name" = 3>

// CHECK-LABEL: func.func private @layouts(tensor<4x6xf32, #sp.layout<dp = shard(0), "odd name" = partial>>, tensor<f32, #sp.layout<dp = replicate>>)
func.func private @layouts(tensor<4x6xf32, #sp.layout<dp = shard(0), "odd name" = partial>>, tensor<f32, #sp.layout<dp = replicate>>)

// CHECK-LABEL: func.func @block_ops
func.func @block_ops(%i: tensor<2x8xi64>, %t: tensor<10x4xbf16>, %w: tensor<4xbf16>, %m: tensor<6x4xbf16>, %b: tensor<6xbf16>) {
  // CHECK: sp.embedding %{{.*}}, %{{.*}} : (tensor<2x8xi64>, tensor<10x4xbf16>) -> tensor<8x2x4xbf16>
  %0 = sp.embedding %i, %t : (tensor<2x8xi64>, tensor<10x4xbf16>) -> tensor<8x2x4xbf16>
  // CHECK: sp.rms_norm %{{.*}}, %{{.*}} eps 1.000000e-05 : (tensor<8x2x4xbf16>, tensor<4xbf16>) -> tensor<8x2x4xbf16>
  %1 = sp.rms_norm %0, %w eps 1.0e-05 : (tensor<8x2x4xbf16>, tensor<4xbf16>) -> tensor<8x2x4xbf16>
  // CHECK: sp.linear %{{.*}}, %{{.*}} : (tensor<8x2x4xbf16>, tensor<6x4xbf16>) -> tensor<8x2x6xbf16>
  %2 = sp.linear %1, %m : (tensor<8x2x4xbf16>, tensor<6x4xbf16>) -> tensor<8x2x6xbf16>
  // CHECK: sp.linear %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<8x2x4xbf16>, tensor<6x4xbf16>, tensor<6xbf16>) -> tensor<8x2x6xbf16>
  %3 = sp.linear %1, %m bias %b : (tensor<8x2x4xbf16>, tensor<6x4xbf16>, tensor<6xbf16>) -> tensor<8x2x6xbf16>
  // CHECK: sp.bias_add %{{.*}}, %{{.*}} :
  %4 = sp.bias_add %2, %b : (tensor<8x2x6xbf16>, tensor<6xbf16>) -> tensor<8x2x6xbf16>
  // CHECK: sp.swiglu %{{.*}}, %{{.*}} :
  %5 = sp.swiglu %4, %3 : (tensor<8x2x6xbf16>, tensor<8x2x6xbf16>) -> tensor<8x2x6xbf16>
  // CHECK: sp.scale %{{.*}} by 5.000000e-01 :
  %6 = sp.scale %5 by 0.5 : (tensor<8x2x6xbf16>) -> tensor<8x2x6xbf16>
  // CHECK: sp.dropout %{{.*}} p 1.000000e-01 op_id 7 :
  %7 = sp.dropout %6 p 0.1 op_id 7 : (tensor<8x2x6xbf16>) -> tensor<8x2x6xbf16>
  // CHECK: sp.shift_labels %{{.*}} ignore_index -100 :
  %8 = sp.shift_labels %i ignore_index -100 : (tensor<2x8xi64>) -> tensor<8x2xi64>
  // CHECK: sp.cross_entropy %{{.*}}, %{{.*}} ignore_index -100 : (tensor<8x2x6xbf16>, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  %9:2 = sp.cross_entropy %7, %8 ignore_index -100 : (tensor<8x2x6xbf16>, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  // CHECK: sp.cross_entropy_parts %{{.*}}, %{{.*}} ignore_index -100 : (tensor<8x2x6xbf16>, tensor<8x2xi64>) -> tensor<3x8x2x2xf32>
  %parts = sp.cross_entropy_parts %7, %8 ignore_index -100 : (tensor<8x2x6xbf16>, tensor<8x2xi64>) -> tensor<3x8x2x2xf32>
  // CHECK: sp.cross_entropy_join %{{.*}}, %{{.*}} ignore_index -100 : (tensor<3x8x2x2xf32>, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  %joined:2 = sp.cross_entropy_join %parts, %8 ignore_index -100 : (tensor<3x8x2x2xf32>, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  // CHECK: sp.batch_major %{{.*}} : (tensor<8x2x6xbf16>) -> tensor<2x8x6xbf16>
  %10 = sp.batch_major %7 : (tensor<8x2x6xbf16>) -> tensor<2x8x6xbf16>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<8x2x4x6xf64>, %k: tensor<8x2x2x6xf64>) {
  // CHECK: sp.rope_table theta 1.000000e+04 : tensor<8x3xf64>, tensor<8x3xf64>
  %c, %s = sp.rope_table theta 1.0e+04 : tensor<8x3xf64>, tensor<8x3xf64>
  // CHECK: sp.rope %{{.*}}, %{{.*}}, %{{.*}} :
  %0 = sp.rope %q, %c, %s : (tensor<8x2x4x6xf64>, tensor<8x3xf64>, tensor<8x3xf64>) -> tensor<8x2x4x6xf64>
  // CHECK: sp.attention %{{.*}}, %{{.*}}, %{{.*}} scale 2.500000e-01 causal :
  %1 = sp.attention %0, %k, %k scale 0.25 causal : (tensor<8x2x4x6xf64>, tensor<8x2x2x6xf64>, tensor<8x2x2x6xf64>) -> tensor<8x2x4x6xf64>
  // CHECK: sp.attention %{{.*}}, %{{.*}}, %{{.*}} scale 2.500000e-01 :
  %2 = sp.attention %0, %k, %k scale 0.25 : (tensor<8x2x4x6xf64>, tensor<8x2x2x6xf64>, tensor<8x2x2x6xf64>) -> tensor<8x2x4x6xf64>
  return
}

// CHECK-LABEL: func.func @local
func.func @local(%x: tensor<8x4xf32>, %t: tensor<8xi64>) {
  // CHECK: sp.collective all_reduce %{{.*}} over "tp" : tensor<8x4xf32> -> tensor<8x4xf32>
  %0 = sp.collective all_reduce %x over "tp" : tensor<8x4xf32> -> tensor<8x4xf32>
  // CHECK: sp.collective reduce_scatter %{{.*}} over "tp" dim 1 : tensor<8x4xf32> -> tensor<8x2xf32>
  %1 = sp.collective reduce_scatter %x over "tp" dim 1 : tensor<8x4xf32> -> tensor<8x2xf32>
  // CHECK: sp.collective all_gather %{{.*}} over "tp" dim 0 : tensor<8x4xf32> -> tensor<16x4xf32>
  %2 = sp.collective all_gather %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<16x4xf32>
  // CHECK: sp.local_slice %{{.*}} over "tp" dim 0 : tensor<8x4xf32> -> tensor<4x4xf32>
  %3 = sp.local_slice %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<4x4xf32>
  // CHECK: sp.local_zero_pad %{{.*}} over "tp" dim 0 : tensor<8x4xf32> -> tensor<16x4xf32>
  %4 = sp.local_zero_pad %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<16x4xf32>
  // CHECK: sp.check_targets %{{.*}} vocab 10 ignore_index -100 : tensor<8xi64>
  %5 = sp.check_targets %t vocab 10 ignore_index -100 : tensor<8xi64>
  return
}

// CHECK-LABEL: func.func @layout_changes
func.func @layout_changes(%x: tensor<8x4xf64>, %t: tensor<8x4xi64, #sp.layout<dp = shard(0), "odd name" = shard(1)>>) {
  // CHECK-NEXT: %[[R:.*]] = sp.copy %{{.*}} : tensor<8x4xf64> -> tensor<8x4xf64, #sp.layout<dp = replicate>>
  %0 = sp.copy %x : tensor<8x4xf64> -> tensor<8x4xf64, #sp.layout<dp = replicate>>
  // CHECK-NEXT: %[[S:.*]] = sp.slice %[[R]] : tensor<8x4xf64, #sp.layout<dp = replicate>> -> tensor<8x4xf64, #sp.layout<dp = shard(1)>>
  %1 = sp.slice %0 : tensor<8x4xf64, #sp.layout<dp = replicate>> -> tensor<8x4xf64, #sp.layout<dp = shard(1)>>
  // CHECK-NEXT: %[[P:.*]] = sp.zero_pad %[[S]] : tensor<8x4xf64, #sp.layout<dp = shard(1)>> -> tensor<8x4xf64, #sp.layout<dp = partial>>
  %2 = sp.zero_pad %1 : tensor<8x4xf64, #sp.layout<dp = shard(1)>> -> tensor<8x4xf64, #sp.layout<dp = partial>>
  // CHECK-NEXT: sp.all_reduce %[[P]] : tensor<8x4xf64, #sp.layout<dp = partial>> -> tensor<8x4xf64>
  %3 = sp.all_reduce %2 : tensor<8x4xf64, #sp.layout<dp = partial>> -> tensor<8x4xf64>
  // CHECK-NEXT: sp.reduce_scatter %[[P]] : tensor<8x4xf64, #sp.layout<dp = partial>> -> tensor<8x4xf64, #sp.layout<dp = shard(0)>>
  %4 = sp.reduce_scatter %2 : tensor<8x4xf64, #sp.layout<dp = partial>> -> tensor<8x4xf64, #sp.layout<dp = shard(0)>>
  // CHECK-NEXT: sp.all_gather %{{.*}} : tensor<8x4xi64, #sp.layout<dp = shard(0), "odd name" = shard(1)>> -> tensor<8x4xi64, #sp.layout<dp = shard(0)>>
  %5 = sp.all_gather %t : tensor<8x4xi64, #sp.layout<dp = shard(0), "odd name" = shard(1)>> -> tensor<8x4xi64, #sp.layout<dp = shard(0)>>
  return
}

// What a localised dropout knows of its shard.
// CHECK-LABEL: func.func @localised_dropout
func.func @localised_dropout(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: sp.dropout %{{.*}} p 5.000000e-01 op_id 3 layout <dp = shard(0), "odd name" = replicate> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = sp.dropout %x p 0.5 op_id 3 layout <dp = shard(0), "odd name" = replicate> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// Other attributes are kept.
// CHECK-LABEL: func.func @other_attributes
func.func @other_attributes(%x: tensor<4x4xf32>, %t: tensor<4xi64>) {
  // CHECK: sp.copy %{{.*}} {note = 1 : i64} :
  %0 = sp.copy %x {note = 1} : tensor<4x4xf32> -> tensor<4x4xf32, #sp.layout<dp = replicate>>
  // CHECK: sp.scale %{{.*}} by 2.000000e+00 {note = 2 : i64} :
  %1 = sp.scale %x by 2.0 {note = 2} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: sp.collective all_reduce %{{.*}} over "odd name" {note = 3 : i64} :
  %2 = sp.collective all_reduce %x over "odd name" {note = 3} : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}
