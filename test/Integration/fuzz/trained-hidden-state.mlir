// A hidden state that is a parameter: all-reduces of the backward pass were taken for sums
// of its gradient and moved to the end, before which others need them.
func.func @f(%arg0: tensor<8x1x9xf64> {sp.param = "p0.hidden"}, %arg1: tensor<12x9xf64> {sp.param = "p2.query"}, %arg2: tensor<9x12xf64> {sp.param = "p8.output"}, %arg3: tensor<12x9xf64> {sp.param = "p33.first"}, %arg4: tensor<9x12xf64> {sp.param = "p35.second"}, %arg5: tensor<10x9xf64> {sp.param = "p38.head"}, %arg6: tensor<1x8xi64> {sp.input = "labels"}) -> (tensor<f64> {sp.result = "loss"}) {
  %0 = sp.linear %arg0, %arg1 : (tensor<8x1x9xf64>, tensor<12x9xf64>) -> tensor<8x1x12xf64>
  %1 = sp.linear %0, %arg2 : (tensor<8x1x12xf64>, tensor<9x12xf64>) -> tensor<8x1x9xf64>
  %2 = arith.addf %1, %arg0 : tensor<8x1x9xf64>
  %3 = sp.linear %2, %arg3 : (tensor<8x1x9xf64>, tensor<12x9xf64>) -> tensor<8x1x12xf64>
  %4 = sp.linear %3, %arg4 : (tensor<8x1x12xf64>, tensor<9x12xf64>) -> tensor<8x1x9xf64>
  %5 = sp.linear %4, %arg5 : (tensor<8x1x9xf64>, tensor<10x9xf64>) -> tensor<8x1x10xf64>
  %6 = sp.shift_labels %arg6 ignore_index -100 : (tensor<1x8xi64>) -> tensor<8x1xi64>
  %loss_sum, %count = sp.cross_entropy %5, %6 ignore_index -100 : (tensor<8x1x10xf64>, tensor<8x1xi64>) -> (tensor<f64>, tensor<f64>)
  return %loss_sum : tensor<f64>
}
