// Upstream passes change layouts silently: what they leave does not verify, and the
// programs they started from did not either.

// RUN: not sp-opt %s --sp-verify-layouts 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE: error: 'linalg.generic' op operand #1 is invariant along `tp`, but operand #0 is partial

// -canonicalize turns a copying generic with mixed types into a tensor.cast from
// partial to invariant.
// RUN: sp-opt %s -canonicalize | FileCheck %s --check-prefix=CANONICALIZE
// RUN: not sp-opt %s -canonicalize --sp-verify-layouts 2>&1 | FileCheck %s --check-prefix=CAST
// CANONICALIZE: tensor.cast %{{.*}} : tensor<8x4xf32, #sp.layout<tp = partial>> to tensor<8x4xf32>
// CAST: error: 'tensor.cast' op touches a tensor with a layout, but has no layout rule (C3)


