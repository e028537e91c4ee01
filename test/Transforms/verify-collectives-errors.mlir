// RUN: sp-opt %s --split-input-file --sp-verify-collectives --verify-diagnostics

// C1: each function is a mutant of one that was recorded with
//   %0 = all_gather %x; %1 = add %0, %w; %2 = reduce_scatter %1; return %2

// expected-error @below {{#0 was `all_gather tp dim 0 tensor<3x4xf32> from [a0]`, now is `reduce_scatter tp dim 0 tensor<6x4xf32> from [a1]`}}
func.func @deleted(%x: tensor<3x4xf32>, %w: tensor<6x4xf32>) -> tensor<3x4xf32> attributes {sp.collectives = ["all_gather tp dim 0 tensor<3x4xf32> from [a0]", "reduce_scatter tp dim 0 tensor<6x4xf32> from [a1 c0]", "return tensor<3x4xf32> from [c1]"]} {
  %0 = sp.collective reduce_scatter %w over "tp" dim 0 : tensor<6x4xf32> -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// The order and the kinds are right, but the first gather's data is not used.
// expected-error @below {{#1 was `reduce_scatter tp dim 0 tensor<6x4xf32> from [a1 c0]`, now is `reduce_scatter tp dim 0 tensor<6x4xf32> from [a1]`}}
func.func @rewired(%x: tensor<3x4xf32>, %w: tensor<6x4xf32>) -> tensor<3x4xf32> attributes {sp.collectives = ["all_gather tp dim 0 tensor<3x4xf32> from [a0]", "reduce_scatter tp dim 0 tensor<6x4xf32> from [a1 c0]", "return tensor<3x4xf32> from [c1]"]} {
  %0 = sp.collective all_gather %x over "tp" dim 0 : tensor<3x4xf32> -> tensor<6x4xf32>
  %1 = sp.collective reduce_scatter %w over "tp" dim 0 : tensor<6x4xf32> -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

// expected-error @below {{#2 was `return tensor<3x4xf32> from [c1]`, now is `return tensor<3x4xf32> from [a0]`}}
func.func @result(%x: tensor<3x4xf32>, %w: tensor<6x4xf32>) -> tensor<3x4xf32> attributes {sp.collectives = ["all_gather tp dim 0 tensor<3x4xf32> from [a0]", "reduce_scatter tp dim 0 tensor<6x4xf32> from [a1 c0]", "return tensor<3x4xf32> from [c1]"]} {
  %0 = sp.collective all_gather %x over "tp" dim 0 : tensor<3x4xf32> -> tensor<6x4xf32>
  %1 = arith.addf %0, %w : tensor<6x4xf32>
  %2 = sp.collective reduce_scatter %1 over "tp" dim 0 : tensor<6x4xf32> -> tensor<3x4xf32>
  return %x : tensor<3x4xf32>
}

// -----

// expected-error @below {{#2 was `return tensor<3x4xf32> from [c1]`, now is `all_gather}}
func.func @added(%x: tensor<3x4xf32>, %w: tensor<6x4xf32>) -> tensor<3x4xf32> attributes {sp.collectives = ["all_gather tp dim 0 tensor<3x4xf32> from [a0]", "reduce_scatter tp dim 0 tensor<6x4xf32> from [a1 c0]", "return tensor<3x4xf32> from [c1]"]} {
  %0 = sp.collective all_gather %x over "tp" dim 0 : tensor<3x4xf32> -> tensor<6x4xf32>
  %1 = arith.addf %0, %w : tensor<6x4xf32>
  %2 = sp.collective reduce_scatter %1 over "tp" dim 0 : tensor<6x4xf32> -> tensor<3x4xf32>
  %3 = sp.collective all_gather %x over "tp" dim 0 : tensor<3x4xf32> -> tensor<6x4xf32>
  return %2 : tensor<3x4xf32>
}

// -----

// Two gradients of one type share a collective, and their sums change places.
// expected-error @below {{#3 was `return tensor<2xf32> from [c1]`, now is `return tensor<2xf32> from [c2]`}}
func.func @unpacked(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {sp.collectives = ["pack [a0] [a1]", "all_reduce tp tensor<4xf32> from [a0 a1]", "return tensor<2xf32> from [c2]", "return tensor<2xf32> from [c1]"]} {
  %0 = sp.pack %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = sp.collective all_reduce %0 over "tp" : tensor<4xf32> -> tensor<4xf32>
  %2, %3 = sp.unpack %1 : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %3, %3 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Or on their way into it.
// expected-error @below {{#0 was `pack [a0] [a1]`, now is `pack [a1] [a0]`}}
func.func @packed(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {sp.collectives = ["pack [a0] [a1]", "all_reduce tp tensor<4xf32> from [a0 a1]", "return tensor<2xf32> from [c1]", "return tensor<2xf32> from [c2]"]} {
  %0 = sp.pack %y, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = sp.collective all_reduce %0 over "tp" : tensor<4xf32> -> tensor<4xf32>
  %2, %3 = sp.unpack %1 : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %2, %3 : tensor<2xf32>, tensor<2xf32>
}
