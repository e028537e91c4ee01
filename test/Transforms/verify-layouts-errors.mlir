// RUN: sp-opt %s --split-input-file --sp-verify-layouts --verify-diagnostics=only-expected
//
// What does not verify, and why; the positive twin is verify-layouts.mlir.

// C3: invariant does not mix with replicate
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is invariant along `tp`, but operand #1 is replicate; change the layout of one}}
  %0 = sp.swiglu %x, %xr : (tensor<8x2x4xf32>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: invariant does not mix with a shard: the weight's gradient would lack its sum
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #1 is invariant along `tp`, but operand #0 is shard(0)}}
  %0 = sp.rms_norm %s, %w eps 1.0e-05 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a replicated tensor with the sharded dimension is sliced first
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(0) because operand #0 is shard(0)}}
  %0 = sp.swiglu %s, %xr : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: two dimensions along one axis
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #1 is shard(2) along `tp`, but must be shard(0)}}
  %0 = sp.swiglu %s, %h : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: partial + replicate
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is partial along `tp`, but the op is not linear in its partial operands}}
  %0 = sp.bias_add %p, %wr : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: partial with a shard
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{does not mix with operand #1 (shard(0)); reduce it first}}
  %0 = sp.bias_add %p, %ws : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: swiglu is not linear in gate
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = sp.swiglu %p, %xr : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: swiglu is not linear in both
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = sp.swiglu %p, %p : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<8x2x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a norm is not linear
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = sp.rms_norm %p, %wr eps 1.0e-05 : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a product of partials is not a partial product
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = arith.mulf %p, %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: exp is not linear
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = math.exp %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: rounding is not linear
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = arith.truncf %p : tensor<8x2x4xf32, #sp.layout<tp = partial>> to tensor<8x2x4xbf16, #sp.layout<tp = partial>>
  return
}

// -----

// C3: relu is not linear
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  %z = arith.constant dense<0.0> : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = arith.maximumf %p, %z : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a row-parallel linear has no bias: it would be added T times
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(1)>>, %b: tensor<6xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is shard(2) along `tp`, but the op needs that whole dimension}}
  %0 = sp.linear %h, %a bias %b : (tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<6x4xf32, #sp.layout<tp = shard(1)>>, tensor<6xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: contraction sharded on one operand only
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(1)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is replicate along `tp`, but must be shard(2) because operand #1 is shard(1)}}
  %0 = sp.linear %xr, %a : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: the result of a row-parallel linear is partial, not replicate
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(1)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is partial along `tp`, but its type says replicate}}
  %0 = sp.linear %h, %a : (tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<6x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x2x6xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: ... and not invariant
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(1)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is partial along `tp`, but its type says invariant}}
  %0 = sp.linear %h, %a : (tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<6x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x2x6xf32>
  return
}

// -----

// C3: the result of a column-parallel linear is sharded on its last dimension
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is shard(2) along `tp`, but its type says shard(0)}}
  %0 = sp.linear %xr, %a : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a column-parallel linear's input is replicate: copy is where its gradient is summed
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is invariant along `tp`, but operand #1 is shard(0)}}
  %0 = sp.linear %x, %a : (tensor<8x2x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: a column-parallel bias is sharded like the weight
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %b: tensor<6xf32>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #2 is invariant along `tp`, but operand #0 is replicate}}
  %0 = sp.linear %xr, %a bias %b : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6xf32>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: a norm needs its whole row
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>, %ws: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %ws : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is shard(2) along `tp`, but the op needs that whole dimension; gather it first}}
  %0 = sp.rms_norm %h, %ws eps 1.0e-05 : (tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: rope on a sequence shard with the whole table: every rank would take position 0
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>) {
  %c, %n = sp.rope_table theta 1.0e+04 : tensor<8x3xf32>, tensor<8x3xf32>
  %cr = sp.copy %c : tensor<8x3xf32> -> tensor<8x3xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(0) because operand #0 is shard(0)}}
  %0 = sp.rope %q, %cr, %cr : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>, tensor<8x3xf32, #sp.layout<tp = replicate>>, tensor<8x3xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: rope needs the whole head
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>) {
  %c, %n = sp.rope_table theta 1.0e+04 : tensor<8x3xf32>, tensor<8x3xf32>
  %cr = sp.copy %c : tensor<8x3xf32> -> tensor<8x3xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is shard(3) along `tp`, but the op needs that whole dimension}}
  %0 = sp.rope %q, %cr, %cr : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>, tensor<8x3xf32, #sp.layout<tp = replicate>>, tensor<8x3xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>
  return
}

