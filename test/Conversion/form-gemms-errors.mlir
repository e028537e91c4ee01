// RUN: sp-opt %s --sp-form-gemms --verify-diagnostics

// C1
func.func @layout(%a: tensor<6x8xf32, #sp.layout<tp = shard(0)>>, %b: tensor<8x4xf32, #sp.layout<tp = replicate>>) {
  %i = arith.constant dense<0.0> : tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{run sp-localize first (C1)}}
  %c = linalg.matmul ins(%a, %b : tensor<6x8xf32, #sp.layout<tp = shard(0)>>, tensor<8x4xf32, #sp.layout<tp = replicate>>) outs(%i : tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  return
}
