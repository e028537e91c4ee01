// RUN: sp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{a layout names at least one axis; an invariant tensor has no encoding}}
func.func private @f(tensor<4xf32, #sp.layout<>>)

// -----

// expected-error @below {{mesh axis `tp` is named twice}}
func.func private @f(tensor<4xf32, #sp.layout<tp = replicate, tp = partial>>)

// -----

// expected-error @below {{expected `replicate`, `shard(d)` or `partial`, found `invariant`}}
func.func private @f(tensor<4xf32, #sp.layout<tp = invariant>>)

// -----

// expected-error @below {{shard dimension -1 is negative}}
func.func private @f(tensor<4xf32, #sp.layout<tp = shard(-1)>>)

// -----

// expected-error @below {{layout shards dimension 1 along `tp`, but the tensor has rank 1}}
func.func private @f(tensor<4xf32, #sp.layout<tp = shard(1)>>)

// -----

// expected-error @below {{layout shards dimension 0 along `tp`, but the tensor has rank 0}}
func.func private @f(tensor<f32, #sp.layout<tp = shard(0)>>)

// -----

// expected-error @below {{dimension 0 is sharded by both `dp` and `tp`}}
func.func private @f(tensor<4xf32, #sp.layout<dp = shard(0), tp = shard(0)>>)

// -----

// C1 of the mesh
// expected-error @below {{axis `tp` has size 0, must be at least 1 (C1)}}
sp.mesh @mesh <tp = 0>

// -----

// C2 of the mesh
// expected-error @below {{axis `tp` is named twice (C2)}}
sp.mesh @mesh <tp = 2, tp = 2>

// -----

// C1 of the mesh
// expected-error @below {{needs at least one axis (C1)}}
sp.mesh @mesh <>
