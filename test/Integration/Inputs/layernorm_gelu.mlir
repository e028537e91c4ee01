// A block on [S*B,H] in upstream ops, S=12 B=2 H=16: LayerNorm of two sums, linalg.matmul on a [K,N]
// weight and on a transposed [N,K] one, exact GELU, biases in the elementwise ops, the residual
// scaled by a constant and added the other way round.
#x = affine_map<(t, h) -> (t, h)>
#row = affine_map<(t, h) -> (t)>
#col = affine_map<(t, h) -> (h)>
func.func @layernorm_gelu(%x: tensor<12x2x16xf64> {sp.param = "x"},
    %g: tensor<16xf64> {sp.param = "gamma"}, %be: tensor<16xf64> {sp.param = "beta"},
    %w1: tensor<16x24xf64> {sp.param = "w1"}, %b1: tensor<24xf64> {sp.param = "b1"},
    %w2: tensor<16x24xf64> {sp.param = "w2"}, %b2: tensor<16xf64> {sp.param = "b2"})
    -> (tensor<12x2x16xf64> {sp.result = "y"}, tensor<f64> {sp.result = "loss"}) {
  %zero = arith.constant 0.0 : f64
  %width = arith.constant 16.0 : f64
  %eps = arith.constant 3.0e-3 : f64
  %half = arith.constant 0.5 : f64
  %one = arith.constant 1.0 : f64
  %rsqrt2 = arith.constant 0.70710678118654752 : f64
  %x2 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<12x2x16xf64> into tensor<24x16xf64>

  %rows = tensor.empty() : tensor<24xf64>
  %rows0 = linalg.fill ins(%zero : f64) outs(%rows : tensor<24xf64>) -> tensor<24xf64>
  %sum = linalg.reduce {arith.addf} ins(%x2 : tensor<24x16xf64>) outs(%rows0 : tensor<24xf64>) dimensions = [1]
  %narrow = tensor.empty() : tensor<24x16xf64>
  %centered = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%x2, %sum : tensor<24x16xf64>, tensor<24xf64>) outs(%narrow : tensor<24x16xf64>) {
    ^bb0(%a: f64, %s: f64, %o: f64):
      %mean = arith.divf %s, %width : f64
      %r = arith.subf %a, %mean : f64
      linalg.yield %r : f64
  } -> tensor<24x16xf64>
  %squares = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%centered : tensor<24x16xf64>) outs(%rows0 : tensor<24xf64>) {
    ^bb0(%a: f64, %o: f64):
      %q = arith.mulf %a, %a : f64
      %r = arith.addf %q, %o : f64
      linalg.yield %r : f64
  } -> tensor<24xf64>
  %norm = linalg.generic {indexing_maps = [#x, #row, #col, #col, #x], iterator_types = ["parallel", "parallel"]}
      ins(%centered, %squares, %g, %be : tensor<24x16xf64>, tensor<24xf64>, tensor<16xf64>, tensor<16xf64>) outs(%narrow : tensor<24x16xf64>) {
    ^bb0(%a: f64, %s: f64, %weight: f64, %bias: f64, %o: f64):
      %variance = arith.divf %s, %width : f64
      %shifted = arith.addf %variance, %eps : f64
      %inverse = math.rsqrt %shifted : f64
      %n = arith.mulf %a, %inverse : f64
      %scaled = arith.mulf %n, %weight : f64
      %r = arith.addf %scaled, %bias : f64
      linalg.yield %r : f64
  } -> tensor<24x16xf64>

  %wide = tensor.empty() : tensor<24x24xf64>
  %wide0 = linalg.fill ins(%zero : f64) outs(%wide : tensor<24x24xf64>) -> tensor<24x24xf64>
  %h = linalg.matmul ins(%norm, %w1 : tensor<24x16xf64>, tensor<16x24xf64>) outs(%wide0 : tensor<24x24xf64>) -> tensor<24x24xf64>
  %gelu = linalg.generic {indexing_maps = [#x, #col, #x], iterator_types = ["parallel", "parallel"]}
      ins(%h, %b1 : tensor<24x24xf64>, tensor<24xf64>) outs(%wide : tensor<24x24xf64>) {
    ^bb0(%a: f64, %bias: f64, %o: f64):
      %s = arith.addf %a, %bias : f64
      %t = arith.mulf %s, %rsqrt2 : f64
      %erf = math.erf %t : f64
      %e = arith.addf %erf, %one : f64
      %half_s = arith.mulf %s, %half : f64
      %r = arith.mulf %half_s, %e : f64
      linalg.yield %r : f64
  } -> tensor<24x24xf64>
  %turned = tensor.empty() : tensor<24x16xf64>
  %w2t = linalg.transpose ins(%w2 : tensor<16x24xf64>) outs(%turned : tensor<24x16xf64>) permutation = [1, 0]
  %narrow0 = linalg.fill ins(%zero : f64) outs(%narrow : tensor<24x16xf64>) -> tensor<24x16xf64>
  %o = linalg.matmul ins(%gelu, %w2t : tensor<24x24xf64>, tensor<24x16xf64>) outs(%narrow0 : tensor<24x16xf64>) -> tensor<24x16xf64>
  %y2 = linalg.generic {indexing_maps = [#col, #x, #x, #x], iterator_types = ["parallel", "parallel"]}
      ins(%b2, %o, %x2 : tensor<16xf64>, tensor<24x16xf64>, tensor<24x16xf64>) outs(%narrow : tensor<24x16xf64>) {
    ^bb0(%bias: f64, %a: f64, %residual: f64, %c: f64):
      %s = arith.addf %bias, %a : f64
      %scaled = arith.mulf %half, %s : f64
      %r = arith.addf %scaled, %residual : f64
      linalg.yield %r : f64
  } -> tensor<24x16xf64>
  %y = tensor.expand_shape %y2 [[0, 1], [2]] output_shape [12, 2, 16] : tensor<24x16xf64> into tensor<12x2x16xf64>
  %l0 = arith.constant dense<0.0> : tensor<f64>
  %loss = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%y : tensor<12x2x16xf64>) outs(%l0 : tensor<f64>) {
    ^bb0(%a: f64, %c: f64):
      %q = arith.mulf %a, %a : f64
      %r = arith.addf %c, %q : f64
      linalg.yield %r : f64
  } -> tensor<f64>
  return %y, %loss : tensor<12x2x16xf64>, tensor<f64>
}
