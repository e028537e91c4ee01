func.func @f(%x: tensor<6x8xf32>, %w1: tensor<16x8xf32>, %g: tensor<16xf32>, %w2: tensor<8x16xf32>) -> tensor<6x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %n = sp.rms_norm %h, %g eps 1.0e-05 : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %o = sp.linear %n, %w2 : (tensor<6x16xf32>, tensor<8x16xf32>) -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}
