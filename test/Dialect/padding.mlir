// RUN: sp-opt %s --mlir-print-local-scope | sp-opt --mlir-print-local-scope | FileCheck -enable-var-scope %s
// RUN: sp-opt %s --sp-verify-layouts -o /dev/null

sp.mesh @mesh <tp = 2>

// CHECK-LABEL: func.func @padding
func.func @padding(%x: tensor<3x4xf32, #sp.layout<tp = shard(1)>>, %ids: tensor<2x3xi64>) -> (tensor<3x4xf32, #sp.layout<tp = shard(1)>>, tensor<1x4xf32, #sp.layout<tp = shard(1)>>) {
  // CHECK: sp.pad %{{.*}} dim 0 : tensor<3x4xf32, #sp.layout<tp = shard(1)>> -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  %0 = sp.pad %x dim 0 : tensor<3x4xf32, #sp.layout<tp = shard(1)>> -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  // CHECK: sp.pad %{{.*}} dim 0 fill 0 :
  %1 = sp.pad %x dim 0 fill 0 : tensor<3x4xf32, #sp.layout<tp = shard(1)>> -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  // CHECK: sp.pad %{{.*}} dim 1 fill -100 : tensor<2x3xi64> -> tensor<2x4xi64>
  %2 = sp.pad %ids dim 1 fill -100 : tensor<2x3xi64> -> tensor<2x4xi64>
  // CHECK: sp.unpad %{{.*}} dim 0 : tensor<4x4xf32, #sp.layout<tp = shard(1)>> -> tensor<3x4xf32, #sp.layout<tp = shard(1)>>
  %3 = sp.unpad %0 dim 0 : tensor<4x4xf32, #sp.layout<tp = shard(1)>> -> tensor<3x4xf32, #sp.layout<tp = shard(1)>>
  // CHECK: sp.unpad %{{.*}} dim 0 fold : tensor<4x4xf32, #sp.layout<tp = shard(1)>> -> tensor<1x4xf32, #sp.layout<tp = shard(1)>>
  %4 = sp.unpad %1 dim 0 fold : tensor<4x4xf32, #sp.layout<tp = shard(1)>> -> tensor<1x4xf32, #sp.layout<tp = shard(1)>>
  return %3, %4 : tensor<3x4xf32, #sp.layout<tp = shard(1)>>, tensor<1x4xf32, #sp.layout<tp = shard(1)>>
}

// What is filled with zeros may be a summand; what is repeated, too.
// CHECK-LABEL: func.func @partial
func.func @partial(%x: tensor<4x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<5x4xf32> {
  %0 = sp.zero_pad %x : tensor<4x4xf32, #sp.layout<tp = shard(0)>> -> tensor<4x4xf32, #sp.layout<tp = partial>>
  %1 = sp.pad %0 dim 0 fill 0 : tensor<4x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %2 = sp.unpad %1 dim 0 fold : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<3x4xf32, #sp.layout<tp = partial>>
  %3 = sp.pad %2 dim 0 : tensor<3x4xf32, #sp.layout<tp = partial>> -> tensor<5x4xf32, #sp.layout<tp = partial>>
  %4 = sp.all_reduce %3 : tensor<5x4xf32, #sp.layout<tp = partial>> -> tensor<5x4xf32>
  return %4 : tensor<5x4xf32>
}
