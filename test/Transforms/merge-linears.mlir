// RUN: sp-opt %s --sp-merge-linears --mlir-print-local-scope --split-input-file | FileCheck -enable-var-scope %s

sp.mesh @mesh <tp = 2>

// A rank's rows of the weight are its rows of each; its columns of the result, of each.
// CHECK-LABEL: func.func @projections
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x2x6xf32, {{[^%]*}} %[[Q:[^:]*]]: tensor{{[^%]*}} %[[K:[^:]*]]: tensor
// CHECK-NEXT:    %[[P:.*]] = sp.pack %[[Q]], %[[K]] : {{.*}} -> tensor<2x36xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    %[[E:.*]] = tensor.expand_shape %[[P]] {{.*}} into tensor<2x6x6xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    %[[W:.*]] = tensor.collapse_shape %[[E]] {{\[\[0, 1\], \[2\]\]}} {{.*}} into tensor<12x6xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    %[[Y:.*]] = sp.linear %[[X]], %[[W]] : {{.*}} -> tensor<4x2x12xf32, #sp.layout<tp = shard(2)>>
// CHECK-NEXT:    %[[R:.*]] = tensor.expand_shape %[[Y]] {{.*}} into tensor<4x2x2x6xf32, #sp.layout<tp = shard(2)>>
// CHECK-NEXT:    %[[U:.*]]:2 = sp.unpack %[[R]] : {{.*}} -> (tensor<4x2x8xf32, #sp.layout<tp = shard(2)>>, tensor<4x2x4xf32, #sp.layout<tp = shard(2)>>)
// CHECK-NEXT:    return %[[U]]#0, %[[U]]#1
func.func @projections(%x: tensor<4x2x6xf32, #sp.layout<tp = replicate>>, %q: tensor<8x6xf32, #sp.layout<tp = shard(0)>>, %k: tensor<4x6xf32, #sp.layout<tp = shard(0)>>) -> (tensor<4x2x8xf32, #sp.layout<tp = shard(2)>>, tensor<4x2x4xf32, #sp.layout<tp = shard(2)>>) {
  %0 = sp.linear %x, %q : (tensor<4x2x6xf32, #sp.layout<tp = replicate>>, tensor<8x6xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x2x8xf32, #sp.layout<tp = shard(2)>>
  %1 = sp.linear %x, %k : (tensor<4x2x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x2x4xf32, #sp.layout<tp = shard(2)>>
  return %0, %1 : tensor<4x2x8xf32, #sp.layout<tp = shard(2)>>, tensor<4x2x4xf32, #sp.layout<tp = shard(2)>>
}

// Biases travel as the weights do; one that has none stays alone.
// CHECK-LABEL: func.func @biases
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x6xf32, {{[^%]*}} %[[V:[^:]*]]: tensor<4x6xf32, {{[^%]*}} %[[W:[^:]*]]: tensor{{[^%]*}} %[[A:[^:]*]]: tensor{{[^%]*}} %[[B:[^:]*]]: tensor
// CHECK:         sp.pack %[[V]], %[[W]]
// CHECK:         %[[P:.*]] = sp.pack %[[A]], %[[B]] : {{.*}} -> tensor<2x4xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    %[[C:.*]] = tensor.collapse_shape %[[P]] {{\[\[0, 1\]\]}} {{.*}} into tensor<8xf32, #sp.layout<tp = shard(0)>>
// CHECK-NEXT:    sp.linear %[[X]], %{{.*}} bias %[[C]]
// CHECK:         sp.linear %[[X]], %[[V]] :
func.func @biases(%x: tensor<4x6xf32, #sp.layout<tp = replicate>>, %v: tensor<4x6xf32, #sp.layout<tp = shard(0)>>, %w: tensor<4x6xf32, #sp.layout<tp = shard(0)>>, %a: tensor<4xf32, #sp.layout<tp = shard(0)>>, %b: tensor<4xf32, #sp.layout<tp = shard(0)>>) -> (tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>) {
  %0 = sp.linear %x, %v bias %a : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  %1 = sp.linear %x, %v : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  %2 = sp.linear %x, %w bias %b : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = shard(0)>>, tensor<4xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  return %0, %1, %2 : tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>
}

// A copy of a weight is made where it is needed; so for the first of them.
// CHECK-LABEL: func.func @copies
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x6xf32, {{[^%]*}} %[[V:[^:]*]]: tensor<4x6xf32>, %[[W:[^:]*]]: tensor
// CHECK-NEXT:    %[[A:.*]] = sp.copy %[[V]]
// CHECK-NEXT:    %[[B:.*]] = sp.copy %[[W]]
// CHECK-NEXT:    sp.pack %[[A]], %[[B]] : {{.*}} -> tensor<1x48xf32, #sp.layout<tp = replicate>>
func.func @copies(%x: tensor<4x6xf32, #sp.layout<tp = replicate>>, %v: tensor<4x6xf32>, %w: tensor<4x6xf32>) -> (tensor<4x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = replicate>>) {
  %a = sp.copy %v : tensor<4x6xf32> -> tensor<4x6xf32, #sp.layout<tp = replicate>>
  %0 = sp.linear %x, %a : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = replicate>>) -> tensor<4x4xf32, #sp.layout<tp = replicate>>
  %b = sp.copy %w : tensor<4x6xf32> -> tensor<4x6xf32, #sp.layout<tp = replicate>>
  %1 = sp.linear %x, %b : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = replicate>>) -> tensor<4x4xf32, #sp.layout<tp = replicate>>
  return %0, %1 : tensor<4x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = replicate>>
}

