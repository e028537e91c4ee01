// RUN: sp-opt %s --split-input-file --sp-parallelize="tp=4 require-all=true" --verify-diagnostics=only-expected

// C2
func.func @sequence_length(%x: tensor<6x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<6x2x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<6x2x8xf32>, tensor<16x8xf32>) -> tensor<6x2x16xf32>
  // expected-error @below {{sequence length 6 (dimension 0 of the result of `sp.all_reduce`) is not divisible by `tp` = 4; choose a sequence length that is a multiple of 4, pad it (pad-sequence), or run without sequence parallelism (C2)}}
  %o = sp.linear %h, %w2 : (tensor<6x2x16xf32>, tensor<8x16xf32>) -> tensor<6x2x8xf32>
  return %o : tensor<6x2x8xf32>
}
