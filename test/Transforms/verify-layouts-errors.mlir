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

// C3: a lookup in a part of the vocabulary is only a summand
sp.mesh @mesh <tp = 2>
func.func @f(%i: tensor<2x8xi64>, %t: tensor<10x4xf32, #sp.layout<tp = shard(0)>>) {
  %ir = sp.copy %i : tensor<2x8xi64> -> tensor<2x8xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{result #0 is partial along `tp`, but its type says replicate}}
  %0 = sp.embedding %ir, %t : (tensor<2x8xi64, #sp.layout<tp = replicate>>, tensor<10x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: every rank looks up all tokens in its part
sp.mesh @mesh <tp = 2>
func.func @f(%i: tensor<2x8xi64, #sp.layout<tp = shard(1)>>, %t: tensor<10x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{operand #1 is shard(0) along `tp`, but must be replicate because operand #0 is shard(1)}}
  %0 = sp.embedding %i, %t : (tensor<2x8xi64, #sp.layout<tp = shard(1)>>, tensor<10x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a rank's rows of a table's gradient need the whole cotangent
sp.mesh @mesh <tp = 2>
func.func @f(%g: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %i: tensor<2x8xi64, #sp.layout<tp = shard(1)>>) {
  // expected-error @below {{result #0 is partial along `tp`, but its type says shard(0)}}
  %0 = sp.embedding_grad %g, %i : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<2x8xi64, #sp.layout<tp = shard(1)>>) -> tensor<10x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: ... on every rank, not merely the same for all ranks
sp.mesh @mesh <tp = 2>
func.func @f(%g: tensor<8x2x4xf32>, %i: tensor<2x8xi64>) {
  // expected-error @below {{result #0 is invariant along `tp`, but its type says shard(0)}}
  %0 = sp.embedding_grad %g, %i : (tensor<8x2x4xf32>, tensor<2x8xi64>) -> tensor<10x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: ... and of the vocabulary alone
sp.mesh @mesh <tp = 2>
func.func @f(%g: tensor<8x2x4xf32>, %i: tensor<2x8xi64>) {
  %gr = sp.copy %g : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %ir = sp.copy %i : tensor<2x8xi64> -> tensor<2x8xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{result #0 is replicate along `tp`, but its type says shard(1)}}
  %0 = sp.embedding_grad %gr, %ir : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<2x8xi64, #sp.layout<tp = replicate>>) -> tensor<10x4xf32, #sp.layout<tp = shard(1)>>
  return
}

// -----

// C3: the parts of a sharded vocabulary are sharded
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %t: tensor<8x2xi64>) {
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{result #0 is shard(0) along `tp`, but its type says partial}}
  %0 = sp.cross_entropy_parts %h, %tr ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> tensor<2x8x2x2xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C2: as many parts as ranks, or a multiple
sp.mesh @mesh <tp = 3>
func.func @f(%h: tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>, %t: tensor<8x2xi64>) {
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{whose dimension 0 (2) is not divisible by `tp` = 3 (C2)}}
  %0 = sp.cross_entropy_parts %h, %tr ignore_index -100 : (tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: no rank can join the parts that it has not
sp.mesh @mesh <tp = 2>
func.func @f(%p: tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64>) {
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is shard(0) along `tp`, but the op needs that whole dimension}}
  %0:2 = sp.cross_entropy_join %p, %tr ignore_index -100 : (tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> (tensor<f32, #sp.layout<tp = replicate>>, tensor<f32, #sp.layout<tp = replicate>>)
  return
}

// -----

// C3: ... nor is a loss the sum of losses of parts
sp.mesh @mesh <tp = 2>
func.func @f(%p: tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64>) {
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  %z = sp.zero_pad %p : tensor<2x8x2x2xf32, #sp.layout<tp = shard(0)>> -> tensor<2x8x2x2xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is partial along `tp`, but the op is not linear in its partial operands}}
  %0:2 = sp.cross_entropy_join %z, %tr ignore_index -100 : (tensor<2x8x2x2xf32, #sp.layout<tp = partial>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32, #sp.layout<tp = partial>>)
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

// C3: linalg: a number other than zero instead of a partial
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %i = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%i : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %true = arith.constant true
      %m = arith.select %true, %a, %one : f32
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

// C3: linalg.matmul accepts any layouts; here each rank has a summand of the product
sp.mesh @mesh <tp = 2>
func.func @f(%a: tensor<4x8xf32, #sp.layout<tp = shard(1)>>, %b: tensor<8x4xf32, #sp.layout<tp = shard(0)>>, %c: tensor<4x4xf32>) {
  // expected-error @below {{operand #2 is invariant along `tp`, but operand #0 is shard(1)}}
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

// -----

// C3: invariant does not mix with partial
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %w = arith.constant dense<0.0> : tensor<4xf32>
  // expected-error @below {{operand #1 is invariant along `tp`, but operand #0 is partial; change the layout of one}}
  %0 = sp.bias_add %p, %w : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<4xf32>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: ... also in a lookup: the ids, too, have a layout
sp.mesh @mesh <tp = 2>
func.func @f(%i: tensor<2x8xi64>, %t: tensor<10x4xf32, #sp.layout<tp = shard(1)>>) {
  // expected-error @below {{operand #0 is invariant along `tp`, but operand #1 is shard(1)}}
  %0 = sp.embedding %i, %t : (tensor<2x8xi64>, tensor<10x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: ... and in a loss
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64>) {
  // expected-error @below {{operand #1 is invariant along `tp`, but operand #0 is shard(0)}}
  %0:2 = sp.cross_entropy %s, %t ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2xi64>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32, #sp.layout<tp = partial>>)
  return
}

// -----

// C3: whole targets with sharded logits
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64>) {
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(0) because operand #0 is shard(0)}}
  %0:2 = sp.cross_entropy %s, %tr ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32, #sp.layout<tp = partial>>)
  return
}

// -----

// C3: a row-parallel linear whose input is sharded and whose weight is whole
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<6x4xf32>) {
  %wr = sp.copy %w : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(1) because operand #0 is shard(2)}}
  %0 = sp.linear %h, %wr : (tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<6x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a sequence shard into a column-parallel linear: one axis shards one dimension
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %w: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{operand #1 is shard(0) along `tp`, but must be replicate because operand #0 is shard(0)}}
  %0 = sp.linear %s, %w : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: linear is not linear in both at once
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %w: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wp = sp.zero_pad %w : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.linear %p, %wp : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<6x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a whole bias on a partial product would be added T times
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %w: tensor<6x4xf32>, %b: tensor<6xf32>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %wr = sp.copy %w : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %br = sp.copy %b : tensor<6xf32> -> tensor<6xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.linear %p, %wr bias %br : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<6x4xf32, #sp.layout<tp = replicate>>, tensor<6xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a bias sharded where the input is not
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %b: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %r = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is replicate along `tp`, but must be shard(2) because operand #1 is shard(0)}}
  %0 = sp.bias_add %r, %b : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: a partial bias on a whole input
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>, %b: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  %r = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %bp = sp.zero_pad %b : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.bias_add %r, %bp : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a norm of a shard whose weight is sharded with it
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %w: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{operand #1 is shard(0) along `tp`, but must be replicate because operand #0 is shard(0)}}
  %0 = sp.rms_norm %s, %w eps 1.0e-05 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: attention needs the whole head
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>) {
  // expected-error @below {{operand #0 is shard(3) along `tp`, but the op needs that whole dimension; gather it first}}
  %0 = sp.attention %q, %q, %q scale 1.0 : (tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>, tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = shard(3)>>
  return
}

// -----

// C3: attention is not linear in its queries
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32>, %s: tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>) {
  %r = sp.copy %q : tensor<8x2x4x6xf32> -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>> -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.attention %p, %r, %r scale 1.0 : (tensor<8x2x4x6xf32, #sp.layout<tp = partial>>, tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: attention is not linear in its keys
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32>, %s: tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>) {
  %r = sp.copy %q : tensor<8x2x4x6xf32> -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>> -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.attention %r, %p, %r scale 1.0 : (tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x4x6xf32, #sp.layout<tp = partial>>, tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: attention is not linear in its values and queries at once
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32>, %s: tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>>) {
  %r = sp.copy %q : tensor<8x2x4x6xf32> -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x2x4x6xf32, #sp.layout<tp = shard(2)>> -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.attention %p, %r, %p scale 1.0 : (tensor<8x2x4x6xf32, #sp.layout<tp = partial>>, tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x2x4x6xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: one table of two is not enough: rope is linear in both together
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32>, %c: tensor<8x3xf32>, %s: tensor<8x3xf32, #sp.layout<tp = shard(0)>>) {
  %r = sp.copy %q : tensor<8x2x4x6xf32> -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  %cr = sp.copy %c : tensor<8x3xf32> -> tensor<8x3xf32, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %s : tensor<8x3xf32, #sp.layout<tp = shard(0)>> -> tensor<8x3xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.rope %r, %cr, %p : (tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x3xf32, #sp.layout<tp = replicate>>, tensor<8x3xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a sharded table with a whole sequence
sp.mesh @mesh <tp = 2>
func.func @f(%q: tensor<8x2x4x6xf32>, %c: tensor<8x3xf32, #sp.layout<tp = shard(0)>>) {
  %r = sp.copy %q : tensor<8x2x4x6xf32> -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is replicate along `tp`, but must be shard(0) because operand #1 is shard(0)}}
  %0 = sp.rope %r, %c, %c : (tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>, tensor<8x3xf32, #sp.layout<tp = shard(0)>>, tensor<8x3xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4x6xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: a partial table
sp.mesh @mesh <tp = 2>
func.func @f(%t: tensor<10x4xf32, #sp.layout<tp = shard(0)>>, %i: tensor<2x8xi64>) {
  %ir = sp.copy %i : tensor<2x8xi64> -> tensor<2x8xi64, #sp.layout<tp = replicate>>
  %p = sp.zero_pad %t : tensor<10x4xf32, #sp.layout<tp = shard(0)>> -> tensor<10x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = sp.embedding %ir, %p : (tensor<2x8xi64, #sp.layout<tp = replicate>>, tensor<10x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: the loss of partial logits
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %tr = sp.copy %t : tensor<8x2xi64> -> tensor<8x2xi64, #sp.layout<tp = replicate>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0:2 = sp.cross_entropy %p, %tr ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<8x2xi64, #sp.layout<tp = replicate>>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32, #sp.layout<tp = partial>>)
  return
}

// -----

// C3: a mean of parts: the loss divides the sums, after their reduction
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64, #sp.layout<tp = shard(0)>>) {
  %0:2 = sp.cross_entropy %s, %t ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2xi64, #sp.layout<tp = shard(0)>>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32, #sp.layout<tp = partial>>)
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %1 = arith.divf %0#0, %0#1 : tensor<f32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a scaled partial is not whole
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is partial along `tp`, but its type says replicate}}
  %0 = sp.scale %p by 0.5 : (tensor<8x2x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: ... not invariant
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is partial along `tp`, but its type says invariant}}
  %0 = sp.scale %p by 0.5 : (tensor<8x2x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32>
  return
}

// -----

// C3: ... and not sharded
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is partial along `tp`, but its type says shard(0)}}
  %0 = sp.dropout %p p 0.5 op_id 1 : (tensor<8x2x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a shard is not a summand
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is shard(0) along `tp`, but its type says partial}}
  %0 = sp.scale %s by 0.5 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: an invariant operand makes no layout
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>) {
  // expected-error @below {{result #0 is invariant along `tp`, but its type says shard(0)}}
  %0 = sp.scale %x by 0.5 : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: a replicated one no invariant
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>) {
  %r = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{result #0 is replicate along `tp`, but its type says invariant}}
  %0 = sp.swiglu %r, %r : (tensor<8x2x4xf32, #sp.layout<tp = replicate>>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) -> tensor<8x2x4xf32>
  return
}

// -----

// C3: the second result, too
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x2xi64, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{result #1 is partial along `tp`, but its type says invariant}}
  %0:2 = sp.cross_entropy %s, %t ignore_index -100 : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2xi64, #sp.layout<tp = shard(0)>>) -> (tensor<f32, #sp.layout<tp = partial>>, tensor<f32>)
  return
}

// -----

// C3: a quotient of partials
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = arith.divf %p, %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a root
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = math.sqrt %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: an absolute value
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = math.absf %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a comparison
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = arith.cmpf ogt, %p, %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a choice between partials by a scalar (linear, but not known to be)
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = arith.select %c, %p, %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: the inverse of a partial
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %x: tensor<8x2x4xf32>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %r = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %r : tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.divf %a1, %a0 : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: a partial plus a replicated value
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %x: tensor<8x2x4xf32>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %r = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p, %r : tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.addf %a0, %a1 : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: a choice that depends on the partial (relu)
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a0: f32, %o: f32):
      %z = arith.constant 0.0 : f32
      %g = arith.cmpf ogt, %a0, %z : f32
      %m = arith.select %g, %a0, %z : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: the linear part of a sum does not save the rest
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a0: f32, %o: f32):
      %x = math.exp %a0 : f32
      %m = arith.addf %a0, %x : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: a control flow in the body
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%p : tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a0: f32, %o: f32):
      %m = scf.if %c -> f32 {
        scf.yield %a0 : f32
      } else {
        %x = math.exp %a0 : f32
        scf.yield %x : f32
      }
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: the maximum of partials over a whole loop
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %e = arith.constant dense<0.0> : tensor<8x2xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p : tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%e : tensor<8x2xf32, #sp.layout<tp = partial>>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.maximumf %a0, %o : f32
      linalg.yield %m : f32
  } -> tensor<8x2xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: each rank adds its part of the sum to what all of them start from
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) {
  %e = arith.constant dense<0.0> : tensor<8x2xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp`, but each rank adds only its part of the sum to it, so it would count T times; start from a partial zero}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h : tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) outs(%e : tensor<8x2xf32, #sp.layout<tp = replicate>>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.addf %a0, %o : f32
      linalg.yield %m : f32
  } -> tensor<8x2xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: linalg: a maximum over a sharded loop
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) {
  %e = arith.constant dense<0.0> : tensor<8x2xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is shard(2) along `tp`, but the op needs that whole dimension; gather it first}}
  %0 = linalg.reduce {arith.maximumf} ins(%h : tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) outs(%e : tensor<8x2xf32, #sp.layout<tp = replicate>>) dimensions = [2]
  return
}

// -----

// C3: linalg: an and-or matrix product adds nothing
sp.mesh @mesh <tp = 2>
func.func @f(%a: tensor<4x8xi1, #sp.layout<tp = shard(1)>>, %b: tensor<8x4xi1, #sp.layout<tp = shard(0)>>) {
  %c = arith.constant dense<false> : tensor<4x4xi1, #sp.layout<tp = partial>>
  // expected-error @below {{operand #2 is partial along `tp`, which does not mix with operand #0 (shard(1))}}
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xi1, #sp.layout<tp = shard(1)>>, tensor<8x4xi1, #sp.layout<tp = shard(0)>>) outs(%c : tensor<4x4xi1, #sp.layout<tp = partial>>) -> tensor<4x4xi1, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: a product of two partial factors
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<4x8xf32, #sp.layout<tp = shard(0)>>, %t: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) {
  %a = sp.zero_pad %s : tensor<4x8xf32, #sp.layout<tp = shard(0)>> -> tensor<4x8xf32, #sp.layout<tp = partial>>
  %b = sp.zero_pad %t : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = partial>>
  %c = arith.constant dense<0.0> : tensor<4x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32, #sp.layout<tp = partial>>, tensor<8x4xf32, #sp.layout<tp = partial>>) outs(%c : tensor<4x4xf32, #sp.layout<tp = partial>>) -> tensor<4x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: the result's init is whole
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(0) because operand #0 is shard(0)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = replicate>>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.negf %a0 : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: linalg: ... or invariant
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %e = tensor.empty() : tensor<8x2x4xf32>
  // expected-error @below {{operand #1 is invariant along `tp`, but operand #0 is shard(0)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%e : tensor<8x2x4xf32>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.negf %a0 : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32>
  return
}

// -----

// C3: linalg: a permuted map moves the shard
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %e = tensor.empty() : tensor<2x8x4xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{operand #1 is shard(0) along `tp`, but must be shard(1) because operand #0 is shard(0)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (b, s, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%e : tensor<2x8x4xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.negf %a0 : f32
      linalg.yield %m : f32
  } -> tensor<2x8x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: linalg: a broadcast operand that has the sharded dimension, whole
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %w: tensor<4xf32>) {
  %wr = sp.copy %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(0) because operand #0 is shard(2)}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h, %wr : tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, tensor<4xf32, #sp.layout<tp = replicate>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.mulf %a0, %a1 : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: linalg: a reversed read of a sharded loop
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{operand #0 is shard(0) along `tp`, but the op needs that whole dimension; gather it first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (-s + 7, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a0: f32, %o: f32):
      %m = arith.negf %a0 : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: linalg: one position of a sharded dimension
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %x: tensor<8x2x4xf32>) {
  %r = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is shard(0) along `tp`, but the op needs that whole dimension; gather it first}}
  %0 = linalg.generic {indexing_maps = [affine_map<(s, b, h) -> (0, b, h)>, affine_map<(s, b, h) -> (s, b, h)>, affine_map<(s, b, h) -> (s, b, h)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %r : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4xf32, #sp.layout<tp = replicate>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = replicate>>) {
    ^bb0(%a0: f32, %a1: f32, %o: f32):
      %m = arith.addf %a0, %a1 : f32
      linalg.yield %m : f32
  } -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: linalg: a square of partials by name
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{the op is not linear in its partial operands; reduce first}}
  %0 = linalg.mul ins(%p, %p : tensor<8x2x4xf32, #sp.layout<tp = partial>>, tensor<8x2x4xf32, #sp.layout<tp = partial>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: linalg: a fill of unknown value
sp.mesh @mesh <tp = 2>
func.func @f(%f: f32) {
  %e = tensor.empty() : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{is partial along `tp` and not zero}}
  %0 = linalg.fill ins(%f : f32) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = partial>>) -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: a partial constant that is zero only in part
sp.mesh @mesh <tp = 2>
func.func @f() {
  // expected-error @below {{is partial along `tp` and not zero}}
  %0 = arith.constant dense<[0.0, 1.0]> : tensor<2xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3: partial along the second axis
sp.mesh @mesh <dp = 2, tp = 2>
func.func @f() {
  // expected-error @below {{is partial along `tp` and not zero}}
  %0 = arith.constant dense<1.0> : tensor<8xf32, #sp.layout<dp = shard(0), tp = partial>>
  return
}

// -----

// C3: expanding puts the shard on the outermost dimension of the group
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x12xf32, #sp.layout<tp = shard(1)>>) {
  // expected-error @below {{result #0 is shard(1) along `tp`, but its type says shard(2)}}
  %0 = tensor.expand_shape %s [[0], [1, 2]] output_shape [8, 2, 6] : tensor<8x12xf32, #sp.layout<tp = shard(1)>> into tensor<8x2x6xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: a reshape sums nothing
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{result #0 is partial along `tp`, but its type says replicate}}
  %0 = tensor.collapse_shape %p [[0, 1], [2]] : tensor<8x2x4xf32, #sp.layout<tp = partial>> into tensor<16x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: expand_shape that drops the layout (upstream allows it)
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<16x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{result #0 is shard(0) along `tp`, but its type says invariant}}
  %0 = tensor.expand_shape %s [[0, 1], [2]] output_shape [8, 2, 4] : tensor<16x4xf32, #sp.layout<tp = shard(0)>> into tensor<8x2x4xf32>
  return
}

// -----

// C2: a shard of heads that the head count does not allow
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x12xf32, #sp.layout<tp = shard(1)>>) {
  // expected-error @below {{whose dimension 1 (3) is not divisible by `tp` = 2 (C2)}}
  %0 = tensor.expand_shape %s [[0], [1, 2]] output_shape [8, 3, 4] : tensor<8x12xf32, #sp.layout<tp = shard(1)>> into tensor<8x3x4xf32, #sp.layout<tp = shard(1)>>
  return
}

// -----

// C3, default deny: tensor.cast drops a shard
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.cast %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> to tensor<8x2x4xf32>
  return
}

// -----

// C3, default deny: tensor.cast to an unranked tensor
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.cast %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> to tensor<*xf32>
  return
}

// -----

// C3, default deny: tensor.bitcast keeps a partial, but bits do not add
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %p = sp.zero_pad %s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x2x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.bitcast %p : tensor<8x2x4xf32, #sp.layout<tp = partial>> to tensor<8x2x4xi32, #sp.layout<tp = partial>>
  return
}

// -----

// C3, default deny: tensor.reshape
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %n: tensor<1xindex>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.reshape %s(%n) : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<1xindex>) -> tensor<64xf32>
  return
}

// -----

// C3, default deny: tensor.concat
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.concat dim(0) %s, %s : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<16x2x4xf32>
  return
}

// -----

// C3, default deny: tensor.pad
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %f = arith.constant 0.0 : f32
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.pad %s low[0, 0, 0] high[2, 0, 0] {
    ^bb0(%a: index, %b: index, %d: index):
      tensor.yield %f : f32
  } : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> to tensor<10x2x4xf32>
  return
}

// -----

// C3, default deny: tensor.splat invents a partial
sp.mesh @mesh <tp = 2>
func.func @f(%f: f32) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.splat %f : tensor<8x2x4xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C3, default deny: tensor.from_elements
sp.mesh @mesh <tp = 2>
func.func @f(%f: f32) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.from_elements %f, %f : tensor<2xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3, default deny: tensor.generate: an index is the rank's own
sp.mesh @mesh <tp = 2>
func.func @f(%f: f32) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = tensor.generate {
    ^bb0(%a: index):
      tensor.yield %f : f32
  } : tensor<8xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C3: linalg.reduce: what it starts from is invariant
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  %e = arith.constant dense<0.0> : tensor<2x4xf32>
  // expected-error @below {{operand #1 is invariant along `tp`, but operand #0 is shard(0)}}
  %0 = linalg.reduce {arith.addf} ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) outs(%e : tensor<2x4xf32>) dimensions = [0]
  return
}

// -----

// C3: linalg.batch_matmul: what it starts from is invariant
sp.mesh @mesh <tp = 2>
func.func @f(%a: tensor<2x4x8xf32, #sp.layout<tp = shard(2)>>, %b: tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>, %e: tensor<2x4x4xf32>) {
  // expected-error @below {{operand #2 is invariant along `tp`, but operand #0 is shard(2)}}
  %0 = linalg.batch_matmul ins(%a, %b : tensor<2x4x8xf32, #sp.layout<tp = shard(2)>>, tensor<2x8x4xf32, #sp.layout<tp = shard(1)>>) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

// C3, default deny: linalg.softmax
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>, %e: tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = linalg.softmax dimension(2) ins(%h : tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) outs(%e : tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3, default deny: unrealized_conversion_cast invents a shard
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x2x4xf32>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = builtin.unrealized_conversion_cast %x : tensor<8x2x4xf32> to tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C4: a branch hands a layout to a block
sp.mesh @mesh <tp = 2>
// expected-error @below {{has a block argument of type 'tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>'; only function arguments may have layouts (C4)}}
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  cf.br ^bb1(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>)
^bb1(%a: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>):
  return
}

// -----

// C3, default deny: scf.while
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>, %c: i1) {
  // expected-error @below {{has a block argument of type}}
  %0 = scf.while (%a = %s) : (tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> {
    scf.condition(%c) %a : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  } do {
    ^bb0(%b: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>):
      scf.yield %b : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>
  }
  return
}

// -----

// C3: an op of a localised program on a global tensor: a kernel has no rule
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = sp.row_kernel rows 16 cols 4 ins(%s : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>)
      maps [affine_map<(r, c) -> (r * 4 + c)>] outs [affine_map<(r, c) -> (r * 4 + c)>] to [0] : tensor<8x2x4xf32, #sp.layout<tp = shard(0)>> {
    ^bb0(%a: f32):
      %m = arith.negf %a : f32
      sp.yield %m : f32
  }
  return
}

// -----

// C3: ... nor a check of targets
sp.mesh @mesh <tp = 2>
func.func @f(%t: tensor<8x2xi64, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = sp.check_targets %t vocab 10 ignore_index -100 : tensor<8x2xi64, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C4: partial argument
sp.mesh @mesh <tp = 2>
// expected-error @below {{argument #0 is partial along `tp`, must be invariant or sharded (C4)}}
func.func @f(%p: tensor<8x2x4xf32, #sp.layout<tp = partial>>) {
  return
}

// -----

// C4: replicate result
sp.mesh @mesh <tp = 2>
// expected-error @below {{result #0 is replicate along `tp`, must be invariant or sharded (C4)}}
func.func @f(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32, #sp.layout<tp = replicate>> {
  %r = sp.copy %x : tensor<8x2x4xf32> -> tensor<8x2x4xf32, #sp.layout<tp = replicate>>
  return %r : tensor<8x2x4xf32, #sp.layout<tp = replicate>>
}

// -----

// C4: of a declaration, along the second axis
sp.mesh @mesh <dp = 2, tp = 2>
// expected-error @below {{argument #1 is replicate along `tp`, must be invariant or sharded (C4)}}
func.func private @f(tensor<8xf32>, tensor<8xf32, #sp.layout<dp = shard(0), tp = replicate>>)

// -----

// C4: a tuple hides a layout, even a sharded one
sp.mesh @mesh <tp = 2>
// expected-error @below {{which hides a layout inside another type (C4)}}
func.func private @f(tuple<tensor<8xf32, #sp.layout<tp = shard(0)>>>)

// -----

// C4: ... as a result
sp.mesh @mesh <tp = 2>
// expected-error @below {{result #0 has type}}
func.func private @f() -> ((tensor<8xf32, #sp.layout<tp = shard(0)>>) -> ())

// -----

// C3: ... and as an operand
sp.mesh @mesh <tp = 2>
func.func private @g(tensor<8xf32, #sp.layout<tp = shard(0)>>)
func.func @f() {
  // expected-error @below {{touches a tensor with a layout, but has no layout rule (C3)}}
  %0 = func.constant @g : (tensor<8xf32, #sp.layout<tp = shard(0)>>) -> ()
  return
}

// -----

// C1: an axis inside another type
sp.mesh @mesh <dp = 2>
// expected-error @below {{but the mesh has no axis `tp` (C1)}}
func.func private @f(tuple<tensor<8xf32, #sp.layout<tp = shard(0)>>>)

// -----

// C1: of a value inside a function
sp.mesh @mesh <dp = 2>
func.func @f() {
  // expected-error @below {{but the mesh has no axis `tp` (C1)}}
  %0 = tensor.empty() : tensor<8xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C2: along the second axis
sp.mesh @mesh <dp = 2, tp = 3>
// expected-error @below {{whose dimension 1 (4) is not divisible by `tp` = 3 (C2)}}
func.func private @f(tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>)

// -----

// C2: an extent that is not known
sp.mesh @mesh <tp = 2>
// expected-error @below {{is not divisible by `tp` = 2 (C2)}}
func.func private @f(tensor<?xf32, #sp.layout<tp = shard(0)>>)

// -----

// C6: each rank its own part, zero elsewhere
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{is an op of localised programs}}
  %0 = sp.local_zero_pad %x over "tp" dim 0 : tensor<8xf32> -> tensor<16xf32>
  return
}

// -----

// C3: each axis on its own: right along dp, wrong along tp
sp.mesh @mesh <dp = 2, tp = 2>
func.func @f(%x: tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>, %w: tensor<6x4xf32>) {
  %0 = sp.copy %w : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<dp = replicate>>
  %1 = sp.copy %0 : tensor<6x4xf32, #sp.layout<dp = replicate>> -> tensor<6x4xf32, #sp.layout<dp = replicate, tp = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp`, but must be shard(1) because operand #0 is shard(1)}}
  %2 = sp.linear %x, %1 : (tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>, tensor<6x4xf32, #sp.layout<dp = replicate, tp = replicate>>) -> tensor<8x6xf32, #sp.layout<dp = shard(0), tp = partial>>
  return
}

// -----

// C3: a weight that is not copied along the axis of the batch: its gradient would lack that sum
sp.mesh @mesh <dp = 2, tp = 2>
func.func @f(%x: tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>, %w: tensor<6x4xf32, #sp.layout<tp = shard(1)>>) {
  // expected-error @below {{operand #1 is invariant along `dp`, but operand #0 is shard(0)}}
  %0 = sp.linear %x, %w : (tensor<8x4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>, tensor<6x4xf32, #sp.layout<tp = shard(1)>>) -> tensor<8x6xf32, #sp.layout<dp = shard(0), tp = partial>>
  return
}

// -----

// C3: a sharded loop that the result lacks, and that is no reduction: each rank
// keeps its own last value, under a type that says they are equal
sp.mesh @mesh <tp = 2>
func.func @f(%h: tensor<8x4xf32, #sp.layout<tp = shard(1)>>) {
  %e = arith.constant dense<0.0> : tensor<8xf32, #sp.layout<tp = replicate>>
  // expected-error @below {{operand #0 is shard(1) along `tp`}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x4xf32, #sp.layout<tp = shard(1)>>) outs(%e : tensor<8xf32, #sp.layout<tp = replicate>>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.addf %a, %o : f32
      linalg.yield %m : f32
  } -> tensor<8xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C3: a diagonal: a rank's rows do not start at column 0
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x8xf32, #sp.layout<tp = shard(0)>>) {
  %e = tensor.empty() : tensor<8xf32, #sp.layout<tp = shard(0)>>
  // expected-error @below {{operand #0 is shard(0) along `tp`, but the op needs that whole dimension}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%s : tensor<8x8xf32, #sp.layout<tp = shard(0)>>) outs(%e : tensor<8xf32, #sp.layout<tp = shard(0)>>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
  } -> tensor<8xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C6: a dropout with the coordinates of a shard gives each rank another mask, under
// a type that says the same on all ranks; sp-localize alone may write `layout`
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{C6}}
  %0 = sp.dropout %x p 0.5 op_id 1 layout <tp = shard(0)> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// C6: a function that claims to be localised has no layouts
sp.mesh @mesh <tp = 2>
// expected-error @below {{C6}}
func.func @f(%x: tensor<8xf32>, %s: tensor<8xf32, #sp.layout<tp = shard(0)>>) -> tensor<4xf32> attributes {sp.collectives = []} {
  %0 = sp.local_slice %x over "tp" dim 0 : tensor<8xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// C4: a block argument, though nothing branches to the block: sp-localize leaves
// its layout
sp.mesh @mesh <tp = 2>
// expected-error @below {{C4}}
func.func @f() {
  return
^bb1(%p: tensor<8xf32, #sp.layout<tp = partial>>):
  return
}

// -----

// C5: a nested module is checked against the outer mesh, not its own
sp.mesh @mesh <tp = 2>
module {
  // expected-error @below {{C5}}
  sp.mesh @mesh <tp = 4>
  func.func private @f(tensor<6xf32, #sp.layout<tp = shard(0)>>)
}

// -----

// C4: a layout inside another encoding counts as invariant
sp.mesh @mesh <tp = 2>
func.func @f() {
  // expected-error @below {{layout}}
  %0 = arith.constant dense<1.0> : tensor<4xf32, [#sp.layout<tp = partial>]>
  return
}

// -----

// C6: an argument that claims a layout without its type saying so: each rank would
// be given another part of an invariant tensor
sp.mesh @mesh <tp = 2>
// expected-error @below {{argument #0 has `sp.layout`, which is for localised functions; write the layout as the type's encoding (C6)}}
func.func @f(%x: tensor<8xf32> {sp.layout = #sp.layout<tp = shard(0)>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// C6
sp.mesh @mesh <tp = 2>
// expected-error @below {{result #0 has `sp.layout`}}
func.func @f(%x: tensor<8xf32>) -> (tensor<8xf32> {sp.layout = #sp.layout<tp = shard(0)>}) {
  return %x : tensor<8xf32>
}

// -----

// C6: a layout inside a function that claims to be localised
sp.mesh @mesh <tp = 2>
func.func @f(%x: tensor<8xf32>) attributes {sp.collectives = []} {
  // expected-error @below {{touches a tensor with a layout in a function that is localised (it has `sp.collectives`) (C6)}}
  %0 = sp.copy %x : tensor<8xf32> -> tensor<8xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C2: a dynamic extent divides nothing
sp.mesh @mesh <tp = 2>
// expected-error @below {{whose dimension 0 (?) is not divisible by `tp` = 2 (C2)}}
func.func private @f(tensor<?xf32, #sp.layout<tp = shard(0)>>)

// -----

sp.mesh @mesh <tp = 2>
// expected-error @below {{result #0 is 'tensor<4xf32, #sp.layout<tp = shard(0)>>', but is the gradient of `w`, which is 'tensor<4xf32>' (C7)}}
func.func @gradient_in_another_layout(%w: tensor<4xf32> {sp.param = "w"})
    -> (tensor<4xf32, #sp.layout<tp = shard(0)>> {sp.result = "grad.w"}) {
  %s = sp.slice %w : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
  return %s : tensor<4xf32, #sp.layout<tp = shard(0)>>
}

// -----

sp.mesh @mesh <tp = 2>
// expected-error @below {{result #0 is 'tensor<4xf32>', but is the new value of `m`, which is 'tensor<4xf32, #sp.layout<tp = shard(0)>>' (C7)}}
func.func @state_in_another_layout(%m: tensor<4xf32, #sp.layout<tp = shard(0)>> {sp.state = "m"})
    -> (tensor<4xf32> {sp.state = "m"}) {
  %s = sp.all_gather %m : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

// C1: one way to write a layout
sp.mesh @mesh <tp = 4, tp.kv = 2, tp.rep = 2>
// expected-error @below {{in which all parts of `tp` are replicate; it must name the axis (C1)}}
func.func private @f(tensor<4x4xf32, #sp.layout<tp.kv = replicate, tp.rep = replicate>>)

// -----

// C3: a rank has two key/value heads, and does not know which is its queries'
sp.mesh @mesh <tp = 4, tp.kv = 2, tp.rep = 2>
func.func @f(%q: tensor<4x1x8x2xf32, #sp.layout<tp = shard(2)>>, %k: tensor<4x1x4x2xf32, #sp.layout<tp.kv = shard(2)>>) {
  %kr = sp.copy %k : tensor<4x1x4x2xf32, #sp.layout<tp.kv = shard(2)>> -> tensor<4x1x4x2xf32, #sp.layout<tp.kv = shard(2), tp.rep = replicate>>
  // expected-error @below {{operand #1 is replicate along `tp.rep`, but must be shard(2)}}
  %0 = sp.attention %q, %kr, %kr scale 1.0 causal : (tensor<4x1x8x2xf32, #sp.layout<tp = shard(2)>>, tensor<4x1x4x2xf32, #sp.layout<tp.kv = shard(2), tp.rep = replicate>>, tensor<4x1x4x2xf32, #sp.layout<tp.kv = shard(2), tp.rep = replicate>>) -> tensor<4x1x8x2xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

// C3: key/value heads on the minor part: rank 1 has the queries of head 0, but head 1
sp.mesh @mesh <tp = 4, tp.rep = 2, tp.kv = 2>
func.func @f(%q: tensor<4x1x4x2xf32, #sp.layout<tp = shard(2)>>, %k: tensor<4x1x2x2xf32, #sp.layout<tp.kv = shard(2)>>) {
  %kr = sp.copy %k : tensor<4x1x2x2xf32, #sp.layout<tp.kv = shard(2)>> -> tensor<4x1x2x2xf32, #sp.layout<tp.rep = replicate, tp.kv = shard(2)>>
  // expected-error @below {{operand #1 is replicate along `tp.rep`, but must be shard(2)}}
  %0 = sp.attention %q, %kr, %kr scale 1.0 causal : (tensor<4x1x4x2xf32, #sp.layout<tp = shard(2)>>, tensor<4x1x2x2xf32, #sp.layout<tp.rep = replicate, tp.kv = shard(2)>>, tensor<4x1x2x2xf32, #sp.layout<tp.rep = replicate, tp.kv = shard(2)>>) -> tensor<4x1x4x2xf32, #sp.layout<tp = shard(2)>>
  return
}

// -----

sp.mesh @mesh <tp = 2>

// Only what makes rows may be sharded.
func.func @unpack_sharded(%x: tensor<4x2x4xf32, #sp.layout<tp = shard(2)>>) {
  // expected-error @below {{is shard(2) along `tp`, but the op needs that whole dimension}}
  %0:2 = sp.unpack %x : (tensor<4x2x4xf32, #sp.layout<tp = shard(2)>>) -> (tensor<4x2x2xf32, #sp.layout<tp = shard(2)>>, tensor<4x2x2xf32, #sp.layout<tp = shard(2)>>)
  return
}
