// A sum of all that a region reduces, on the shard: its operand was gathered as if it were
// a weight, and the sum taken T times.
func.func @f(%arg0: tensor<4x1x8xf64> {sp.param = "p0.hidden"}, %arg1: tensor<48x8xf64> {sp.param = "p3.query"}, %arg2: tensor<8x48xf64> {sp.param = "p6.output"}) -> (tensor<f64> {sp.result = "loss"}) {
  %0 = sp.dropout %arg0 p 2.500000e-01 op_id 0 : (tensor<4x1x8xf64>) -> tensor<4x1x8xf64>
  %1 = sp.linear %0, %arg1 : (tensor<4x1x8xf64>, tensor<48x8xf64>) -> tensor<4x1x48xf64>
  %2 = sp.linear %1, %arg2 : (tensor<4x1x48xf64>, tensor<8x48xf64>) -> tensor<4x1x8xf64>
  %3 = sp.sum_leading %2 count 3 : (tensor<4x1x8xf64>) -> tensor<f64>
  return %3 : tensor<f64>
}
