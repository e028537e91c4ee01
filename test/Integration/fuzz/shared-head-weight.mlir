// A weight of the keys alone, written as a broadcast, where two ranks share a key/value head:
// it was taken for a value of the whole region, and the program did not verify.
func.func @f(%arg0: tensor<4x1x3xf64> {sp.param = "x"}, %arg1: tensor<8x3xf64> {sp.param = "q"}, %arg2: tensor<4x3xf64> {sp.param = "k"}, %arg3: tensor<4x3xf64> {sp.param = "v"}, %arg4: tensor<2xf64> {sp.param = "norm"}, %arg5: tensor<3x8xf64> {sp.param = "o"}) -> (tensor<f64> {sp.result = "loss"}) {
  %0 = sp.linear %arg0, %arg1 : (tensor<4x1x3xf64>, tensor<8x3xf64>) -> tensor<4x1x8xf64>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [4, 1, 4, 2] : tensor<4x1x8xf64> into tensor<4x1x4x2xf64>
  %2 = sp.linear %arg0, %arg2 : (tensor<4x1x3xf64>, tensor<4x3xf64>) -> tensor<4x1x4xf64>
  %3 = tensor.expand_shape %2 [[0], [1], [2, 3]] output_shape [4, 1, 2, 2] : tensor<4x1x4xf64> into tensor<4x1x2x2xf64>
  %4 = sp.linear %arg0, %arg3 : (tensor<4x1x3xf64>, tensor<4x3xf64>) -> tensor<4x1x4xf64>
  %5 = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [4, 1, 2, 2] : tensor<4x1x4xf64> into tensor<4x1x2x2xf64>
  %6 = sp.broadcast_leading %arg4 count 3 : (tensor<2xf64>) -> tensor<4x1x2x2xf64>
  %7 = arith.mulf %3, %6 : tensor<4x1x2x2xf64>
  %8 = sp.attention %1, %7, %5 scale 0.5 causal : (tensor<4x1x4x2xf64>, tensor<4x1x2x2xf64>, tensor<4x1x2x2xf64>) -> tensor<4x1x4x2xf64>
  %9 = tensor.collapse_shape %8 [[0], [1], [2, 3]] : tensor<4x1x4x2xf64> into tensor<4x1x8xf64>
  %10 = sp.linear %9, %arg5 : (tensor<4x1x8xf64>, tensor<3x8xf64>) -> tensor<4x1x3xf64>
  %11 = sp.sum_leading %10 count 3 : (tensor<4x1x3xf64>) -> tensor<f64>
  return %11 : tensor<f64>
}
