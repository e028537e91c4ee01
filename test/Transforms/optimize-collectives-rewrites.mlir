// RUN: sp-opt %s --sp-optimize-collectives --sp-verify-layouts --mlir-print-local-scope --split-input-file | FileCheck -enable-var-scope %s
// RUN: sp-opt %s --sp-optimize-collectives=coalesce-bytes=0 --sp-verify-layouts --split-input-file | FileCheck %s --check-prefix=APART

sp.mesh @mesh <tp = 2>

// Only one shard of the sum is read.
// CHECK-LABEL: func.func @scatter
// CHECK-NEXT:    %[[X:.*]] = sp.zero_pad
// CHECK-NEXT:    %[[S:.*]] = sp.reduce_scatter %[[X]] : {{.*}} -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    return %[[S]], %[[S]], %[[S]]
func.func @scatter(%x_shard: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> (tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>) {
  %x = sp.zero_pad %x_shard : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %0 = sp.all_reduce %x : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32>
  %1 = sp.slice %0 : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %2 = sp.copy %0 : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %3 = sp.slice %2 : tensor<6x4xf32, #sp.layout<tp = replicate>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %4 = sp.slice %0 : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  return %1, %3, %4 : tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>
}

// Something reads all of it, or two different shards.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-2: sp.all_reduce
// CHECK-NOT:     sp.reduce_scatter
// CHECK:         return
func.func @stays(%x_shard: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %y_shard: tensor<6x4xf64, #sp.layout<tp = shard(0)>>) -> (tensor<6x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf64, #sp.layout<tp = shard(0)>>, tensor<6x4xf64, #sp.layout<tp = shard(1)>>) {
  %x = sp.zero_pad %x_shard : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %y = sp.zero_pad %y_shard : tensor<6x4xf64, #sp.layout<tp = shard(0)>> -> tensor<6x4xf64, #sp.layout<tp = partial>>
  %0 = sp.all_reduce %x : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32>
  %1 = sp.slice %0 : tensor<6x4xf32> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %2 = sp.all_reduce %y : tensor<6x4xf64, #sp.layout<tp = partial>> -> tensor<6x4xf64>
  %3 = sp.slice %2 : tensor<6x4xf64> -> tensor<6x4xf64, #sp.layout<tp = shard(0)>>
  %4 = sp.slice %2 : tensor<6x4xf64> -> tensor<6x4xf64, #sp.layout<tp = shard(1)>>
  return %0, %1, %3, %4 : tensor<6x4xf32>, tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf64, #sp.layout<tp = shard(0)>>, tensor<6x4xf64, #sp.layout<tp = shard(1)>>
}

// A gather of what was scattered stays that: its shard is read, too.
// CHECK-LABEL: func.func @never_back
// CHECK:         sp.reduce_scatter
// CHECK-NEXT:    sp.all_gather
// CHECK-NOT:     sp.all_reduce
// CHECK:         return
func.func @never_back(%x_shard: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<6x4xf32> {
  %x = sp.zero_pad %x_shard : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %0 = sp.reduce_scatter %x : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %1 = sp.all_gather %0 : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// Three summands are added before one reduction, in the order of the program.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT:    %[[A:.*]] = sp.zero_pad
// CHECK-NEXT:    %[[B:.*]] = sp.zero_pad
// CHECK-NEXT:    %[[C:.*]] = sp.zero_pad
// CHECK-NEXT:    %[[AB:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT:    %[[ABC:.*]] = arith.addf %[[AB]], %[[C]] : tensor<6x4xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[S:.*]] = sp.reduce_scatter %[[ABC]]
// CHECK-NEXT:    return %[[S]]
func.func @sum(%a_shard: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %b_shard: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %c_shard: tensor<6x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<6x4xf32, #sp.layout<tp = shard(0)>> {
  %a = sp.zero_pad %a_shard : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %b = sp.zero_pad %b_shard : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %c = sp.zero_pad %c_shard : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %0 = sp.reduce_scatter %a : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %1 = sp.reduce_scatter %b : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %2 = arith.addf %0, %1 : tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %3 = sp.reduce_scatter %c : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %4 = arith.addf %2, %3 : tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  return %4 : tensor<6x4xf32, #sp.layout<tp = shard(0)>>
}

// A summand that is read on its own is reduced on its own.
// CHECK-LABEL: func.func @sum_and_summand
// CHECK-COUNT-2: sp.reduce_scatter
// CHECK:         arith.addf {{.*}}shard(0)
func.func @sum_and_summand(%a_shard: tensor<600x40xf32, #sp.layout<tp = shard(0)>>, %b_shard: tensor<600x40xf32, #sp.layout<tp = shard(0)>>) -> (tensor<600x40xf32, #sp.layout<tp = shard(0)>>, tensor<600x40xf32, #sp.layout<tp = shard(0)>>) {
  %a = sp.zero_pad %a_shard : tensor<600x40xf32, #sp.layout<tp = shard(0)>> -> tensor<600x40xf32, #sp.layout<tp = partial>>
  %b = sp.zero_pad %b_shard : tensor<600x40xf32, #sp.layout<tp = shard(0)>> -> tensor<600x40xf32, #sp.layout<tp = partial>>
  %0 = sp.reduce_scatter %a : tensor<600x40xf32, #sp.layout<tp = partial>> -> tensor<600x40xf32, #sp.layout<tp = shard(0)>>
  %1 = sp.reduce_scatter %b : tensor<600x40xf32, #sp.layout<tp = partial>> -> tensor<600x40xf32, #sp.layout<tp = shard(0)>>
  %2 = arith.addf %0, %1 : tensor<600x40xf32, #sp.layout<tp = shard(0)>>
  return %2, %0 : tensor<600x40xf32, #sp.layout<tp = shard(0)>>, tensor<600x40xf32, #sp.layout<tp = shard(0)>>
}

// -----

sp.mesh @mesh <tp = 2>

// Small sums that do not need each other travel together; the large one and the
// one that needs another go alone.
// CHECK-LABEL: func.func @small
// CHECK-NEXT:    %[[A:.*]] = sp.zero_pad
// CHECK-NEXT:    %[[B:.*]] = sp.zero_pad
// CHECK-NEXT:    %[[L:.*]] = sp.zero_pad
// CHECK-NEXT:    sp.all_reduce %[[L]]
// CHECK-NEXT:    %[[P:.*]] = sp.pack %[[A]], %[[B]] : ({{.*}}) -> tensor<6xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    %[[R:.*]] = sp.all_reduce %[[P]] : {{.*}} -> tensor<6xf32>
// CHECK-NEXT:    %[[U:.*]]:2 = sp.unpack %[[R]] : (tensor<6xf32>) -> (tensor<2xf32>, tensor<4xf32>)
// CHECK-NEXT:    sp.copy %[[U]]#0
// CHECK:         sp.all_reduce
// CHECK-NOT:     sp.all_reduce
// CHECK:         return
// APART-LABEL: func.func @small
// APART-COUNT-4: sp.all_reduce
func.func @small(%a_shard: tensor<2xf32, #sp.layout<tp = shard(0)>>, %b_shard: tensor<4xf32, #sp.layout<tp = shard(0)>>, %l_shard: tensor<5000xf32, #sp.layout<tp = shard(0)>>) -> (tensor<2xf32>, tensor<4xf32>, tensor<5000xf32>) {
  %a = sp.zero_pad %a_shard : tensor<2xf32, #sp.layout<tp = shard(0)>> -> tensor<2xf32, #sp.layout<tp = partial>>
  %b = sp.zero_pad %b_shard : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  %l = sp.zero_pad %l_shard : tensor<5000xf32, #sp.layout<tp = shard(0)>> -> tensor<5000xf32, #sp.layout<tp = partial>>
  %0 = sp.all_reduce %a : tensor<2xf32, #sp.layout<tp = partial>> -> tensor<2xf32>
  %1 = sp.all_reduce %l : tensor<5000xf32, #sp.layout<tp = partial>> -> tensor<5000xf32>
  %2 = sp.all_reduce %b : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32>
  %3 = sp.copy %0 : tensor<2xf32> -> tensor<2xf32, #sp.layout<tp = replicate>>
  %4 = sp.mul %a, %3 : (tensor<2xf32, #sp.layout<tp = partial>>, tensor<2xf32, #sp.layout<tp = replicate>>) -> tensor<2xf32, #sp.layout<tp = partial>>
  %5 = sp.all_reduce %4 : tensor<2xf32, #sp.layout<tp = partial>> -> tensor<2xf32>
  return %5, %2, %1 : tensor<2xf32>, tensor<4xf32>, tensor<5000xf32>
}

// Shards of first dimensions travel as the rows of one matrix, both ways; other
// shards, and what leaves with another layout, do not.
// CHECK-LABEL: func.func @rows
// CHECK:         sp.pack {{.*}} -> tensor<2x16xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    sp.all_gather {{.*}} -> tensor<2x16xf32, #sp.layout<tp = replicate>>
// CHECK-NEXT:    sp.unpack {{.*}} -> (tensor<6x4xf32, #sp.layout<tp = replicate>>, tensor<8xf32, #sp.layout<tp = replicate>>)
// CHECK-COUNT-2: sp.all_gather {{.*}} -> tensor<{{6x4|8}}xf32>
// CHECK-NEXT:    sp.pack {{.*}} -> tensor<2x16xf32, #sp.layout<tp = partial>>
// CHECK-NEXT:    sp.reduce_scatter {{.*}} -> tensor<2x16xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    sp.unpack {{.*}} -> (tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<8xf32, #sp.layout<tp = shard(0)>>)
// CHECK-NOT:     sp.pack
// CHECK:         return
func.func @rows(%x: tensor<6x4xf32, #sp.layout<tp = shard(0)>>, %y: tensor<8xf32, #sp.layout<tp = shard(0)>>, %z: tensor<6x4xf32, #sp.layout<tp = shard(1)>>, %v: tensor<8xf32, #sp.layout<tp = shard(0)>>) -> (tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<8xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32>, tensor<8xf32>) {
  %0 = sp.all_gather %x : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = replicate>>
  %1 = sp.all_gather %y : tensor<8xf32, #sp.layout<tp = shard(0)>> -> tensor<8xf32, #sp.layout<tp = replicate>>
  %2 = sp.zero_pad %x : tensor<6x4xf32, #sp.layout<tp = shard(0)>> -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %3 = sp.zero_pad %y : tensor<8xf32, #sp.layout<tp = shard(0)>> -> tensor<8xf32, #sp.layout<tp = partial>>
  %4 = sp.mul %2, %0 : (tensor<6x4xf32, #sp.layout<tp = partial>>, tensor<6x4xf32, #sp.layout<tp = replicate>>) -> tensor<6x4xf32, #sp.layout<tp = partial>>
  %5 = sp.mul %3, %1 : (tensor<8xf32, #sp.layout<tp = partial>>, tensor<8xf32, #sp.layout<tp = replicate>>) -> tensor<8xf32, #sp.layout<tp = partial>>
  %6 = sp.reduce_scatter %4 : tensor<6x4xf32, #sp.layout<tp = partial>> -> tensor<6x4xf32, #sp.layout<tp = shard(0)>>
  %7 = sp.reduce_scatter %5 : tensor<8xf32, #sp.layout<tp = partial>> -> tensor<8xf32, #sp.layout<tp = shard(0)>>
  %8 = sp.all_gather %z : tensor<6x4xf32, #sp.layout<tp = shard(1)>> -> tensor<6x4xf32>
  %9 = sp.all_gather %v : tensor<8xf32, #sp.layout<tp = shard(0)>> -> tensor<8xf32>
  return %6, %7, %8, %9 : tensor<6x4xf32, #sp.layout<tp = shard(0)>>, tensor<8xf32, #sp.layout<tp = shard(0)>>, tensor<6x4xf32>, tensor<8xf32>
}
