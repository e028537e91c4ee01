// What sp-optimize-collectives looks for: gathers and sums that are small and do not
// need each other, a sum of which one shard is read, a sum of reductions.
sp.mesh @mesh <tp = 2>

#shard = #sp.layout<tp = shard(0)>
#part = #sp.layout<tp = partial>
#own = #sp.layout<tp = replicate>

func.func @f(%x: tensor<6x4xf64, #shard> {sp.param = "x"},
             %y: tensor<8xf64, #shard> {sp.param = "y"})
    -> (tensor<f64> {sp.result = "loss"}, tensor<6x4xf64, #shard> {sp.result = "rows"}) {
  %whole_x = sp.all_gather %x : tensor<6x4xf64, #shard> -> tensor<6x4xf64, #own>
  %whole_y = sp.all_gather %y : tensor<8xf64, #shard> -> tensor<8xf64, #own>
  %padded_x = sp.zero_pad %x : tensor<6x4xf64, #shard> -> tensor<6x4xf64, #part>
  %padded_y = sp.zero_pad %y : tensor<8xf64, #shard> -> tensor<8xf64, #part>
  %xx = sp.mul %padded_x, %whole_x : (tensor<6x4xf64, #part>, tensor<6x4xf64, #own>) -> tensor<6x4xf64, #part>
  %yy = sp.mul %padded_y, %whole_y : (tensor<8xf64, #part>, tensor<8xf64, #own>) -> tensor<8xf64, #part>

  // Two reductions that are added, one of which only a shard is read.
  %a = sp.reduce_scatter %xx : tensor<6x4xf64, #part> -> tensor<6x4xf64, #shard>
  %b = sp.all_reduce %padded_x : tensor<6x4xf64, #part> -> tensor<6x4xf64>
  %b_shard = sp.slice %b : tensor<6x4xf64> -> tensor<6x4xf64, #shard>
  %rows = arith.addf %a, %b_shard : tensor<6x4xf64, #shard>

  // Two that are scattered together.
  %c = sp.reduce_scatter %yy : tensor<8xf64, #part> -> tensor<8xf64, #shard>
  %cubes = arith.mulf %c, %y : tensor<8xf64, #shard>
  %squares = arith.mulf %rows, %rows : tensor<6x4xf64, #shard>

  // Two small sums.
  %sum_x = sp.sum_leading %squares count 2 : (tensor<6x4xf64, #shard>) -> tensor<f64, #part>
  %sum_y = sp.sum_leading %cubes count 1 : (tensor<8xf64, #shard>) -> tensor<f64, #part>
  %total_x = sp.all_reduce %sum_x : tensor<f64, #part> -> tensor<f64>
  %total_y = sp.all_reduce %sum_y : tensor<f64, #part> -> tensor<f64>
  %sine = math.sin %total_y : tensor<f64>
  %loss = arith.mulf %total_x, %sine : tensor<f64>
  return %loss, %rows : tensor<f64>, tensor<6x4xf64, #shard>
}
