// RUN: sp-opt %s --sp-tensor-parallel=tp=4 --sp-pad-sequence="min-tokens=6" | FileCheck %s --check-prefix=MANY
// RUN: sp-opt %s --sp-tensor-parallel=tp=4 --sp-pad-sequence="min-tokens=7" | FileCheck %s --check-prefix=FEW
// RUN: sp-opt %s --sp-parallelize="tp=4 pad-sequence=true min-tokens=7" 2>&1 | FileCheck %s --check-prefixes=FEW,SAID

// Where there are too few tokens for sequence parallelism, nothing needs padding. The
// other pass says why.
// MANY: sp.pad
// SAID: stays tensor parallel: 6 tokens are fewer than min-tokens = 7
// FEW-LABEL: func.func @padded_for_nothing
// FEW-NOT: sp.pad
// FEW: return
func.func @padded_for_nothing(%x: tensor<3x2x8xf32>, %w1: tensor<16x8xf32>, %w2: tensor<8x16xf32>) -> tensor<3x2x8xf32> {
  %h = sp.linear %x, %w1 : (tensor<3x2x8xf32>, tensor<16x8xf32>) -> tensor<3x2x16xf32>
  %o = sp.linear %h, %w2 : (tensor<3x2x16xf32>, tensor<8x16xf32>) -> tensor<3x2x8xf32>
  return %o : tensor<3x2x8xf32>
}
