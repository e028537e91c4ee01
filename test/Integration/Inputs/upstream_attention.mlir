// A whole block of upstream ops, S=8 B=2 H=16, 4 heads of 4: RMSNorm of a sum, projections to and
// from heads by contractions, scores, mask and softmax spelled out, and a ReLU MLP in which the
// weight is the first factor.
#x = affine_map<(s, b, h) -> (s, b, h)>
#row = affine_map<(s, b, h) -> (s, b)>
#col = affine_map<(s, b, h) -> (h)>
#p = affine_map<(b, n, s, t) -> (b, n, s, t)>
#prow = affine_map<(b, n, s, t) -> (b, n, s)>
func.func @block(%x: tensor<8x2x16xf64> {sp.param = "x"}, %mask: tensor<8x8xf64> {sp.input = "mask"},
    %g1: tensor<16xf64> {sp.param = "norm1"},
    %wq: tensor<16x4x4xf64> {sp.param = "wq"}, %wk: tensor<4x4x16xf64> {sp.param = "wk"},
    %wv: tensor<16x16xf64> {sp.param = "wv"}, %wo: tensor<4x4x16xf64> {sp.param = "wo"},
    %w1: tensor<24x16xf64> {sp.param = "w1"}, %w2: tensor<16x24xf64> {sp.param = "w2"})
    -> (tensor<8x2x16xf64> {sp.result = "y"}, tensor<f64> {sp.result = "loss"}) {
  %zero = arith.constant 0.0 : f64
  %least = arith.constant 0xFFF0000000000000 : f64
  %width = arith.constant 16.0 : f64
  %eps = arith.constant 1.0e-2 : f64
  %scale = arith.constant dense<5.0e-01> : tensor<2x4x8x8xf64>
  %none = tensor.empty() : tensor<8x2x16xf64>

  // x / sqrt(mean(x^2) + eps) * g
  %square = arith.mulf %x, %x : tensor<8x2x16xf64>
  %rows = tensor.empty() : tensor<8x2xf64>
  %rows0 = linalg.fill ins(%zero : f64) outs(%rows : tensor<8x2xf64>) -> tensor<8x2xf64>
  %sum = linalg.reduce {arith.addf} ins(%square : tensor<8x2x16xf64>) outs(%rows0 : tensor<8x2xf64>) dimensions = [2]
  %n = linalg.generic {indexing_maps = [#x, #row, #col, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum, %g1 : tensor<8x2x16xf64>, tensor<8x2xf64>, tensor<16xf64>) outs(%none : tensor<8x2x16xf64>) {
    ^bb0(%a: f64, %q: f64, %g: f64, %o: f64):
      %mean = arith.divf %q, %width : f64
      %shifted = arith.addf %mean, %eps : f64
      %root = math.sqrt %shifted : f64
      %normed = arith.divf %a, %root : f64
      %r = arith.mulf %normed, %g : f64
      linalg.yield %r : f64
  } -> tensor<8x2x16xf64>

  // Queries [B,heads,S,D] at once; keys [S,B,heads,D]; values by a matmul and a reshape.
  %heads = tensor.empty() : tensor<2x4x8x4xf64>
  %heads0 = linalg.fill ins(%zero : f64) outs(%heads : tensor<2x4x8x4xf64>) -> tensor<2x4x8x4xf64>
  %q = linalg.generic {indexing_maps = [affine_map<(b, n, s, d, h) -> (s, b, h)>, affine_map<(b, n, s, d, h) -> (h, n, d)>, affine_map<(b, n, s, d, h) -> (b, n, s, d)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%n, %wq : tensor<8x2x16xf64>, tensor<16x4x4xf64>) outs(%heads0 : tensor<2x4x8x4xf64>) {
    ^bb0(%a: f64, %w: f64, %o: f64):
      %m = arith.mulf %a, %w : f64
      %r = arith.addf %o, %m : f64
      linalg.yield %r : f64
  } -> tensor<2x4x8x4xf64>
  %keys = tensor.empty() : tensor<8x2x4x4xf64>
  %keys0 = linalg.fill ins(%zero : f64) outs(%keys : tensor<8x2x4x4xf64>) -> tensor<8x2x4x4xf64>
  %k = linalg.contract indexing_maps = [affine_map<(s, b, n, d, h) -> (s, b, h)>, affine_map<(s, b, n, d, h) -> (n, d, h)>, affine_map<(s, b, n, d, h) -> (s, b, n, d)>]
      ins(%n, %wk : tensor<8x2x16xf64>, tensor<4x4x16xf64>) outs(%keys0 : tensor<8x2x4x4xf64>) -> tensor<8x2x4x4xf64>
  %flat = tensor.collapse_shape %n [[0, 1], [2]] : tensor<8x2x16xf64> into tensor<16x16xf64>
  %values0 = arith.constant dense<0.0> : tensor<16x16xf64>
  %v2 = linalg.matmul ins(%flat, %wv : tensor<16x16xf64>, tensor<16x16xf64>) outs(%values0 : tensor<16x16xf64>) -> tensor<16x16xf64>
  %v = tensor.expand_shape %v2 [[0, 1], [2, 3]] output_shape [8, 2, 4, 4] : tensor<16x16xf64> into tensor<8x2x4x4xf64>

  %scores = tensor.empty() : tensor<2x4x8x8xf64>
  %scores0 = linalg.fill ins(%zero : f64) outs(%scores : tensor<2x4x8x8xf64>) -> tensor<2x4x8x8xf64>
  %qk = linalg.generic {indexing_maps = [affine_map<(b, n, s, t, d) -> (b, n, s, d)>, affine_map<(b, n, s, t, d) -> (t, b, n, d)>, affine_map<(b, n, s, t, d) -> (b, n, s, t)>],
                        iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x4x8x4xf64>, tensor<8x2x4x4xf64>) outs(%scores0 : tensor<2x4x8x8xf64>) {
    ^bb0(%a: f64, %w: f64, %o: f64):
      %m = arith.mulf %a, %w : f64
      %r = arith.addf %m, %o : f64
      linalg.yield %r : f64
  } -> tensor<2x4x8x8xf64>
  %scaled = arith.mulf %qk, %scale : tensor<2x4x8x8xf64>
  %masked = linalg.generic {indexing_maps = [#p, affine_map<(b, n, s, t) -> (s, t)>, #p], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%scaled, %mask : tensor<2x4x8x8xf64>, tensor<8x8xf64>) outs(%scores : tensor<2x4x8x8xf64>) {
    ^bb0(%a: f64, %m: f64, %o: f64):
      %r = arith.addf %a, %m : f64
      linalg.yield %r : f64
  } -> tensor<2x4x8x8xf64>
  %each = tensor.empty() : tensor<2x4x8xf64>
  %each0 = linalg.fill ins(%zero : f64) outs(%each : tensor<2x4x8xf64>) -> tensor<2x4x8xf64>
  %eachLeast = linalg.fill ins(%least : f64) outs(%each : tensor<2x4x8xf64>) -> tensor<2x4x8xf64>
  %max = linalg.reduce {arith.maxnumf} ins(%masked : tensor<2x4x8x8xf64>) outs(%eachLeast : tensor<2x4x8xf64>) dimensions = [3]
  %exp = linalg.generic {indexing_maps = [#p, #prow, #p], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%masked, %max : tensor<2x4x8x8xf64>, tensor<2x4x8xf64>) outs(%scores : tensor<2x4x8x8xf64>) {
    ^bb0(%a: f64, %m: f64, %o: f64):
      %d = arith.subf %a, %m : f64
      %r = math.exp %d : f64
      linalg.yield %r : f64
  } -> tensor<2x4x8x8xf64>
  %norm = linalg.reduce {arith.addf} ins(%exp : tensor<2x4x8x8xf64>) outs(%each0 : tensor<2x4x8xf64>) dimensions = [3]
  %prob = linalg.generic {indexing_maps = [#p, #prow, #p], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%exp, %norm : tensor<2x4x8x8xf64>, tensor<2x4x8xf64>) outs(%scores : tensor<2x4x8x8xf64>) {
    ^bb0(%a: f64, %m: f64, %o: f64):
      %r = arith.divf %a, %m : f64
      linalg.yield %r : f64
  } -> tensor<2x4x8x8xf64>
  %context = linalg.generic {indexing_maps = [affine_map<(b, n, s, d, t) -> (b, n, s, t)>, affine_map<(b, n, s, d, t) -> (t, b, n, d)>, affine_map<(b, n, s, d, t) -> (b, n, s, d)>],
                             iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%prob, %v : tensor<2x4x8x8xf64>, tensor<8x2x4x4xf64>) outs(%heads0 : tensor<2x4x8x4xf64>) {
    ^bb0(%a: f64, %w: f64, %o: f64):
      %m = arith.mulf %a, %w : f64
      %r = arith.addf %m, %o : f64
      linalg.yield %r : f64
  } -> tensor<2x4x8x4xf64>
  // Sums over heads and their elements.
  %x0 = linalg.fill ins(%zero : f64) outs(%none : tensor<8x2x16xf64>) -> tensor<8x2x16xf64>
  %o = linalg.generic {indexing_maps = [affine_map<(s, b, h, n, d) -> (b, n, s, d)>, affine_map<(s, b, h, n, d) -> (n, d, h)>, affine_map<(s, b, h, n, d) -> (s, b, h)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%context, %wo : tensor<2x4x8x4xf64>, tensor<4x4x16xf64>) outs(%x0 : tensor<8x2x16xf64>) {
    ^bb0(%a: f64, %w: f64, %c: f64):
      %m = arith.mulf %a, %w : f64
      %r = arith.addf %m, %c : f64
      linalg.yield %r : f64
  } -> tensor<8x2x16xf64>
  %y1 = arith.addf %o, %x : tensor<8x2x16xf64>

  %wide = tensor.empty() : tensor<8x2x24xf64>
  %wide0 = linalg.fill ins(%zero : f64) outs(%wide : tensor<8x2x24xf64>) -> tensor<8x2x24xf64>
  %h = linalg.generic {indexing_maps = [affine_map<(s, b, m, h) -> (m, h)>, affine_map<(s, b, m, h) -> (s, b, h)>, affine_map<(s, b, m, h) -> (s, b, m)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%w1, %y1 : tensor<24x16xf64>, tensor<8x2x16xf64>) outs(%wide0 : tensor<8x2x24xf64>) {
    ^bb0(%w: f64, %a: f64, %c: f64):
      %m = arith.mulf %w, %a : f64
      %r = arith.addf %m, %c : f64
      linalg.yield %r : f64
  } -> tensor<8x2x24xf64>
  %relu = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h : tensor<8x2x24xf64>) outs(%wide : tensor<8x2x24xf64>) {
    ^bb0(%a: f64, %c: f64):
      %r = arith.maximumf %a, %zero : f64
      linalg.yield %r : f64
  } -> tensor<8x2x24xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(s, b, h, m) -> (s, b, m)>, affine_map<(s, b, h, m) -> (h, m)>, affine_map<(s, b, h, m) -> (s, b, h)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%relu, %w2 : tensor<8x2x24xf64>, tensor<16x24xf64>) outs(%x0 : tensor<8x2x16xf64>) {
    ^bb0(%a: f64, %w: f64, %c: f64):
      %m = arith.mulf %w, %a : f64
      %r = arith.addf %m, %c : f64
      linalg.yield %r : f64
  } -> tensor<8x2x16xf64>
  %y = arith.addf %y1, %d : tensor<8x2x16xf64>
  %weighted = arith.mulf %y, %y : tensor<8x2x16xf64>
  %l0 = arith.constant dense<0.0> : tensor<f64>
  %loss = linalg.reduce {arith.addf} ins(%weighted : tensor<8x2x16xf64>) outs(%l0 : tensor<f64>) dimensions = [0, 1, 2]
  return %y, %loss : tensor<8x2x16xf64>, tensor<f64>
}
