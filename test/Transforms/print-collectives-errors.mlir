// RUN: sp-opt %s --split-input-file --sp-print-collectives --verify-diagnostics

// expected-error @below {{sp-print-collectives: the module has no mesh; run sp-tensor-parallel first (C1)}}
module {
  func.func @unsharded(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

sp.mesh @mesh <tp = 2>
func.func @other_axis(%x: tensor<4xf32>) -> tensor<4xf32, #sp.layout<dp = shard(0)>> {
  // expected-error @below {{changes a layout along `dp`, which is not an axis of the mesh (C1)}}
  %s = sp.slice %x : tensor<4xf32> -> tensor<4xf32, #sp.layout<dp = shard(0)>>
  return %s : tensor<4xf32, #sp.layout<dp = shard(0)>>
}

// -----

sp.mesh @mesh <tp = 2>
// expected-error @below {{`localised` is localised (it has `sp.collectives`); its types no longer say what a rank holds; run before sp-localize (C2)}}
func.func @localised(%x: tensor<4xf32>) -> tensor<4xf32> attributes {sp.collectives = ["return tensor<4xf32> from [a0]"]} {
  return %x : tensor<4xf32>
}

// -----

sp.mesh @mesh <tp = 2>
func.func @loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> tensor<4xf32> {
    // expected-error @below {{is inside `scf.for`; how often it runs is not known (C3)}}
    %s = sp.slice %a : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
    %g = sp.all_gather %s : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32>
    scf.yield %g : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

sp.mesh @mesh <tp = 2>
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32, #sp.layout<tp = shard(0)>> {
  cf.br ^next
^next:
  // expected-error @below {{is in a function of 2 blocks; how often it runs is not known (C3)}}
  %s = sp.slice %x : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
  return %s : tensor<4xf32, #sp.layout<tp = shard(0)>>
}
