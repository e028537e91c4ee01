// Token-local work and the activation written with upstream ops.
#id = affine_map<(s, b, h) -> (s, b, h)>
#w = affine_map<(s, b, h) -> (h)>
func.func @block(%x: tensor<12x2x16xf64> {sp.param = "x"}, %g: tensor<16xf64> {sp.param = "gamma"},
    %w1: tensor<24x16xf64> {sp.param = "w1"}, %w2: tensor<16x24xf64> {sp.param = "w2"})
    -> (tensor<12x2x16xf64> {sp.result = "y"}) {
  %half = arith.constant dense<5.0e-01> : tensor<12x2x24xf64>
  %init = tensor.empty() : tensor<12x2x16xf64>
  %n = linalg.generic {indexing_maps = [#id, #w, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %g : tensor<12x2x16xf64>, tensor<16xf64>) outs(%init : tensor<12x2x16xf64>) {
    ^bb0(%a: f64, %b: f64, %c: f64):
      %m = arith.mulf %a, %b : f64
      %t = math.tanh %m : f64
      linalg.yield %t : f64
  } -> tensor<12x2x16xf64>
  %h = sp.linear %n, %w1 : (tensor<12x2x16xf64>, tensor<24x16xf64>) -> tensor<12x2x24xf64>
  %e = math.erf %h : tensor<12x2x24xf64>
  %s = arith.mulf %e, %half : tensor<12x2x24xf64>
  %m = arith.mulf %s, %h : tensor<12x2x24xf64>
  %o = sp.linear %m, %w2 : (tensor<12x2x24xf64>, tensor<16x24xf64>) -> tensor<12x2x16xf64>
  %y = arith.addf %o, %x : tensor<12x2x16xf64>
  %z = math.exp %y : tensor<12x2x16xf64>
  return %z : tensor<12x2x16xf64>
}
