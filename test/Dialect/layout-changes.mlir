// RUN: sp-opt %s --verify-roundtrip | FileCheck %s

// Every row of the table of layout changes: what each op may turn into what.

!i = tensor<8x4xf32>
!r = tensor<8x4xf32, #sp.layout<tp = replicate>>
!s0 = tensor<8x4xf32, #sp.layout<tp = shard(0)>>
!s1 = tensor<8x4xf32, #sp.layout<tp = shard(1)>>
!p = tensor<8x4xf32, #sp.layout<tp = partial>>

// CHECK-LABEL: func.func @copy
// CHECK-NEXT:    sp.copy %{{.*}} : tensor<8x4xf32> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
func.func @copy(%x: !i) -> !r {
  %0 = sp.copy %x : !i -> !r
  return %0 : !r
}

// CHECK-LABEL: func.func @slice
// CHECK-NEXT:    sp.slice %{{.*}} : tensor<8x4xf32> -> tensor<8x4xf32, #sp.layout<tp = shard(1)>>
// CHECK-NEXT:    sp.slice %{{.*}} : tensor<8x4xf32, #sp.layout<tp = replicate>> -> tensor<8x4xf32, #sp.layout<tp = shard(1)>>
func.func @slice(%x: !i, %y: !r) -> (!s1, !s1) {
  %0 = sp.slice %x : !i -> !s1
  %1 = sp.slice %y : !r -> !s1
  return %0, %1 : !s1, !s1
}

// CHECK-LABEL: func.func @zero_pad
// CHECK-NEXT:    sp.zero_pad %{{.*}} : tensor<8x4xf32, #sp.layout<tp = shard(1)>> -> tensor<8x4xf32, #sp.layout<tp = partial>>
func.func @zero_pad(%x: !s1) -> !p {
  %0 = sp.zero_pad %x : !s1 -> !p
  return %0 : !p
}

// CHECK-LABEL: func.func @all_reduce
// CHECK-NEXT:    sp.all_reduce %{{.*}} : tensor<8x4xf32, #sp.layout<tp = partial>> -> tensor<8x4xf32>
func.func @all_reduce(%x: !p) -> !i {
  %0 = sp.all_reduce %x : !p -> !i
  return %0 : !i
}

// To any dimension.
// CHECK-LABEL: func.func @reduce_scatter
// CHECK-NEXT:    sp.reduce_scatter %{{.*}} : tensor<8x4xf32, #sp.layout<tp = partial>> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    sp.reduce_scatter %{{.*}} : tensor<8x4xf32, #sp.layout<tp = partial>> -> tensor<8x4xf32, #sp.layout<tp = shard(1)>>
func.func @reduce_scatter(%x: !p) -> (!s0, !s1) {
  %0 = sp.reduce_scatter %x : !p -> !s0
  %1 = sp.reduce_scatter %x : !p -> !s1
  return %0, %1 : !s0, !s1
}

// CHECK-LABEL: func.func @all_gather
// CHECK-NEXT:    sp.all_gather %{{.*}} : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = replicate>>
// CHECK-NEXT:    sp.all_gather %{{.*}} : tensor<8x4xf32, #sp.layout<tp = shard(0)>> -> tensor<8x4xf32>
func.func @all_gather(%x: !s0) -> (!r, !i) {
  %0 = sp.all_gather %x : !s0 -> !r
  %1 = sp.all_gather %x : !s0 -> !i
  return %0, %1 : !r, !i
}

// What the other axes hold goes through.
// CHECK-LABEL: func.func @other_axis
func.func @other_axis(%x: tensor<8x4xf32, #sp.layout<dp = partial>>, %y: tensor<8x4xf32, #sp.layout<dp = shard(1), tp = partial>>) {
  // CHECK: sp.slice %{{.*}} -> tensor<8x4xf32, #sp.layout<dp = partial, tp = shard(0)>>
  %0 = sp.slice %x : tensor<8x4xf32, #sp.layout<dp = partial>> -> tensor<8x4xf32, #sp.layout<dp = partial, tp = shard(0)>>
  // CHECK: sp.reduce_scatter %{{.*}} -> tensor<8x4xf32, #sp.layout<dp = shard(1), tp = shard(0)>>
  %1 = sp.reduce_scatter %y : tensor<8x4xf32, #sp.layout<dp = shard(1), tp = partial>> -> tensor<8x4xf32, #sp.layout<dp = shard(1), tp = shard(0)>>
  // CHECK: sp.all_reduce %{{.*}} -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  %2 = sp.all_reduce %0 : tensor<8x4xf32, #sp.layout<dp = partial, tp = shard(0)>> -> tensor<8x4xf32, #sp.layout<tp = shard(0)>>
  return
}

// All element types.
// CHECK-LABEL: func.func @element_types
// CHECK-SAME:    tensor<8xbf16>
// CHECK-SAME:    tensor<8xf64>
// CHECK-SAME:    tensor<8xi64>
func.func @element_types(%a: tensor<8xbf16>, %b: tensor<8xf64>, %c: tensor<8xi64>) {
  // CHECK-COUNT-3: sp.copy
  %0 = sp.copy %a : tensor<8xbf16> -> tensor<8xbf16, #sp.layout<tp = replicate>>
  %1 = sp.copy %b : tensor<8xf64> -> tensor<8xf64, #sp.layout<tp = replicate>>
  %2 = sp.copy %c : tensor<8xi64> -> tensor<8xi64, #sp.layout<tp = replicate>>
  return
}

// A dead collective can be erased, a pure change too; equal copies merge, equal
// collectives do not.
// RUN: sp-opt %s -cse -canonicalize | FileCheck %s --check-prefix=EFFECTS
// EFFECTS-LABEL: func.func @effects
// EFFECTS-NEXT:    sp.copy
// EFFECTS-NEXT:    sp.all_gather
// EFFECTS-NEXT:    sp.all_gather
// EFFECTS-NEXT:    return
func.func @effects(%x: !i, %s: !s0) -> (!r, !r, !r, !r) {
  %dead0 = sp.slice %x : !i -> !s0
  %dead1 = sp.all_gather %s : !s0 -> !i
  %0 = sp.copy %x : !i -> !r
  %1 = sp.copy %x : !i -> !r
  %2 = sp.all_gather %s : !s0 -> !r
  %3 = sp.all_gather %s : !s0 -> !r
  return %0, %1, %2, %3 : !r, !r, !r, !r
}
