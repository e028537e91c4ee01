// RUN: sp-opt %s --split-input-file --sp-form-row-kernels --verify-diagnostics

// C1
func.func @layout(%x: tensor<4x8xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x8xf32, #sp.layout<tp = shard(0)>> {
  // expected-error @below {{run sp-localize first (C1)}}
  %0 = math.exp %x : tensor<4x8xf32, #sp.layout<tp = shard(0)>>
  return %0 : tensor<4x8xf32, #sp.layout<tp = shard(0)>>
}

// -----

// C2
func.func @reduction(%x: tensor<4x8xf32>, %i: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{is not elementwise on tensors (C2)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%i : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// C2
func.func @captured(%x: tensor<4x8xf32>, %s: f32) -> tensor<4x8xf32> {
  %i = tensor.empty() : tensor<4x8xf32>
  // expected-error @below {{reads a value that is neither a tensor operand's element nor a constant (C2)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%i : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %s : f32
      linalg.yield %m : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// C2
func.func @index(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%i : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32):
      // expected-error @below {{is not a scalar op (C2)}}
      %n = linalg.index 1 : index
      %j = arith.index_cast %n : index to i64
      %f = arith.sitofp %j : i64 to f32
      %m = arith.mulf %a, %f : f32
      linalg.yield %m : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// C2
func.func @fill(%s: f32) -> tensor<4x8xf32> {
  %i = tensor.empty() : tensor<4x8xf32>
  // expected-error @below {{reads a value that is neither a tensor operand's element nor a constant (C2)}}
  %0 = linalg.fill ins(%s : f32) outs(%i : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// C3
func.func @returned_truth(%x: tensor<4x8xf32>) -> tensor<4x8xi1> {
  %0 = arith.cmpf olt, %x, %x : tensor<4x8xf32>
  // expected-error @below {{works on 'tensor<4x8xi1>'; tensors in memory are static, not empty, and of f32, f64, bf16 or i64 (C3)}}
  return %0 : tensor<4x8xi1>
}

// -----

// C3
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{works on 'tensor<?x8xf32>'; tensors in memory are static, not empty, and of f32, f64, bf16 or i64 (C3)}}
  %0 = tensor.cast %x : tensor<?x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// C3
func.func @scalar(%p: i1, %x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{reads 'i1', which is neither a constant nor a tensor in memory (C3)}}
  %0 = arith.select %p, %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