// -----

// C3: the table is the same on every rank
sp.mesh @mesh <tp = 2>
func.func @f() {
  // expected-error @below {{result is shard(0) along `tp`, must be invariant}}
  %c, %n = sp.rope_table theta 1.0e+04 : tensor<8x3xf32, #sp.layout<tp = shard(0)>>, tensor<8x3xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: attention reads every position
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{operand #0 is shard(0) along `tp`, but the op needs that whole dimension}}
  %0 = sp.attention %q, %q, %q scale 1.0 causal : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: query heads without their key/value heads
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, %k: tensor<8x2x4x6xf32>) {
  %kr = sp.copy %k : tensor<8x2x4x6xf32> -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(2) because operand #0 is shard(2)}}
  %0 = sp.attention %q, %kr, %kr scale 1.0 causal : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: a lookup needs the whole vocabulary
sp.mesh @mesh <tp = 2>
func.func @f(%i: tensor<2x8xi64>, %t: tensor<10x4xf32, #sp.layout<tp = shard(0)>>) {
  %ir = sp.copy %i : tensor<2x8xi64> -> tensor<2x8xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is shard(0) along `tp`, but the op needs that whole dimension}}
  %0 = sp.embedding %ir, %t : (tensor<2x8xi64, #sp.layout<tp = replicate>>, tensor<10x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a shift crosses the border of a sequence shard
sp.mesh @mesh <tp = 2>
func.func @f(%i: tensor<2x8xi64, #sp.layout<tp = shard(1)>>) {
  // expected-error @below {{operand #0 is shard(1) along `tp`, but the op needs that whole dimension}}
  %0 = sp.shift_labels %i ignore_index -100 : (tensor<2x8xi64, #sp.layout<tp = shard(1)>>) -> tensor<8x2xi64, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: cross entropy needs the whole vocabulary
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %t: tensor<8x2xi64>) {
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is shard(2) along `tp`, but the op needs that whole dimension}}
  %0:2 = sp.cross_entropy %h, %tr ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// C3: a sum over a rank's tokens is partial, not the loss
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{result #0 is partial along `tp`, but its type says invariant}}
  %0:2 = sp.cross_entropy %s, %t ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2xi64, #sp.layout<tp = shard(0)>>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// C3: swapping the first dimensions moves the shard
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{result #0 is shard(1) along `tp`, but its type says shard(0)}}
  %0 = sp.batch_major %s : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<2x8x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: dropout and scale change no layout
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{result #0 is shard(0) along `tp`, but its type says replicate}}
  %0 = sp.dropout %s p 0.1 op_id 1 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{result #0 is shard(0) along `tp`, but its type says invariant}}
  %0 = sp.scale %s by 2.0 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32>
  return
}

// -----

// C3: gathering to replicate before work that every rank does alike
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32>) {
  %g = sp.all_gather %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is invariant along `tp`, but operand #0 is replicate}}
  %0 = sp.linear %g, %a : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<6x4xf32>) -> tensor<8x2x6xf32>
  return
}

// -----

// C3: gathering to invariant before a column-parallel linear
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %a: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  %g = sp.all_gather %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32>
  // expected-error @below {{operand #0 is invariant along `tp`, but operand #1 is shard(0)}}
  %0 = sp.linear %g, %a : (tensor<8x2x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: a partial constant that is not zero sums to T times itself
sp.mesh @mesh <tp = 2>
func.func @f() {
  // expected-error @below {{is partial along `tp` and not zero}}
  %0 = arith.constant dense<1.0> : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a sharded constant that is not a splat
sp.mesh @mesh <tp = 2>
func.func @f() {
  // expected-error @below {{is shard(0) along `tp` and not a splat; make it invariant and use `sp.slice`}}
  %0 = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a partial fill that is not zero
sp.mesh @mesh <tp = 2>
func.func @f() {
  %one = arith.constant 1.0 : f32
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{is partial along `tp` and not zero}}
  %0 = linalg.fill ins(%one : f32) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: a constant added to a partial
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %one = arith.constant 1.0 : f32
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.addf %a, %one : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: the square of a partial
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.mulf %a, %a : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: a body that ignores its partial operands
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>) {
  %xr = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%xr : tensor<8x2x4xf32, #sp.layout<tp = replicate>>) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.negf %a : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: the index along a sharded loop is the rank's own
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{operand #0 is shard(0) along `tp`, but the op needs that whole dimension}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a: f32, %o: f32):
      %n = linalg.index 0 : index
      %j = arith.index_cast %n : index to i64
      %f = arith.sitofp %j : i64 to f32
      %m = arith.mulf %a, %f : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: linalg: a shifted read along a sharded loop
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %x9: tensor<9x2x4xf32>) {
  %l = sp.copy %x9 : tensor<9x2x4xf32> -> tensor<9x2x4xf32, #sp.layout<tp = replicate>>
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{operand #1 is shard(0) along `tp`, but the op needs that whole dimension}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s + 1, b, h)>, affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%l, %s : tensor<9x2x4xf32, #sp.layout<tp = replicate>>, tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.addf %a, %b : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: linalg: a tensor read from within the body escapes the rule
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %w: tensor<4xf32>) {
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{reads a tensor from within its body, which no layout rule covers}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a: f32, %o: f32):
      %c0 = arith.constant 0 : index
      %e = tensor.extract %w[%c0] : tensor<4xf32>
      %m = arith.mulf %a, %e : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a reshape carries no shard of an inner dimension
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(1)>>) {
  // expected-error @below {{operand #0 is shard(1) along `tp`, but the op needs that whole dimension}}
  %0 = tensor.collapse_shape %s [[0, 1], [2]] : tensor<8x2x4xf32, #sp.layout<tp = shard(1)>> into tensor<16x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a reshape that changes the layout (upstream allows it)
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{result #0 is shard(0) along `tp`, but its type says invariant}}
  %0 = tensor.collapse_shape %s [[0, 1], [2]] : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> into tensor<16x4xf32>
  return
}

// -----

// C3, default deny: tensor.cast drops a partial
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.cast %p : tensor<8x2x4xf32, #sp.layout<tp = partial>> to tensor<8x2x4xf32>
  return
}

// -----

// C3, default deny: tensor.cast invents a shard
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.cast %x : tensor<8x2x4xf32> to tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3, default deny: tensor.bitcast
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.bitcast %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> to tensor<8x2x4xi32>
  return
}

// -----

// C3, default deny: tensor.extract_slice
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.extract_slice %s[0, 0, 0] [4, 2, 4] [1, 1, 1] : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> to tensor<4x2x4xf32>
  return
}

// -----

// C3, default deny: tensor.insert_slice
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %y: tensor<4x2x4xf32>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.insert_slice %y into %s[0, 0, 0] [4, 2, 4] [1, 1, 1] : tensor<4x2x4xf32> into tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3, default deny: tensor.extract: a scalar is invariant
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %c = arith.constant 0 : index
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.extract %s[%c, %c, %c] : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3, default deny: tensor.insert
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %c = arith.constant 0 : index
  %f = arith.constant 0.0 : f32
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.insert %f into %s[%c, %c, %c] : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3, default deny: tensor.dim: global or local?
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %c = arith.constant 0 : index
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.dim %s, %c : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3, default deny: linalg.matmul accepts any layouts
sp.mesh @mesh <tp = 2>
func.func @f(%a: tensor<4x8xf32, #sp.layout<tp = shard(1)>>, %b: tensor<8x4xf32, #sp.layout<tp = shard(0)>>, %c: tensor<4x4xf32>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32, #sp.layout<tp = shard(1)>>, tensor<8x4xf32, #sp.layout<tp = shard(0)>>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// C3, default deny: unrealized_conversion_cast
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = builtin.unrealized_conversion_cast %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> to tensor<8x2x4xf32>
  return
}

// -----

// C3, default deny: scf.if yields a layout
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = scf.if %c -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> {
    scf.yield %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  } else {
    scf.yield %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  }
  return
}

// -----

// C3, default deny: an op inside scf.if is looked at
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  scf.if %c {
  // expected-error @below {{operand #0 is shard(0) along `tp`, but the op needs that whole dimension}}
    %0 = sp.attention %q, %q, %q scale 1.0 causal : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = shard(0)>>
  }
  return
}

// -----

// C3, default deny: a call
sp.mesh @mesh <tp = 2>
func.func private @g(%s: tensor<8xf32, #sp.layout<tp = shard(0)>>)
func.func @f(%s: tensor<8xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  call @g(%s) : (tensor<8xf32, #sp.layout<tp = shard(0)>>) -> ()
  return
}

// -----

// C4
sp.mesh @mesh <tp = 2>
// expected-error @below {{argument #0 is replicate along `tp`, must be invariant or sharded (C4)}}
func.func @f(%s: tensor<8xf32, #sp.layout<tp = replicate>>) {
  return
}

// -----

// C4: a result that is still a summand
sp.mesh @mesh <tp = 2>
// expected-error @below {{result #0 is partial along `tp`, must be invariant or sharded (C4)}}
func.func @f(%s: tensor<8xf32, #sp.layout<tp = shard(0)>>) -> tensor<8xf32, #sp.layout<tp = partial>> {
  %0 = sp.zero_pad %s : tensor<8xf32, #sp.layout<tp = shard(0)>> -> tensor<8xf32, #sp.layout<tp = partial>>
  return %0 : tensor<8xf32, #sp.layout<tp = partial>>
}

// -----

// C4: a layout inside another type
sp.mesh @mesh <tp = 2>
// expected-error @below {{argument #0 has type '(tensor<8xf32, #sp.layout<tp = partial>>) -> ()', which hides a layout inside another type (C4)}}
func.func @f(%s: (tensor<8xf32, #sp.layout<tp = partial>>) -> ()) {
  return
}

// -----

// C4: a block argument of a loop
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8xf32, #sp.layout<tp = shard(0)>>, %n: index) {
  %c = arith.constant 1 : index
  // expected-error @below {{has a block argument of type 'tensor<8xf32, #sp.layout<tp = shard(0)>>'; only function arguments may have layouts (C4)}}
  %0 = scf.for %i = %c to %n step %c iter_args(%a = %s) -> tensor<8xf32, #sp.layout<tp = shard(0)>> {
    scf.yield %a : tensor<8xf32, #sp.layout<tp = shard(0)>>
  }
  return
}

// -----

// C1: no mesh
// expected-error @below {{but the module has no `sp.mesh` (C1)}}
func.func @f(%s: tensor<8xf32, #sp.layout<tp = shard(0)>>) {
  return
}

// -----

// C1: an axis that the mesh does not have
sp.mesh @mesh <dp = 2>
// expected-error @below {{but the mesh has no axis `tp` (C1)}}
func.func @f(%s: tensor<8xf32, #sp.layout<tp = shard(0)>>) {
  return
}

// -----

// C1: mesh order
sp.mesh @mesh <dp = 2, tp = 2>
// expected-error @below {{whose axes are not in mesh order (C1)}}
func.func @f(%s: tensor<8x4xf32, #sp.layout<tp = shard(0), dp = shard(1)>>) {
  return
}

// -----

// C2
sp.mesh @mesh <tp = 3>
// expected-error @below {{whose dimension 0 (8) is not divisible by `tp` = 3 (C2)}}
func.func @f(%s: tensor<8xf32, #sp.layout<tp = shard(0)>>) {
  return
}

// -----

// C5
sp.mesh @mesh <tp = 2>
// expected-error @below {{is a second mesh; a module has at most one (C5)}}
sp.mesh @other <tp = 2>

// -----

// C6: each rank's own part, under a type that says the same on all ranks
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{is an op of localised programs; before sp-localize, layouts change by}}
  %0 = sp.local_slice %x over "tp" dim 0 : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

// C6
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{is an op of localised programs}}
  %0 = sp.collective all_reduce %x over "tp" : tensor<8xf32> -> tensor<8xf32>
  return
}
