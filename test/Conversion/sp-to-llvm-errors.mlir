// RUN: sp-opt %s --pass-pipeline='builtin.module(convert-sp-to-llvm)' --split-input-file --verify-diagnostics

func.func @unplanned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error@+1 {{'sp.linear' op has no place in the arena; run `sp-plan-memory` first (C1)}}
  %a = sp.linear %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %a : tensor<8x8xf32>
}

// -----

sp.mesh @mesh <tp = 2>
// expected-error@+1 {{'func.func' op has type 'tensor<8xf32, #sp.layout<tp = shard(0)>>', which has a layout; run `sp-localize` first}}
func.func @global(%x: tensor<8xf32, #sp.layout<tp = shard(0)>>) {
  return
}

// -----

func.func private @callee(%x: tensor<8xf32>)

func.func @call(%x: tensor<8xf32>) {
  // expected-error@+1 {{'func.call' op calls `callee`; calls are not supported, inline it (C2)}}
  func.call @callee(%x) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @not_formed(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{'sp.rms_norm' op has no lowering (C2); `sp-localize` and `sp-form-row-kernels` leave only ops that have one}}
  %y = sp.rms_norm %x, %w eps 1.0e-06 {sp.offsets = array<i64: 0>} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @bias(%x: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  // expected-error@+1 {{'sp.linear' op has a bias, which row kernels add; run `sp-form-row-kernels` first (C2)}}
  %a = sp.linear %x, %x bias %b {sp.offsets = array<i64: 0>} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %a : tensor<8x8xf32>
}

// -----

// expected-error@+1 {{'func.func' op has 2 blocks, must be one (C1)}}
func.func @blocks() {
  cf.br ^next
^next:
  return
}

// -----

// expected-error@+1 {{'func.func' op has an argument or result of type 'f32', must be a tensor (C1)}}
func.func @scalar(%x: f32) {
  return
}

// -----

sp.mesh @mesh <tp = 2>
func.func @axis(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'sp.collective' op is over `dp`, which is not an axis of the module's mesh (C2)}}
  %y = sp.collective all_reduce %x over "dp" {sp.offsets = array<i64: 0>} : tensor<8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// C2
sp.mesh @mesh <tp = 2>
func.func @dropout_axis(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'sp.dropout' op has a layout along `dp`, which is not an axis of the module's mesh (C2)}}
  %y = sp.dropout %x p 0.5 op_id 1 layout <dp = shard(0)> {sp.offsets = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// C2: no mesh at all
func.func @dropout_mesh(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'sp.dropout' op has a layout along `tp`, which is not an axis of the module's mesh (C2)}}
  %y = sp.dropout %x p 0.5 op_id 1 layout <tp = shard(0)> {sp.offsets = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @resource() -> tensor<2xf32> {
  // expected-error@+1 {{'arith.constant' op is not a dense tensor (C2)}}
  %c = arith.constant dense_resource<weights> : tensor<2xf32>
  return %c : tensor<2xf32>
}

{-# dialect_resources: { builtin: { weights: "0x040000000000803F00000040" } } #-}

// -----

// C2: parts of a mesh of 4, on a mesh of 2: the runtime would write past the result.
sp.mesh @mesh <tp = 2>
func.func @parts(%x: tensor<8xf32>) -> tensor<2xf32> {
  // expected-error @below {{has extents 8 and 2 along dimension 0, which are not one and 2 parts of `tp` (C2)}}
  %0 = sp.collective reduce_scatter %x over "tp" dim 0 : tensor<8xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// C2
sp.mesh @mesh <tp = 2>
func.func @slice(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has extents 8 and 8 along dimension 0, which are not one and 2 parts of `tp` (C2)}}
  %0 = sp.local_slice %x over "tp" dim 0 : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// C3: the second argument would be read after it is overwritten
// expected-error@+1 {{result #0 is the new value of argument #0, but is argument #1 itself; an argument must not become another (C3)}}
func.func @exchange(%a: tensor<4xf32> {sp.param = "a"}, %b: tensor<4xf32> {sp.param = "b"})
    -> (tensor<4xf32> {sp.param = "a"}, tensor<4xf32> {sp.param = "b"}) {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

// C3: another type
// expected-error@+1 {{result #0 is 'tensor<5xf32>', but is the new value of argument #0, a 'tensor<4xf32>' (C3)}}
func.func @new_value_of_another_type(%a: tensor<4xf32> {sp.param = "a"}, %b: tensor<5xf32> {sp.input = "b"})
    -> (tensor<5xf32> {sp.param = "a"}) {
  return %b : tensor<5xf32>
}
