// RUN: sp-opt %s --sp-verify-layouts --split-input-file --verify-diagnostics

// pad C1
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{dimension 0 is 3 without and 2 with padding; the first must be at least 1 and at most the second (C1)}}
  %0 = sp.pad %x dim 0 : tensor<3x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// pad C1
func.func @f(%x: tensor<0x4xf32>) {
  // expected-error @below {{dimension 0 is 0 without and 2 with padding; the first must be at least 1 and at most the second (C1)}}
  %0 = sp.pad %x dim 0 : tensor<0x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// pad C1
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{dim is 2, but there are 2 dimensions (C1)}}
  %0 = sp.pad %x dim 2 : tensor<3x4xf32> -> tensor<3x4xf32>
  return
}

// -----

// pad C1
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{the padded tensor has shape [5, 5], must be [5, 4] (C1)}}
  %0 = sp.pad %x dim 0 : tensor<3x4xf32> -> tensor<5x5xf32>
  return
}

// -----

// pad C2
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{(C2)}}
  %0 = sp.pad %x dim 0 : tensor<3x4xf32> -> tensor<4x4xf64>
  return
}

// -----

// pad C3
sp.mesh @mesh <tp = 2>
// expected-note @below {{operand #0 has type}}
func.func @f(%x: tensor<2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{along `tp`}}
  %0 = sp.pad %x dim 0 : tensor<2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<4x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// pad C4
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{fills floating point numbers with 1, must be 0 (C4)}}
  %0 = sp.pad %x dim 0 fill 1 : tensor<3x4xf32> -> tensor<4x4xf32>
  return
}

// -----

// unpad C1
func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @below {{dimension 0 is 4 without and 3 with padding}}
  %0 = sp.unpad %x dim 0 : tensor<3x4xf32> -> tensor<4x4xf32>
  return
}

// -----

// unpad C3
sp.mesh @mesh <tp = 2>
// expected-note @below {{operand #0 has type}}
func.func @f(%x: tensor<4x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{along `tp`}}
  %0 = sp.unpad %x dim 0 : tensor<4x4xf32, #sp.layout<tp = shard(0)>> -> tensor<2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// unpad C4
func.func @f(%x: tensor<4xi64>) {
  // expected-error @below {{folds integers (C4)}}
  %0 = sp.unpad %x dim 0 fold : tensor<4xi64> -> tensor<3xi64>
  return
}
