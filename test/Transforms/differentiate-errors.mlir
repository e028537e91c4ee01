// RUN: sp-opt %s --split-input-file --sp-differentiate --verify-diagnostics

// expected-error @below {{sp-differentiate: no function has a result named `loss`, or, without names, exactly one result that is a floating point tensor of rank 0 (C1)}}
module {
  func.func @no_loss(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{the loss of `vector` is 'tensor<4xf32>', must be a tensor of rank 0 of floating point numbers (C1)}}
func.func @vector(%x: tensor<4xf32> {sp.param = "x"}) -> (tensor<4xf32> {sp.result = "loss"}) {
  return %x : tensor<4xf32>
}

// -----

func.func @no_adjoint(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{has no adjoint, but the gradient passes through it (C2)}}
  %y = arith.remf %x, %x : tensor<4xf32>
  %l = sp.sum_leading %y count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @no_adjoint_in_operand(%x: tensor<4x2x2x8xf32>, %c: tensor<4x4xf32>) -> tensor<f32> {
  // expected-error @below {{has no adjoint in its cosines, but the gradient passes through it (C2)}}
  %y = sp.rope %x, %c, %c : (tensor<4x2x2x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x2x2x8xf32>
  %l = sp.sum_leading %y count 4 : (tensor<4x2x2x8xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @product(%x: tensor<4x3xf32>) -> tensor<f32> {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error @below {{result #0 is a reduction other than a sum, or the maximum or minimum of an operand; it has no adjoint (C2)}}
  %y = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x3xf32>) outs(%one : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %o : f32
      linalg.yield %s : f32
  } -> tensor<4xf32>
  %l = sp.sum_leading %y count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Which element is the largest might change when it is rounded.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @max_of_computed(%x: tensor<4x3xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  // expected-error @below {{result #0 is a reduction other than a sum, or the maximum or minimum of an operand; it has no adjoint (C2)}}
  %y = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x3xf32>) outs(%zero : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %q = arith.mulf %a, %a : f32
      %s = arith.maximumf %q, %o : f32
      linalg.yield %s : f32
  } -> tensor<4xf32>
  %l = sp.sum_leading %y count 1 : (tensor<4xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// bf16 factors, an f32 sum
func.func @mixed_product(%x: tensor<4x3xbf16>, %w: tensor<3x2xbf16>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<4x2xf32>
  // expected-error @below {{operand #0 is of 'bf16' in a product with 'f32'; it has no adjoint (C2)}}
  %y = linalg.matmul ins(%x, %w : tensor<4x3xbf16>, tensor<3x2xbf16>) outs(%zero : tensor<4x2xf32>) -> tensor<4x2xf32>
  %l = sp.sum_leading %y count 2 : (tensor<4x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @below {{`twice` has a result `grad.x`; it has been differentiated (C3)}}
func.func @twice(%x: tensor<f32> {sp.param = "x"}) -> (tensor<f32> {sp.result = "loss"}, tensor<f32> {sp.result = "grad.x"}) {
  return %x, %x : tensor<f32>, tensor<f32>
}
