// Attention and MLP side by side on one input, post-norm, S=8 B=2 H=16; the MLP's matmuls start from
// their biases instead of from zero, and the residual is scaled by a constant tensor.
#x = affine_map<(s, b, h) -> (s, b, h)>
#row = affine_map<(s, b, h) -> (s, b)>
#col = affine_map<(s, b, h) -> (h)>
func.func @parallel(%x: tensor<8x2x16xf64> {sp.param = "x"},
    %wq: tensor<16x16xf64> {sp.param = "wq"}, %wk: tensor<16x16xf64> {sp.param = "wk"},
    %wv: tensor<16x16xf64> {sp.param = "wv"}, %wo: tensor<16x16xf64> {sp.param = "wo"},
    %w1: tensor<16x24xf64> {sp.param = "w1"}, %b1: tensor<24xf64> {sp.param = "b1"},
    %w2: tensor<24x16xf64> {sp.param = "w2"}, %b2: tensor<16xf64> {sp.param = "b2"},
    %g: tensor<16xf64> {sp.param = "gamma"})
    -> (tensor<8x2x16xf64> {sp.result = "y"}, tensor<f64> {sp.result = "loss"}) {
  %zero = arith.constant 0.0 : f64
  %width = arith.constant 16.0 : f64
  %eps = arith.constant 2.0e-2 : f64
  %scale = arith.constant dense<0.75> : tensor<8x2x16xf64>
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<8x2x16xf64> into tensor<16x16xf64>
  %c0 = arith.constant dense<0.0> : tensor<16x16xf64>
  %q2 = linalg.matmul ins(%flat, %wq : tensor<16x16xf64>, tensor<16x16xf64>) outs(%c0 : tensor<16x16xf64>) -> tensor<16x16xf64>
  %k2 = linalg.matmul ins(%flat, %wk : tensor<16x16xf64>, tensor<16x16xf64>) outs(%c0 : tensor<16x16xf64>) -> tensor<16x16xf64>
  %v2 = linalg.matmul ins(%flat, %wv : tensor<16x16xf64>, tensor<16x16xf64>) outs(%c0 : tensor<16x16xf64>) -> tensor<16x16xf64>
  %q = tensor.expand_shape %q2 [[0, 1], [2, 3]] output_shape [8, 2, 4, 4] : tensor<16x16xf64> into tensor<8x2x4x4xf64>
  %k = tensor.expand_shape %k2 [[0, 1], [2, 3]] output_shape [8, 2, 4, 4] : tensor<16x16xf64> into tensor<8x2x4x4xf64>
  %v = tensor.expand_shape %v2 [[0, 1], [2, 3]] output_shape [8, 2, 4, 4] : tensor<16x16xf64> into tensor<8x2x4x4xf64>
  %a = sp.attention %q, %k, %v scale 0.5 causal : (tensor<8x2x4x4xf64>, tensor<8x2x4x4xf64>, tensor<8x2x4x4xf64>) -> tensor<8x2x4x4xf64>
  %a2 = tensor.collapse_shape %a [[0, 1], [2, 3]] : tensor<8x2x4x4xf64> into tensor<16x16xf64>
  %o2 = linalg.matmul ins(%a2, %wo : tensor<16x16xf64>, tensor<16x16xf64>) outs(%c0 : tensor<16x16xf64>) -> tensor<16x16xf64>

  %wide = tensor.empty() : tensor<16x24xf64>
  %b1rows = linalg.broadcast ins(%b1 : tensor<24xf64>) outs(%wide : tensor<16x24xf64>) dimensions = [0]
  %h = linalg.matmul ins(%flat, %w1 : tensor<16x16xf64>, tensor<16x24xf64>) outs(%b1rows : tensor<16x24xf64>) -> tensor<16x24xf64>
  %tanh = linalg.tanh ins(%h : tensor<16x24xf64>) outs(%wide : tensor<16x24xf64>) -> tensor<16x24xf64>
  %narrow = tensor.empty() : tensor<16x16xf64>
  %b2rows = linalg.broadcast ins(%b2 : tensor<16xf64>) outs(%narrow : tensor<16x16xf64>) dimensions = [0]
  %d = linalg.matmul ins(%tanh, %w2 : tensor<16x24xf64>, tensor<24x16xf64>) outs(%b2rows : tensor<16x16xf64>) -> tensor<16x16xf64>

  %both = arith.addf %d, %o2 : tensor<16x16xf64>
  %both3 = tensor.expand_shape %both [[0, 1], [2]] output_shape [8, 2, 16] : tensor<16x16xf64> into tensor<8x2x16xf64>
  %scaled = arith.mulf %scale, %x : tensor<8x2x16xf64>
  %r = arith.addf %both3, %scaled : tensor<8x2x16xf64>
  %square = arith.mulf %r, %r : tensor<8x2x16xf64>
  %rows0 = arith.constant dense<0.0> : tensor<8x2xf64>
  %sum = linalg.reduce {arith.addf} ins(%square : tensor<8x2x16xf64>) outs(%rows0 : tensor<8x2xf64>) dimensions = [2]
  %none = tensor.empty() : tensor<8x2x16xf64>
  %y = linalg.generic {indexing_maps = [#x, #row, #col, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%r, %sum, %g : tensor<8x2x16xf64>, tensor<8x2xf64>, tensor<16xf64>) outs(%none : tensor<8x2x16xf64>) {
    ^bb0(%e: f64, %s: f64, %weight: f64, %c: f64):
      %mean = arith.divf %s, %width : f64
      %shifted = arith.addf %mean, %eps : f64
      %inverse = math.rsqrt %shifted : f64
      %n = arith.mulf %e, %inverse : f64
      %result = arith.mulf %n, %weight : f64
      linalg.yield %result : f64
  } -> tensor<8x2x16xf64>
  %l = sp.sum_leading %y count 3 : (tensor<8x2x16xf64>) -> tensor<f64>
  return %y, %l : tensor<8x2x16xf64>, tensor<f64>
}