// Row parallel; of other layouts; of another operand; with a weight computed behind the first.
// CHECK-LABEL: func.func @apart
// CHECK-NOT:     sp.pack
// CHECK:         return
func.func @apart(%x: tensor<4x6xf32, #sp.layout<tp = shard(1)>>, %v: tensor<4x6xf32, #sp.layout<tp = shard(1)>>, %w: tensor<4x6xf32, #sp.layout<tp = shard(1)>>,
                 %y: tensor<4x6xf32, #sp.layout<tp = replicate>>, %a: tensor<4x6xf32, #sp.layout<tp = replicate>>, %b: tensor<4x6xf32, #sp.layout<tp = shard(0)>>,
                 %z: tensor<4x6xf32, #sp.layout<tp = replicate>>) -> (tensor<4x4xf32, #sp.layout<tp = partial>>, tensor<4x4xf32, #sp.layout<tp = partial>>, tensor<4x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = replicate>>) {
  %0 = sp.linear %x, %v : (tensor<4x6xf32, #sp.layout<tp = shard(1)>>, tensor<4x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<4x4xf32, #sp.layout<tp = partial>>
  %1 = sp.linear %x, %w : (tensor<4x6xf32, #sp.layout<tp = shard(1)>>, tensor<4x6xf32, #sp.layout<tp = shard(1)>>) -> tensor<4x4xf32, #sp.layout<tp = partial>>
  %2 = sp.linear %y, %a : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = replicate>>) -> tensor<4x4xf32, #sp.layout<tp = replicate>>
  %3 = sp.linear %y, %b : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  %4 = sp.linear %z, %a : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = replicate>>) -> tensor<4x4xf32, #sp.layout<tp = replicate>>
  %later = arith.addf %a, %y : tensor<4x6xf32, #sp.layout<tp = replicate>>
  %late = arith.mulf %later, %a : tensor<4x6xf32, #sp.layout<tp = replicate>>
  %5 = sp.linear %y, %late : (tensor<4x6xf32, #sp.layout<tp = replicate>>, tensor<4x6xf32, #sp.layout<tp = replicate>>) -> tensor<4x4xf32, #sp.layout<tp = replicate>>
  return %0, %1, %2, %3, %4, %5 : tensor<4x4xf32, #sp.layout<tp = partial>>, tensor<4x4xf32, #sp.layout<tp = partial>>, tensor<4x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = replicate>>, tensor<4x4xf32, #sp.layout<tp = replicate>>
}

// A weight that another linear of the operand makes: the first, or a later one.
// CHECK-LABEL: func.func @weight_from_the_first
// CHECK-NOT:     sp.pack
// CHECK:         return
func.func @weight_from_the_first(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = sp.linear %x, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = sp.linear %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @weight_from_another
// CHECK:         %[[PARTS:.*]]:2 = sp.unpack
// CHECK:         sp.linear %{{.*}}, %[[PARTS]]#1
func.func @weight_from_another(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = sp.linear %x, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = sp.linear %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sp.linear %x, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Of no tokens.
// CHECK-LABEL: func.func @empty
// CHECK:         sp.unpack {{.*}} : (tensor<0x1x6xf32>) -> (tensor<0x4xf32>, tensor<0x2xf32>)
func.func @empty(%x: tensor<0x6xf32>, %v: tensor<4x6xf32>, %w: tensor<2x6xf32>) -> (tensor<0x4xf32>, tensor<0x2xf32>) {
  %0 = sp.linear %x, %v : (tensor<0x6xf32>, tensor<4x6xf32>) -> tensor<0x4xf32>
  %1 = sp.linear %x, %w : (tensor<0x6xf32>, tensor<2x6xf32>) -> tensor<0x2xf32>
  return %0, %1 : tensor<0x4xf32>, tensor<0x2xf32>
}

// -----

// A shard of all there is takes two pieces, as no reshape carries a shard of a dimension of 1;
// one feature cannot be cut.
sp.mesh @mesh <tp = 1>

// CHECK-LABEL: func.func @one_rank
// CHECK:         sp.pack %{{[^,]*}}, %{{[^,]*}} : {{.*}} -> tensor<2x6xf32, #sp.layout<tp = shard(0)>>
// CHECK:         sp.linear {{.*}} -> tensor<4x6xf32
// CHECK:         sp.linear {{.*}} -> tensor<4x1xf32
func.func @one_rank(%x: tensor<4x2xf32, #sp.layout<tp = replicate>>, %v: tensor<2x2xf32, #sp.layout<tp = shard(0)>>, %w: tensor<4x2xf32, #sp.layout<tp = shard(0)>>, %u: tensor<1x2xf32, #sp.layout<tp = shard(0)>>) -> (tensor<4x2xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x1xf32, #sp.layout<tp = shard(1)>>) {
  %0 = sp.linear %x, %v : (tensor<4x2xf32, #sp.layout<tp = replicate>>, tensor<2x2xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x2xf32, #sp.layout<tp = shard(1)>>
  %1 = sp.linear %x, %w : (tensor<4x2xf32, #sp.layout<tp = replicate>>, tensor<4x2xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  %2 = sp.linear %x, %u : (tensor<4x2xf32, #sp.layout<tp = replicate>>, tensor<1x2xf32, #sp.layout<tp = shard(0)>>) -> tensor<4x1xf32, #sp.layout<tp = shard(1)>>
  return %0, %1, %2 : tensor<4x2xf32, #sp.layout<tp = shard(1)>>, tensor<4x4xf32, #sp.layout<tp = shard(1)>>, tensor<4x1xf32, #sp.layout<tp = shard(1)>>
}

// -----

// Without a mesh
// CHECK-LABEL: func.func @unsharded
// CHECK-SAME:    %[[X:[^:]*]]: tensor
// CHECK:         sp.pack {{.*}} -> tensor<1x6xf32>
// CHECK:         sp.linear %[[X]], {{.*}} -> tensor<4x3xf32>
// CHECK:         sp.unpack {{.*}} : (tensor<4x1x3xf32>) -> (tensor<4x1xf32>, tensor<4x2xf32>)
func.func @unsharded(%x: tensor<4x2xf32>, %v: tensor<1x2xf32>, %w: tensor<2x2xf32>) -> (tensor<4x1xf32>, tensor<4x2xf32>) {
  %0 = sp.linear %x, %v : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<4x1xf32>
  %1 = sp.linear %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %0, %1 : tensor<4x1xf32>, tensor<4x2xf32>
}
