// RUN: sp-opt %s --split-input-file --sp-localize --verify-diagnostics

// C1: what does not verify is not localised, because afterwards nothing would tell.
sp.mesh @mesh <tp = 2>
func.func @add_replicate_to_partial(%x: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<6x4xf32> {
  // expected-note @below {{operand #0 has type}}
  %0 = sp.zero_pad %x : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  // expected-error @below {{operand #0 is partial along `tp`, but the op is not linear in its partial operands}}
  %1 = math.exp %0 : tensor<6x4xf32, #sp.layout<tp = partial>>
  %2 = sp.all_reduce %1 : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// -----

// C1
sp.mesh @mesh <tp = 4>
// expected-error @below {{dimension 0 (6) is not divisible by `tp` = 4}}
func.func @divides(%x: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  return
}
