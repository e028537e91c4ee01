// What would make a gradient wrong does not verify. (A second sum: layout-changes-errors.mlir.)
// RUN: sp-opt %s --split-input-file --sp-verify-layouts --verify-diagnostics=only-expected

// The parameter is updated with a summand.
sp.mesh @mesh <tp = 2>
func.func @optimizer_without_sum(%p: tensor<4xf32> {sp.param = "p"}, %m: tensor<4xf32> {sp.state = "m"}, %v: tensor<4xf32> {sp.state = "v"},
    %x: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "x"}, %s: tensor<f64> {sp.input = "s"}) -> (tensor<4xf32> {sp.param = "p"}) {
  %g = sp.sum_leading %x count 1 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is invariant along `tp`, but operand #1 is partial}}
  %n:3 = sp.adamw %p, %g, %m, %v scale %s lr %s corrections %s, %s betas 0.9, 0.999 eps 1.0e-08 decay 0.01
      : (tensor<4xf32>, tensor<4xf32, #sp.layout<tp = partial>>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %n#0 : tensor<4xf32>
}

// -----

// A gather in front of work that every rank does alike, with the type of one that is
// followed by a reduce-scatter: gradients would be T times too large.
sp.mesh @mesh <tp = 2>
func.func @gather_before_replicated_head(%x: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "x"}, %w: tensor<6x4xf32> {sp.param = "w"}) -> tensor<8x6xf32> {
  %g = sp.all_gather %x : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is invariant along `tp`, but operand #0 is replicate}}
  %y = sp.linear %g, %w : (tensor<8x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// -----

// A sum over two axes loses one of them.
sp.mesh @mesh <dp = 2, tp = 2>
func.func @sum_over_one_of_two_axes(%x: tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>> {sp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{result #0 is partial along `dp`, but its type says invariant}}
  %p = sp.sum_leading %x count 2 : (tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>) -> tensor<f32, #sp.layout<tp = partial>>
  %l = sp.all_reduce %p : tensor<f32, #sp.layout<tp = partial>> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Summed along one of two axes it is still a summand along the other: it does not leave.
sp.mesh @mesh <dp = 2, tp = 2>
// expected-error @below {{result #0 is partial along `dp`, must be invariant or sharded (C4)}}
func.func @summed_over_one_of_two_axes(%x: tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>> {sp.input = "x"}) -> tensor<f32, #sp.layout<dp = partial>> {
  %p = sp.sum_leading %x count 2 : (tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>) -> tensor<f32, #sp.layout<dp = partial, tp = partial>>
  %l = sp.all_reduce %p : tensor<f32, #sp.layout<dp = partial, tp = partial>> -> tensor<f32, #sp.layout<dp = partial>>
  return %l : tensor<f32, #sp.layout<dp = partial>>
}

// -----

// The norm of a sharded gradient without the sum over ranks.
sp.mesh @mesh <tp = 2>
func.func @norm_without_sum(%g: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "g"}) -> tensor<f64> {
  // expected-error @below {{result #0 is partial along `tp`, but its type says invariant}}
  %s = sp.sum_squares %g : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<f64>
  return %s : tensor<f64>
}
