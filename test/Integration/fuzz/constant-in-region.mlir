// A constant whose elements differ, inside a tensor-parallel region: it became a shard as
// it is, which is no program.
func.func @f(%arg0: tensor<4x1x3xf64> {sp.param = "x"}, %arg1: tensor<4x3xf64> {sp.param = "first"}, %arg2: tensor<3x4xf64> {sp.param = "second"}) -> (tensor<f64> {sp.result = "loss"}) {
  %cst = arith.constant dense<[[[0.5, -1.0, 1.5, -2.0]], [[2.5, -3.0, 3.5, -4.0]], [[4.5, -5.0, 5.5, -6.0]], [[6.5, -7.0, 7.5, -8.0]]]> : tensor<4x1x4xf64>
  %0 = sp.linear %arg0, %arg1 : (tensor<4x1x3xf64>, tensor<4x3xf64>) -> tensor<4x1x4xf64>
  %1 = arith.mulf %0, %cst : tensor<4x1x4xf64>
  %2 = sp.linear %1, %arg2 : (tensor<4x1x4xf64>, tensor<3x4xf64>) -> tensor<4x1x3xf64>
  %3 = arith.mulf %2, %2 : tensor<4x1x3xf64>
  %4 = sp.sum_leading %3 count 3 : (tensor<4x1x3xf64>) -> tensor<f64>
  return %4 : tensor<f64>
}
