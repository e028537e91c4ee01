// RUN: sp-opt %s --split-input-file --sp-tensor-parallel="tp=2" --sp-verify-layouts --verify-diagnostics=only-expected --mlir-print-local-scope | FileCheck %s

// Projections by other ops: the weight [K,N] is cut where the product has it. A parameter between
// (the column-parallel bias) is cut alike; the row-parallel product starts from a partial zero.

func.func @matmuls(%x: tensor<12x8xf32> {sp.input = "x"}, %w1: tensor<8x16xf32>, %b1: tensor<16xf32>, %w2: tensor<16x8xf32>) -> tensor<12x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<12x16xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<12x16xf32>) -> tensor<12x16xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<12x8xf32>, tensor<8x16xf32>) outs(%i1 : tensor<12x16xf32>) -> tensor<12x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%h, %b1 : tensor<12x16xf32>, tensor<16xf32>) outs(%e1 : tensor<12x16xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %s = arith.addf %a, %b : f32
      %m = arith.maximumf %s, %zero : f32
      linalg.yield %m : f32
  } -> tensor<12x16xf32>
  %e2 = tensor.empty() : tensor<12x8xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %o = linalg.matmul ins(%r, %w2 : tensor<12x16xf32>, tensor<16x8xf32>) outs(%i2 : tensor<12x8xf32>) -> tensor<12x8xf32>
  return %o : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @matmuls
// CHECK-SAME:    %[[X:[^:]*]]: tensor<12x8xf32>
// CHECK-SAME:    %[[W1:[^:]*]]: tensor<8x16xf32, #sp.layout<tp = shard(1)>>
// CHECK-SAME:    %[[B1:[^:]*]]: tensor<16xf32, #sp.layout<tp = shard(0)>>
// CHECK-SAME:    %[[W2:[^:]*]]: tensor<16x8xf32, #sp.layout<tp = shard(0)>>
// CHECK:         %[[I1:.*]] = linalg.fill {{.*}} -> tensor<12x16xf32, #sp.layout<tp = shard(1)>>
// CHECK:         linalg.matmul ins(%{{.*}}, %[[W1]] : tensor<12x8xf32, #sp.layout<tp = replicate>>
// CHECK-SAME:      outs(%[[I1]]
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %[[B1]]
// CHECK:         %[[I2:.*]] = linalg.fill {{.*}} -> tensor<12x8xf32, #sp.layout<tp = partial>>
// CHECK:         %[[P:.*]] = linalg.matmul ins(%{{.*}}, %[[W2]]
// CHECK-SAME:      outs(%[[I2]]
// CHECK-NEXT:    %[[O:.*]] = sp.all_reduce %[[P]] : {{.*}} -> tensor<12x8xf32>
// CHECK-NEXT:    return %[[O]]

// -----

// A row-parallel product that starts from its bias: the bias comes behind the sum.

func.func @from_bias(%x: tensor<12x8xf32> {sp.input = "x"}, %w1: tensor<16x8xf32>, %w2: tensor<16x8xf32>, %b2: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<12x8xf32>, tensor<16x8xf32>) -> tensor<12x16xf32>
  %o = linalg.matmul ins(%h, %w2 : tensor<12x16xf32>, tensor<16x8xf32>) outs(%b2 : tensor<12x8xf32>) -> tensor<12x8xf32>
  return %o : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @from_bias
// CHECK-SAME:    %[[B2:[^:]*]]: tensor<12x8xf32>) ->
// CHECK:         %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<12x8xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[P:.*]] = linalg.matmul {{.*}} outs(%[[Z]]
// CHECK-NEXT:    %[[S:.*]] = sp.all_reduce %[[P]]
// CHECK-NEXT:    %[[O:.*]] = arith.addf %[[S]], %[[B2]] : tensor<12x8xf32>
// CHECK-NEXT:    return %[[O]]

// -----

// A weight that is cast and transposed is a parameter still; it is cut where the transposed one is.

