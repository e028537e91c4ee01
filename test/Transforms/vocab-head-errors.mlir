// RUN: sp-opt %s --split-input-file --sp-tensor-parallel="tp=3 head=vocab" --verify-diagnostics

// C2
func.func @untied(%x: tensor<6x3x4xf32>, %w: tensor<10x4xf32> {sp.param = "lm_head.weight"}, %t: tensor<6x3xi64>) -> tensor<f32> {
  // expected-error @below {{`lm_head.weight` vocabulary: 10 is not divisible by `tp` = 3; choose a number of ranks that divides it, or the replicated head (C2)}}
  %l = sp.linear %x, %w : (tensor<6x3x4xf32>, tensor<10x4xf32>) -> tensor<6x3x10xf32>
  %0:2 = sp.cross_entropy %l, %t ignore_index -100 : (tensor<6x3x10xf32>, tensor<6x3xi64>) -> (tensor<f32>, tensor<f32>)
  return %0#0 : tensor<f32>
}

// -----

// C2: the table of a lookup, by its parameter's name.
func.func @tied(%ids: tensor<3x6xi64>, %w: tensor<10x4xf32> {sp.param = "model.embed_tokens.weight"}) -> tensor<6x3x10xbf16> {
  %t = arith.truncf %w : tensor<10x4xf32> to tensor<10x4xbf16>
  %h = sp.embedding %ids, %t : (tensor<3x6xi64>, tensor<10x4xbf16>) -> tensor<6x3x4xbf16>
  // expected-error @below {{`model.embed_tokens.weight` vocabulary: 10 is not divisible by `tp` = 3}}
  %l = sp.linear %h, %t : (tensor<6x3x4xbf16>, tensor<10x4xbf16>) -> tensor<6x3x10xbf16>
  return %l : tensor<6x3x10xbf16>
}
