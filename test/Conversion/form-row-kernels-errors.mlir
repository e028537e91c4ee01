// RUN: sp-opt %s --split-input-file --sp-form-row-kernels --verify-diagnostics

// C1
func.func @layout(%x: tensor<4x8xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x8xf32, #sp.layout<tp = shard(0)>> {
  // expected-error @below {{run sp-localize first (C1)}}
  %0 = math.exp %x : tensor<4x8xf32, #sp.layout<tp = shard(0)>>
  return %0 : tensor<4x8xf32, #sp.layout<tp = shard(0)>>
}

// -----

// C2
func.func @product(%x: tensor<4x8xf32>, %i: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{result #0 is a reduction other than a sum, a maximum or a minimum of floating point numbers (C2)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%i : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.mulf %a, %b : f32
      linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// C4
func.func @divides(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
  // expected-error @below {{divides integers by what may be 0, or -1, which would end the process; only other constants are allowed (C4)}}
  %0 = arith.divsi %x, %y : tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// C4
func.func @remainder(%x: tensor<4xi64>) -> tensor<4xi64> {
  %zero = arith.constant dense<0> : tensor<4xi64>
  // expected-error @below {{divides integers by what may be 0, or -1}}
  %0 = arith.remui %x, %zero : tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// C4
func.func @divides_in_body(%x: tensor<4xi64>, %y: tensor<4xi64>) -> tensor<4xi64> {
  %i = tensor.empty() : tensor<4xi64>
  %0 = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<4xi64>, tensor<4xi64>) outs(%i : tensor<4xi64>) {
    ^bb0(%a: i64, %b: i64, %c: i64):
      // expected-error @below {{divides integers by what may be 0, or -1}}
      %s = arith.remsi %a, %b : i64
      linalg.yield %s : i64
  } -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// By other constants it may.
func.func @divides_by_three(%x: tensor<4xi64>) -> tensor<4xi64> {
  %three = arith.constant dense<3> : tensor<4xi64>
  %0 = arith.divsi %x, %three : tensor<4xi64>
  return %0 : tensor<4xi64>
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
