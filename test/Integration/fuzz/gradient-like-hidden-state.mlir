// A gradient of a hidden state's shape, of a differentiated program: its sum was split, and
// it left as a shard.
func.func @f(%arg0: tensor<8x2x4xf64> {sp.param = "p0.hidden"}, %arg1: tensor<16x4xf64> {sp.param = "p8.first"}, %arg2: tensor<4x16xf64> {sp.param = "p12.second"}, %arg3: tensor<12x4xf64> {sp.param = "p17.head"}) -> (tensor<f64> {sp.result = "loss"}) {
  %0 = sp.linear %arg0, %arg1 : (tensor<8x2x4xf64>, tensor<16x4xf64>) -> tensor<8x2x16xf64>
  %1 = sp.linear %0, %arg2 : (tensor<8x2x16xf64>, tensor<4x16xf64>) -> tensor<8x2x4xf64>
  %2 = sp.linear %1, %arg3 : (tensor<8x2x4xf64>, tensor<12x4xf64>) -> tensor<8x2x12xf64>
  %3 = sp.sum_leading %2 count 3 : (tensor<8x2x12xf64>) -> tensor<f64>
  return %3 : tensor<f64>
}