func.func @turned(%x: tensor<12x8xf32> {sp.input = "x"}, %w1: tensor<16x8xf64>, %w2: tensor<8x16xf32>) -> tensor<12x8xf32> {
  %w = arith.truncf %w1 : tensor<16x8xf64> to tensor<16x8xf32>
  %e = tensor.empty() : tensor<8x16xf32>
  %wt = linalg.transpose ins(%w : tensor<16x8xf32>) outs(%e : tensor<8x16xf32>) permutation = [1, 0]
  %i = arith.constant dense<0.0> : tensor<12x16xf32>
  %h = linalg.matmul ins(%x, %wt : tensor<12x8xf32>, tensor<8x16xf32>) outs(%i : tensor<12x16xf32>) -> tensor<12x16xf32>
  %o = sp.linear %h, %w2 : (tensor<12x16xf32>, tensor<8x16xf32>) -> tensor<12x8xf32>
  return %o : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @turned
// CHECK-SAME:    tensor<16x8xf64, #sp.layout<tp = shard(0)>>
// CHECK:         linalg.transpose {{.*}}tensor<16x8xf32, #sp.layout<tp = shard(0)>>{{.*}}tensor<8x16xf32, #sp.layout<tp = shard(1)>>
// CHECK:         sp.all_reduce

// -----

// Low-rank adapters: one factor is cut, the other whole on every rank.

func.func @adapter(%x: tensor<12x8xf32> {sp.input = "x"}, %w1: tensor<16x8xf32>, %a: tensor<16x2xf32>, %b: tensor<2x8xf32>, %w2: tensor<8x16xf32>) -> tensor<12x8xf32> {
  %i = arith.constant dense<0.0> : tensor<12x16xf32>
  %j = arith.constant dense<0.0> : tensor<12x2xf32>
  // expected-remark @below {{`linalg.matmul` stays whole}}
  %low = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %b : tensor<12x8xf32>, tensor<2x8xf32>) outs(%j : tensor<12x2xf32>) -> tensor<12x2xf32>
  %up = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                        iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%low, %a : tensor<12x2xf32>, tensor<16x2xf32>) outs(%i : tensor<12x16xf32>) {
    ^bb0(%p: f32, %q: f32, %o: f32):
      %m = arith.mulf %p, %q : f32
      %r = arith.addf %o, %m : f32
      linalg.yield %r : f32
  } -> tensor<12x16xf32>
  %base = sp.linear %x, %w1 : (tensor<12x8xf32>, tensor<16x8xf32>) -> tensor<12x16xf32>
  %h = arith.addf %base, %up : tensor<12x16xf32>
  %y = sp.linear %h, %w2 : (tensor<12x16xf32>, tensor<8x16xf32>) -> tensor<12x8xf32>
  return %y : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @adapter
// CHECK-SAME:    %[[A:[^:]*]]: tensor<16x2xf32, #sp.layout<tp = shard(0)>>
// CHECK-SAME:    %[[B:[^:]*]]: tensor<2x8xf32>
// CHECK:         sp.all_reduce

// -----

// One head without a dimension of its own: scores would be sums over the shard.

func.func @one_head(%x: tensor<12x8xf32> {sp.input = "x"}, %wq: tensor<8x8xf32>, %wk: tensor<8x8xf32>, %wv: tensor<8x8xf32>, %wo: tensor<8x8xf32>) -> tensor<12x12xf32> {
  %i = arith.constant dense<0.0> : tensor<12x12xf32>
  // expected-remark @below {{stays whole}}
  %q = sp.linear %x, %wq : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  // expected-remark @below {{stays whole}}
  %k = sp.linear %x, %wk : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%q, %k : tensor<12x8xf32>, tensor<12x8xf32>) outs(%i : tensor<12x12xf32>) -> tensor<12x12xf32>
  // expected-remark @below {{`linalg.contract` sums over the sharded dimension}}
  %o = sp.linear %q, %wo : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  return %s : tensor<12x12xf32>
}
// CHECK-LABEL: func.func @one_head
// CHECK-NOT:     sp.layout

