// RUN: sp-opt %s --split-input-file --sp-tensor-parallel="tp=4" --verify-diagnostics=only-expected

// C2: of fewer heads than ranks, each rank has what another one has too; a sum over
// features would count it twice.
func.func @summed(%q: tensor<4x1x8xf32>, %wq: tensor<8x8xf32>, %wk: tensor<4x8xf32>, %wo: tensor<8x8xf32>, %wr: tensor<8x4xf32>) -> tensor<4x1x8xf32> {
  %0 = sp.linear %q, %wq : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  %1 = sp.linear %q, %wk : (tensor<4x1x8xf32>, tensor<4x8xf32>) -> tensor<4x1x4xf32>
  %2 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [4, 1, 4, 2] : tensor<4x1x8xf32> into tensor<4x1x4x2xf32>
  %3 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [4, 1, 2, 2] : tensor<4x1x4xf32> into tensor<4x1x2x2xf32>
  %4 = sp.attention %2, %3, %3 scale 5.0e-01 causal : (tensor<4x1x4x2xf32>, tensor<4x1x2x2xf32>, tensor<4x1x2x2xf32>) -> tensor<4x1x4x2xf32>
  %5 = tensor.collapse_shape %4 [[0], [1], [2, 3]] : tensor<4x1x4x2xf32> into tensor<4x1x8xf32>
  %6 = sp.linear %5, %wo : (tensor<4x1x8xf32>, tensor<8x8xf32>) -> tensor<4x1x8xf32>
  // expected-error @below {{`sp.linear` uses key/value heads, of which there are fewer than ranks, together with query heads; choose at most 2 ranks (C2)}}
  %7 = sp.linear %1, %wr : (tensor<4x1x4xf32>, tensor<8x4xf32>) -> tensor<4x1x8xf32>
  %8 = arith.addf %6, %7 : tensor<4x1x8xf32>
  return %8 : tensor<4x1x8xf32>
}
