// A constant whose elements differ was put on the shard as it is, which is no program.
func.func @f(%arg0: tensor<4x2xf64> {sp.param = "p3.first"}, %arg1: tensor<2x4xf64> {sp.param = "p4.second"}) -> (tensor<f64> {sp.result = "loss"}) {
  %cst = arith.constant dense<[[[0.5, -1.0]], [[1.5, -2.0]], [[2.5, -3.0]], [[3.5, -4.0]]]> : tensor<4x1x2xf64>
  %0 = sp.linear %cst, %arg0 : (tensor<4x1x2xf64>, tensor<4x2xf64>) -> tensor<4x1x4xf64>
  %1 = sp.linear %0, %arg1 : (tensor<4x1x4xf64>, tensor<2x4xf64>) -> tensor<4x1x2xf64>
  %2 = sp.sum_leading %1 count 3 : (tensor<4x1x2xf64>) -> tensor<f64>
  return %2 : tensor<f64>
}
