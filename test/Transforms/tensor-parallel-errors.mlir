// RUN: sp-opt %s --split-input-file --sp-tensor-parallel="tp=3" --verify-diagnostics

// C1
// expected-error @below {{the module already has a mesh}}
sp.mesh @mesh <tp = 3>

// -----

// C2: heads first, in the words of the configuration.
func.func @heads(%q: tensor<6x1x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x8xf32>) -> tensor<6x1x8xf32> {
  %0 = sp.linear %q, %wq : (tensor<6x1x8xf32>, tensor<8x8xf32>) -> tensor<6x1x8xf32>
  %1 = sp.linear %q, %wk : (tensor<6x1x8xf32>, tensor<8x8xf32>) -> tensor<6x1x8xf32>
  %2 = sp.linear %q, %wv : (tensor<6x1x8xf32>, tensor<8x8xf32>) -> tensor<6x1x8xf32>
  %3 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [6, 1, 4, 2] : tensor<6x1x8xf32> into tensor<6x1x4x2xf32>
  %4 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [6, 1, 4, 2] : tensor<6x1x8xf32> into tensor<6x1x4x2xf32>
  %5 = tensor.expand_shape %2 [[0], [1], [2, 3]] output_shape [6, 1, 4, 2] : tensor<6x1x8xf32> into tensor<6x1x4x2xf32>
  // expected-error @below {{`sp.attention` query heads (num_attention_heads): 4 is not divisible by `tp` = 3; choose a number of ranks that divides it (C2)}}
  %6 = sp.attention %3, %4, %5 scale 5.0e-01 causal : (tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2xf32>) -> tensor<6x1x4x2xf32>
  %7 = tensor.collapse_shape %6 [[0], [1], [2, 3]] : tensor<6x1x4x2xf32> into tensor<6x1x8xf32>
  %8 = sp.linear %7, %wo : (tensor<6x1x8xf32>, tensor<8x8xf32>) -> tensor<6x1x8xf32>
  return %8 : tensor<6x1x8xf32>
}

// -----

// C2
func.func @kv_heads(%q: tensor<6x1x12xf32>, %wq: tensor<12x12xf32>, %wk: tensor<4x12xf32>, %wv: tensor<4x12xf32>, %wo: tensor<12x12xf32>) -> tensor<6x1x12xf32> {
  %0 = sp.linear %q, %wq : (tensor<6x1x12xf32>, tensor<12x12xf32>) -> tensor<6x1x12xf32>
  %1 = sp.linear %q, %wk : (tensor<6x1x12xf32>, tensor<4x12xf32>) -> tensor<6x1x4xf32>
  %2 = sp.linear %q, %wv : (tensor<6x1x12xf32>, tensor<4x12xf32>) -> tensor<6x1x4xf32>
  %3 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [6, 1, 6, 2] : tensor<6x1x12xf32> into tensor<6x1x6x2xf32>
  %4 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [6, 1, 2, 2] : tensor<6x1x4xf32> into tensor<6x1x2x2xf32>
  %5 = tensor.expand_shape %2 [[0], [1], [2, 3]] output_shape [6, 1, 2, 2] : tensor<6x1x4xf32> into tensor<6x1x2x2xf32>
  // expected-error @below {{`sp.attention` key/value heads (num_key_value_heads): 2 is not divisible by `tp` = 3, nor a divisor of it; choose a number of ranks that divides it or a multiple of it (C2)}}
  %6 = sp.attention %3, %4, %5 scale 5.0e-01 causal : (tensor<6x1x6x2xf32>, tensor<6x1x2x2xf32>, tensor<6x1x2x2xf32>) -> tensor<6x1x6x2xf32>
  %7 = tensor.collapse_shape %6 [[0], [1], [2, 3]] : tensor<6x1x6x2xf32> into tensor<6x1x12xf32>
  %8 = sp.linear %7, %wo : (tensor<6x1x12xf32>, tensor<12x12xf32>) -> tensor<6x1x12xf32>
  return %8 : tensor<6x1x12xf32>
}

// -----

// C2
func.func @intermediate(%x: tensor<6x8xf32>, %w1: tensor<16x8xf32> {sp.param = "mlp.up_proj.weight"}, %w2: tensor<8x16xf32>) -> tensor<6x8xf32> {
  // expected-error @below {{`mlp.up_proj.weight` output features: 16 is not divisible by `tp` = 3}}
  %0 = sp.linear %x, %w1 : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %1 = sp.linear %0, %w2 : (tensor<6x16xf32>, tensor<8x16xf32>) -> tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}
