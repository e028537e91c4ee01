// What padding must not reach: learned positions (a parameter of the sequence),
// attention that is not causal, a norm without epsilon (of a row of zeros it is no
// number), a logarithm, a mean over the sequence that every token gets back, and
// targets that are computed. S=5 B=2 H=8, 4 heads of 2.
func.func @main(%ids: tensor<2x5xi64> {sp.input = "input_ids"},
    %labels: tensor<2x5xi64> {sp.input = "labels"},
    %table: tensor<128x8xf64> {sp.param = "table"},
    %positions: tensor<5x8xf64> {sp.param = "positions"},
    %n: tensor<8xf64> {sp.param = "norm"},
    %wq: tensor<8x8xf64> {sp.param = "q"},
    %wo: tensor<8x8xf64> {sp.param = "o"},
    %w1: tensor<16x8xf64> {sp.param = "up"},
    %w2: tensor<8x16xf64> {sp.param = "down"},
    %head: tensor<128x8xf64> {sp.param = "head"})
    -> (tensor<f64> {sp.result = "loss"}, tensor<5x2x8xf64> {sp.result = "hidden"},
        tensor<2x8xf64> {sp.result = "mean"}) {
  %empty = tensor.empty() : tensor<5x2x8xf64>
  %e = sp.embedding %ids, %table : (tensor<2x5xi64>, tensor<128x8xf64>) -> tensor<5x2x8xf64>
  %x = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, h)>, affine_map<(s, b, h) -> (s, b, h)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %positions : tensor<5x2x8xf64>, tensor<5x8xf64>) outs(%empty : tensor<5x2x8xf64>) {
    ^bb0(%a: f64, %b: f64, %o: f64):
      %sum = arith.addf %a, %b : f64
      linalg.yield %sum : f64
  } -> tensor<5x2x8xf64>
  %normed = sp.rms_norm %x, %n eps 0.0 : (tensor<5x2x8xf64>, tensor<8xf64>) -> tensor<5x2x8xf64>
  %q = sp.linear %normed, %wq : (tensor<5x2x8xf64>, tensor<8x8xf64>) -> tensor<5x2x8xf64>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [5, 2, 4, 2] : tensor<5x2x8xf64> into tensor<5x2x4x2xf64>
  %a = sp.attention %qh, %qh, %qh scale 0.7 : (tensor<5x2x4x2xf64>, tensor<5x2x4x2xf64>, tensor<5x2x4x2xf64>) -> tensor<5x2x4x2xf64>
  %ac = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<5x2x4x2xf64> into tensor<5x2x8xf64>
  %o = sp.linear %ac, %wo : (tensor<5x2x8xf64>, tensor<8x8xf64>) -> tensor<5x2x8xf64>
  %h = arith.addf %x, %o : tensor<5x2x8xf64>

  // Flat tokens in the second region.
  %flat = tensor.collapse_shape %h [[0, 1], [2]] : tensor<5x2x8xf64> into tensor<10x8xf64>
  %up = sp.linear %flat, %w1 : (tensor<10x8xf64>, tensor<16x8xf64>) -> tensor<10x16xf64>
  %square = arith.mulf %up, %up : tensor<10x16xf64>
  %root = math.log1p %square : tensor<10x16xf64>
  %down = sp.linear %root, %w2 : (tensor<10x16xf64>, tensor<8x16xf64>) -> tensor<10x8xf64>
  %d = tensor.expand_shape %down [[0, 1], [2]] output_shape [5, 2, 8] : tensor<10x8xf64> into tensor<5x2x8xf64>
  %h2 = arith.addf %h, %d : tensor<5x2x8xf64>

  %total = sp.sum_leading %h2 count 1 : (tensor<5x2x8xf64>) -> tensor<2x8xf64>
  %mean = sp.scale %total by 0.2 : (tensor<2x8xf64>) -> tensor<2x8xf64>
  %back = sp.broadcast_leading %mean count 1 : (tensor<2x8xf64>) -> tensor<5x2x8xf64>
  %y = arith.addf %h2, %back : tensor<5x2x8xf64>

  // The next token but one.
  %shifted = sp.shift_labels %labels ignore_index -100 : (tensor<2x5xi64>) -> tensor<5x2xi64>
  %major = sp.batch_major %shifted : (tensor<5x2xi64>) -> tensor<2x5xi64>
  %targets = sp.shift_labels %major ignore_index -100 : (tensor<2x5xi64>) -> tensor<5x2xi64>
  %logits = sp.linear %y, %head : (tensor<5x2x8xf64>, tensor<128x8xf64>) -> tensor<5x2x128xf64>
  %loss_sum, %count = sp.cross_entropy %logits, %targets ignore_index -100 : (tensor<5x2x128xf64>, tensor<5x2xi64>) -> (tensor<f64>, tensor<f64>)
  %loss = arith.divf %loss_sum, %count : tensor<f64>
  return %loss, %y, %mean : tensor<f64>, tensor<5x2x8xf64>, tensor<2x8xf64>
}
