// RUN: sp-opt %s --split-input-file --sp-form-gemms --verify-diagnostics

// C1
func.func @layout(%a: tensor<6x8xf32, #sp.layout<tp = shard(0)>>, %b: tensor<8x4xf32, #sp.layout<tp = replicate>>) {
  %i = arith.constant dense<0.0> : tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{run sp-localize first (C1)}}
  %c = linalg.matmul ins(%a, %b : tensor<6x8xf32, #sp.layout<tp = shard(0)>>, tensor<8x4xf32, #sp.layout<tp = replicate>>) outs(%i : tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// sp.gemm, C1
func.func @elements(%a: tensor<6x8xf32>, %b: tensor<8x4xf32>) {
  // expected-error @below {{rhs has 32 elements, must have 40 (C1)}}
  %c = sp.gemm %a, %b batch 1 m 6 n 5 k 8 : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

// sp.gemm, C1
func.func @init(%a: tensor<6x8xf32>, %b: tensor<8x4xf32>, %i: tensor<4x6xf32>) {
  // expected-error @below {{init is 'tensor<4x6xf32>', must be 'tensor<6x4xf32>' (C1)}}
  %c = sp.gemm %a, %b plus %i batch 1 m 6 n 4 k 8 : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

// sp.gemm, C2
func.func @types(%a: tensor<6x8xf32>, %b: tensor<8x4xf64>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C2)}}
  %c = sp.gemm %a, %b batch 1 m 6 n 4 k 8 : (tensor<6x8xf32>, tensor<8x4xf64>) -> tensor<6x4xf32>
  return
}