// -----

// Every product of two features: the op would be cut along both.

func.func @outer_product(%x: tensor<12x8xf32> {sp.input = "x"}, %w1: tensor<4x8xf32>, %w2: tensor<8x4x4xf32>) -> tensor<12x8xf32> {
  %e = tensor.empty() : tensor<12x4x4xf32>
  %i = arith.constant dense<0.0> : tensor<12x8xf32>
  // expected-remark @below {{stays whole}}
  %h = sp.linear %x, %w1 : (tensor<12x8xf32>, tensor<4x8xf32>) -> tensor<12x4xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(t, i, j) -> (t, i)>, affine_map<(t, i, j) -> (t, j)>, affine_map<(t, i, j) -> (t, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %h : tensor<12x4xf32>, tensor<12x4xf32>) outs(%e : tensor<12x4x4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
  } -> tensor<12x4x4xf32>
  // expected-remark @below {{`linalg.generic` would be sharded in two of its dimensions}}
  %y = linalg.generic {indexing_maps = [affine_map<(t, n, i, j) -> (t, i, j)>, affine_map<(t, n, i, j) -> (n, i, j)>, affine_map<(t, n, i, j) -> (t, n)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %w2 : tensor<12x4x4xf32>, tensor<8x4x4xf32>) outs(%i : tensor<12x8xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = arith.mulf %a, %b : f32
      %r = arith.addf %c, %m : f32
      linalg.yield %r : f32
  } -> tensor<12x8xf32>
  return %y : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @outer_product
// CHECK-NOT:     sp.layout

// -----

// A column-parallel linear whose input is a shard of the same region.

func.func @needs_whole(%x: tensor<12x8xf32> {sp.input = "x"}, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>, %w3: tensor<8x8xf32>) -> tensor<12x8xf32> {
  // expected-remark @below {{stays whole}}
  %h = sp.linear %x, %w1 : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  // expected-remark @below {{stays whole}}
  %g = sp.linear %h, %w2 : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  %m = arith.mulf %h, %g : tensor<12x8xf32>
  // expected-remark @below {{`sp.linear` would both open and close the region}}
  %y = sp.linear %m, %w3 : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  return %y : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @needs_whole
// CHECK-NOT:     sp.layout

// -----

// An MLP-Mixer block: tokens are mixed by linears on transposed values, then features. Each is a region.

func.func @mixer(%x: tensor<12x8xf32> {sp.input = "x"}, %u: tensor<24x12xf32>, %v: tensor<12x24xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<12x8xf32> {
  %e = tensor.empty() : tensor<8x12xf32>
  %t = linalg.transpose ins(%x : tensor<12x8xf32>) outs(%e : tensor<8x12xf32>) permutation = [1, 0]
  %h = sp.linear %t, %u : (tensor<8x12xf32>, tensor<24x12xf32>) -> tensor<8x24xf32>
  %a = math.tanh %h : tensor<8x24xf32>
  %m = sp.linear %a, %v : (tensor<8x24xf32>, tensor<12x24xf32>) -> tensor<8x12xf32>
  %f = tensor.empty() : tensor<12x8xf32>
  %back = linalg.transpose ins(%m : tensor<8x12xf32>) outs(%f : tensor<12x8xf32>) permutation = [1, 0]
  %y = arith.addf %x, %back : tensor<12x8xf32>
  %g = sp.linear %y, %w1 : (tensor<12x8xf32>, tensor<16x8xf32>) -> tensor<12x16xf32>
  %b = math.tanh %g : tensor<12x16xf32>
  %o = sp.linear %b, %w2 : (tensor<12x16xf32>, tensor<8x16xf32>) -> tensor<12x8xf32>
  return %o : tensor<12x8xf32>
}
// CHECK-LABEL: func.func @mixer
// CHECK:         sp.all_reduce %{{.*}} -> tensor<8x12xf32>
// CHECK:         sp.all_reduce %{{.*}} -> tensor<12x8xf32>
