// RUN: sp-opt %s --split-input-file --verify-diagnostics

// C2 of each layout change: a wrong origin and a wrong target.

func.func @f(%x: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes shard(0) to replicate along `tp`, must change invariant to replicate (C2)}}
  %0 = sp.copy %x : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{changes invariant to partial along `tp`, must change invariant to replicate (C2)}}
  %0 = sp.copy %x : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = partial>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{changes partial to shard(0) along `tp`, must change invariant or replicate to shard(d) (C2)}}
  %0 = sp.slice %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{changes invariant to replicate along `tp`, must change invariant or replicate to shard(d) (C2)}}
  %0 = sp.slice %x : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{changes invariant to partial along `tp`, must change shard(d) to partial (C2)}}
  %0 = sp.zero_pad %x : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = partial>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes shard(0) to replicate along `tp`, must change shard(d) to partial (C2)}}
  %0 = sp.zero_pad %x : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = replicate>>) {
  // expected-error @below {{changes replicate to invariant along `tp`, must change partial to invariant (C2)}}
  %0 = sp.all_reduce %x : tensor<4xf32, #sp.layout<tp = replicate>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{changes partial to replicate along `tp`, must change partial to invariant (C2)}}
  %0 = sp.all_reduce %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = replicate>>) {
  // expected-error @below {{changes replicate to shard(0) along `tp`, must change partial to shard(d) (C2)}}
  %0 = sp.reduce_scatter %x : tensor<4xf32, #sp.layout<tp = replicate>> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{changes partial to invariant along `tp`, must change partial to shard(d) (C2)}}
  %0 = sp.reduce_scatter %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{changes partial to replicate along `tp`, must change shard(d) to replicate or invariant (C2)}}
  %0 = sp.all_gather %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes shard(0) to shard(1) along `tp`, must change shard(d) to replicate or invariant (C2)}}
  %0 = sp.all_gather %x : tensor<4x4xf32, #sp.layout<tp = shard(0)>> -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  return
}

// -----

// C1: nothing else changes
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{changes the shape or element type from 'tensor<4xf32>' to 'tensor<2xf32, #sp.layout<tp = shard(0)>>', must change only the layout (C1)}}
  %0 = sp.slice %x : tensor<4xf32> -> tensor<2xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{must change only the layout (C1)}}
  %0 = sp.copy %x : tensor<4xf32> -> tensor<4xf64, #sp.layout<tp = replicate>>
  return
}

// -----

// C1: exactly one axis
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{changes the layout along 2 axes, must change exactly one (C1)}}
  %0 = sp.copy %x : tensor<4xf32> -> tensor<4xf32, #sp.layout<dp = replicate, tp = replicate>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{changes the layout along 0 axes, must change exactly one (C1)}}
  %0 = sp.copy %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

// C1: a slice keeps the global shape, so does a gather
func.func @f(%x: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{must change only the layout (C1)}}
  %0 = sp.all_gather %x : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{must change only the layout (C1)}}
  %0 = sp.zero_pad %x : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<8xf32, #sp.layout<tp = partial>>
  return
}

// -----

// C1: a reduction in another precision
func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{must change only the layout (C1)}}
  %0 = sp.all_reduce %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xbf16>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{must change only the layout (C1)}}
  %0 = sp.reduce_scatter %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf64, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C1: a rank
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{must change only the layout (C1)}}
  %0 = sp.copy %x : tensor<4xf32> -> tensor<1x4xf32, #sp.layout<tp = replicate>>
  return
}

// -----

// C1: no change, of a tensor with a layout
func.func @f(%x: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes the layout along 0 axes, must change exactly one (C1)}}
  %0 = sp.all_gather %x : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C1: from one axis to another is two changes
func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{changes the layout along 2 axes, must change exactly one (C1)}}
  %0 = sp.reduce_scatter %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32, #sp.layout<dp = shard(0)>>
  return
}

// -----

// C1: one all_reduce sums along one axis
func.func @f(%x: tensor<4xf32, #sp.layout<dp = partial, tp = partial>>) {
  // expected-error @below {{changes the layout along 2 axes, must change exactly one (C1)}}
  %0 = sp.all_reduce %x : tensor<4xf32, #sp.layout<dp = partial, tp = partial>> -> tensor<4xf32>
  return
}

// -----

