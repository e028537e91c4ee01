// RUN: sp-opt %s --sp-optimize-collectives --sp-verify-layouts --mlir-print-local-scope | FileCheck %s

sp.mesh @mesh <tp = 2>

// Equal gathers become one; one to another type stays.
// CHECK-LABEL: func.func @gathers
// CHECK-SAME:    %[[X:[^:]*]]: tensor
func.func @gathers(%x: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> (tensor<6x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  // CHECK-NEXT: %[[R:.*]] = sp.all_gather %[[X]] : {{.*}} -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %0 = sp.all_gather %x : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %1 = sp.all_gather %x : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  // CHECK-NEXT: %[[I:.*]] = sp.all_gather %[[X]] : {{.*}} -> tensor<6x4xf32>
  %2 = sp.all_gather %x : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32>
  // CHECK-NEXT: %[[A:.*]] = arith.addf %[[R]], %[[R]]
  %3 = arith.addf %0, %1 : tensor<6x4xf32, #sp.layout<tp = replicate>>
  %4 = sp.slice %3 : tensor<6x4xf32, #sp.layout<tp = replicate>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  return %2, %4 : tensor<6x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>
}

// Nothing else merges them: not one of upstream's clean-ups.
// RUN: sp-opt %s -cse -canonicalize -control-flow-sink -sccp -loop-invariant-code-motion | FileCheck %s --check-prefix=UPSTREAM
// UPSTREAM-LABEL: func.func @gathers
// UPSTREAM-COUNT-3: sp.all_gather
// UPSTREAM-NOT:     sp.all_gather
