// The life cycle of a block, in both forms.
// RUN: sp-opt %S/Inputs/block.mlir --sp-parallelize="tp=2 shared-entry-gathers=false" --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,TEXTBOOK
// RUN: sp-opt %S/Inputs/block.mlir --sp-parallelize="tp=2" | FileCheck %s --check-prefixes=CHECK,SHARED
// RUN: sp-opt %S/Inputs/block.mlir --sp-parallelize="tp=2 sequence-parallel=false shared-entry-gathers=false" | FileCheck %s --check-prefix=TP

// CHECK-LABEL: func.func @block
// CHECK-SAME:    %[[H:[^:]*]]: tensor<16x2x64xf32> {sp.input = "h"}
// CHECK:         %[[H0:.*]] = sp.slice %[[H]] : {{.*}} -> tensor<16x2x64xf32, #sp.layout<tp = shard(0)>>
// CHECK:         %[[N1:.*]] = sp.rms_norm %[[H0]]

// Attention: 3 all-gathers + 1 reduce-scatter in the textbook form, 1 + 1 shared.
// TEXTBOOK:      %[[GQ:.*]] = sp.all_gather %[[N1]] : {{.*}} -> tensor<16x2x64xf32, #sp.layout<tp = replicate>>
// TEXTBOOK-NEXT: %[[Q:.*]] = sp.linear %[[GQ]]
// TEXTBOOK-NEXT: %[[GK:.*]] = sp.all_gather %[[N1]]
// TEXTBOOK-NEXT: %[[K:.*]] = sp.linear %[[GK]]
// TEXTBOOK-NEXT: %[[GV:.*]] = sp.all_gather %[[N1]]
// TEXTBOOK-NEXT: %[[V:.*]] = sp.linear %[[GV]]
// SHARED:        %[[G:.*]] = sp.all_gather %[[N1]]
// SHARED-NEXT:   %[[Q:.*]] = sp.linear %[[G]]
// SHARED-NEXT:   %[[K:.*]] = sp.linear %[[G]]
// SHARED-NEXT:   %[[V:.*]] = sp.linear %[[G]]
// QK-norm and rope are on head-sharded data: no collective between here and attention.
// CHECK-NOT:     sp.all_gather
// CHECK:         sp.attention
// CHECK-SAME:      -> tensor<16x2x4x16xf32, #sp.layout<tp = shard(2)>>
// CHECK:         %[[O:.*]] = sp.linear {{.*}} -> tensor<16x2x64xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[RS1:.*]] = sp.reduce_scatter %[[O]] : {{.*}} -> tensor<16x2x64xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    %[[H1:.*]] = arith.addf %[[H0]], %[[RS1]]

// SwiGLU MLP: 2 all-gathers + 1 reduce-scatter in the textbook form, 1 + 1 shared.
// CHECK:         %[[N2:.*]] = sp.rms_norm %[[H1]]
// TEXTBOOK:      %[[GG:.*]] = sp.all_gather %[[N2]]
// TEXTBOOK-NEXT: sp.linear %[[GG]]
// TEXTBOOK-NEXT: %[[GU:.*]] = sp.all_gather %[[N2]]
// TEXTBOOK-NEXT: sp.linear %[[GU]]
// SHARED:        %[[GM:.*]] = sp.all_gather %[[N2]]
// SHARED-NEXT:   sp.linear %[[GM]]
// SHARED-NEXT:   sp.linear %[[GM]]
// CHECK-NOT:     sp.all_gather
// CHECK:         sp.swiglu
// CHECK-NEXT:    %[[D:.*]] = sp.linear
// CHECK-NEXT:    %[[RS2:.*]] = sp.reduce_scatter %[[D]]
// CHECK-NEXT:    %[[Y:.*]] = arith.addf %[[H1]], %[[RS2]]
// CHECK-NOT:     sp.all_gather
// CHECK:         return %[[Y]] : tensor<16x2x64xf32, #sp.layout<tp = shard(0)>>

// Without sequence parallelism: 2 all-reduces, a copy at each column linear.
// TP-LABEL: func.func @block
// TP-NOT:     sp.all_gather
// TP-NOT:     sp.reduce_scatter
// TP:         sp.all_reduce
// TP:         sp.all_reduce
// TP-NOT:     sp.all_reduce
