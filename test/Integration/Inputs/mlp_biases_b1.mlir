// Linears with biases, column and row parallel, a two-layer ReLU MLP, another
// epsilon, B=1. Biases are not named so: random parameters make those zero, and a
// zero bias that is added T times would not show.
func.func @mlp(%x: tensor<12x1x16xf64> {sp.param = "x"}, %g: tensor<16xf64> {sp.param = "norm"},
    %w1: tensor<48x16xf64> {sp.param = "w1"}, %b1: tensor<48xf64> {sp.param = "b1"},
    %w2: tensor<16x48xf64> {sp.param = "w2"}, %b2: tensor<16xf64> {sp.param = "b2"})
    -> (tensor<1x12x16xf64> {sp.result = "y"}, tensor<12x1x16xf64> {sp.result = "hidden"}) {
  %zero = arith.constant dense<0.0> : tensor<12x1x48xf64>
  %n = sp.rms_norm %x, %g eps 3.0e-02 : (tensor<12x1x16xf64>, tensor<16xf64>) -> tensor<12x1x16xf64>
  %h = sp.linear %n, %w1 bias %b1 : (tensor<12x1x16xf64>, tensor<48x16xf64>, tensor<48xf64>) -> tensor<12x1x48xf64>
  %r = arith.maximumf %h, %zero : tensor<12x1x48xf64>
  %o = sp.linear %r, %w2 bias %b2 : (tensor<12x1x48xf64>, tensor<16x48xf64>, tensor<16xf64>) -> tensor<12x1x16xf64>
  %y = arith.addf %x, %o : tensor<12x1x16xf64>
  %z = sp.scale %y by 1.25 : (tensor<12x1x16xf64>) -> tensor<12x1x16xf64>
  %e = sp.batch_major %z : (tensor<12x1x16xf64>) -> tensor<1x12x16xf64>
  return %e, %y : tensor<1x12x16xf64>, tensor<12x1x16xf64>
}
