// A region on a mean over the sequence: the batch, its dimension 0, was taken for the
// sequence, and the program refused because it does not divide.
func.func @f(%arg0: tensor<4x3x2xf64> {sp.param = "x"}, %arg1: tensor<4x2xf64> {sp.param = "a"}, %arg2: tensor<2x4xf64> {sp.param = "b"}, %arg3: tensor<4x2xf64> {sp.param = "c"}, %arg4: tensor<2x4xf64> {sp.param = "d"}) -> (tensor<f64> {sp.result = "loss"}) attributes {fuzz.divides} {
  %0 = sp.sum_leading %arg0 count 1 : (tensor<4x3x2xf64>) -> tensor<3x2xf64>
  %1 = sp.linear %0, %arg1 : (tensor<3x2xf64>, tensor<4x2xf64>) -> tensor<3x4xf64>
  %2 = sp.linear %1, %arg2 : (tensor<3x4xf64>, tensor<2x4xf64>) -> tensor<3x2xf64>
  %3 = sp.broadcast_leading %2 count 1 : (tensor<3x2xf64>) -> tensor<4x3x2xf64>
  %4 = arith.mulf %3, %arg0 : tensor<4x3x2xf64>
  %5 = sp.linear %4, %arg3 : (tensor<4x3x2xf64>, tensor<4x2xf64>) -> tensor<4x3x4xf64>
  %6 = sp.linear %5, %arg4 : (tensor<4x3x4xf64>, tensor<2x4xf64>) -> tensor<4x3x2xf64>
  %7 = arith.addf %6, %4 : tensor<4x3x2xf64>
  %8 = arith.mulf %7, %7 : tensor<4x3x2xf64>
  %9 = sp.sum_leading %8 count 3 : (tensor<4x3x2xf64>) -> tensor<f64>
  return %9 : tensor<f64>
}
