// A norm and a two-layer MLP with biases, S=8 B=2 H=6, and a loss.
func.func @mlp(%x: tensor<8x2x6xf64> {sp.param = "x"},
    %n: tensor<6xf64> {sp.param = "norm.weight"},
    %w1: tensor<10x6xf64> {sp.param = "up.weight"}, %b1: tensor<10xf64> {sp.param = "up.bias"},
    %w2: tensor<6x10xf64> {sp.param = "down.weight"}, %b2: tensor<6xf64> {sp.param = "down.bias"})
    -> (tensor<f64> {sp.result = "loss"}) {
  %h = sp.rms_norm %x, %n eps 1.0e-06 : (tensor<8x2x6xf64>, tensor<6xf64>) -> tensor<8x2x6xf64>
  %u = sp.linear %h, %w1 bias %b1 : (tensor<8x2x6xf64>, tensor<10x6xf64>, tensor<10xf64>) -> tensor<8x2x10xf64>
  %t = math.tanh %u : tensor<8x2x10xf64>
  %d = sp.linear %t, %w2 bias %b2 : (tensor<8x2x10xf64>, tensor<6x10xf64>, tensor<6xf64>) -> tensor<8x2x6xf64>
  %y = arith.addf %x, %d : tensor<8x2x6xf64>
  %q = arith.mulf %y, %y : tensor<8x2x6xf64>
  %l = sp.sum_leading %q count 3 : (tensor<8x2x6xf64>) -> tensor<f64>
  return %l : tensor<f64>
}
