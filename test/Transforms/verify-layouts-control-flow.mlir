// RUN: sp-opt %s --sp-verify-layouts --verify-roundtrip -o /dev/null

sp.mesh @mesh <dp = 2, tp = 2>

!xs = tensor<8x2x4xf32, #sp.layout<tp = shard(0)>>

// Work under uniform control flow is checked like all other.
func.func @inside_if(%x: !xs, %c: i1) {
  scf.if %c {
    %0 = sp.scale %x by 2.0 : (!xs) -> !xs
  }
  return
}