// C1: the other axis stays as it is, here sharded
func.func @f(%x: tensor<4x4xf32, #sp.layout<dp = shard(0), tp = partial>>) {
  // expected-error @below {{changes the layout along 2 axes, must change exactly one (C1)}}
  %0 = sp.reduce_scatter %x : tensor<4x4xf32, #sp.layout<dp = shard(0), tp = partial>> -> tensor<4x4xf32, #sp.layout<dp = replicate, tp = shard(1)>>
  return
}

// -----

// C2: the other direction of each change
func.func @f(%x: tensor<4xf32, #sp.layout<tp = replicate>>) {
  // expected-error @below {{changes replicate to invariant along `tp`, must change invariant to replicate (C2)}}
  %0 = sp.copy %x : tensor<4xf32, #sp.layout<tp = replicate>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes shard(0) to invariant along `tp`, must change invariant or replicate to shard(d) (C2)}}
  %0 = sp.slice %x : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{changes partial to shard(0) along `tp`, must change shard(d) to partial (C2)}}
  %0 = sp.zero_pad %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{changes invariant to partial along `tp`, must change partial to invariant (C2)}}
  %0 = sp.all_reduce %x : tensor<4xf32> -> tensor<4xf32, #sp.layout<tp = partial>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes shard(0) to partial along `tp`, must change partial to shard(d) (C2)}}
  %0 = sp.reduce_scatter %x : tensor<4xf32, #sp.layout<tp = shard(0)>> -> tensor<4xf32, #sp.layout<tp = partial>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = replicate>>) {
  // expected-error @below {{changes replicate to shard(0) along `tp`, must change shard(d) to replicate or invariant (C2)}}
  %0 = sp.all_gather %x : tensor<4xf32, #sp.layout<tp = replicate>> -> tensor<4xf32, #sp.layout<tp = shard(0)>>
  return
}

// -----

// C2: a shard moves to another dimension only by a gather and a slice
func.func @f(%x: tensor<4x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes shard(0) to shard(1) along `tp`, must change invariant or replicate to shard(d) (C2)}}
  %0 = sp.slice %x : tensor<4x4xf32, #sp.layout<tp = shard(0)>> -> tensor<4x4xf32, #sp.layout<tp = shard(1)>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{changes partial to invariant along `tp`, must change shard(d) to replicate or invariant (C2)}}
  %0 = sp.all_gather %x : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32>
  return
}

// -----

// C2 along the axis that changes, not along the other
func.func @f(%x: tensor<4xf32, #sp.layout<dp = partial, tp = shard(0)>>) {
  // expected-error @below {{changes shard(0) to invariant along `tp`, must change partial to invariant (C2)}}
  %0 = sp.all_reduce %x : tensor<4xf32, #sp.layout<dp = partial, tp = shard(0)>> -> tensor<4xf32, #sp.layout<dp = partial>>
  return
}

// -----

// C1 of a layout change: another encoding is not "nothing else"
func.func @f(%p: tensor<4xf32, #sp.layout<tp = partial>>) {
  // expected-error @below {{(C1)}}
  %0 = sp.all_reduce %p : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32, "other">
  return
}

// -----

// Summed twice: the sum is whole already.
sp.mesh @mesh <tp = 2>
func.func @second_sum(%x: tensor<8x4xf32, #sp.layout<tp = shard(0)>> {sp.input = "x"}) -> tensor<4xf32> {
  %p = sp.sum_leading %x count 1 : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> tensor<4xf32, #sp.layout<tp = partial>>
  %a = sp.all_reduce %p : tensor<4xf32, #sp.layout<tp = partial>> -> tensor<4xf32>
  // expected-error @below {{changes the layout along 0 axes, must change exactly one (C1)}}
  %b = sp.all_reduce %a : tensor<4xf32> -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// C1: a shard of an axis is no shard of its part
sp.mesh @mesh <tp = 4, tp.kv = 2, tp.rep = 2>
func.func @f(%x: tensor<4x4xf32, #sp.layout<tp = shard(0)>>) {
  // expected-error @below {{changes the layout along 2 axes, must change exactly one (C1)}}
  %0 = sp.all_gather %x : tensor<4x4xf32, #sp.layout<tp = shard(0)>> -> tensor<4x4xf32, #sp.layout<tp.kv = replicate, tp.rep = shard(0)>>
  return
}
