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

// -----

// expected-error @below {{shard dimension -3 is negative}}
func.func private @f(tensor<4xf32, #sp.layout<dp = replicate, tp = shard(-3)>>)

// -----

// The same axis sharding two dimensions
// expected-error @below {{mesh axis `tp` is named twice}}
func.func private @f(tensor<4x4xf32, #sp.layout<tp = shard(0), tp = shard(1)>>)

// -----

// ... also when the axes are not neighbours
// expected-error @below {{dimension 1 is sharded by both `pp` and `tp`}}
func.func private @f(tensor<4x4xf32, #sp.layout<pp = shard(1), dp = shard(0), tp = shard(1)>>)

// -----

// expected-error @below {{expected `replicate`, `shard(d)` or `partial`, found `split`}}
func.func private @f(tensor<4xf32, #sp.layout<tp = split(0)>>)

// -----

// expected-error @below {{expected '('}}
func.func private @f(tensor<4xf32, #sp.layout<tp = shard>>)

// -----

// expected-error @below {{expected '='}}
func.func private @f(tensor<4xf32, #sp.layout<tp>>)

// -----

// expected-error @below {{a mesh axis needs a name}}
func.func private @f(tensor<4xf32, #sp.layout<"" = partial>>)

// -----

// Ranks are known where extents are not.
// expected-error @below {{layout shards dimension 2 along `tp`, but the tensor has rank 2}}
func.func private @f(tensor<?x?xf32, #sp.layout<tp = shard(2)>>)

// -----

// The second axis, the inner type
// expected-error @below {{layout shards dimension 1 along `tp`, but the tensor has rank 1}}
func.func private @f(tuple<tensor<4xf32, #sp.layout<dp = shard(0), tp = shard(1)>>>)

// -----

// C1 of the mesh
// expected-error @below {{axis `dp` has size -2, must be at least 1 (C1)}}
sp.mesh @mesh <tp = 2, dp = -2>

// -----

// expected-error @below {{has 1 axis names and 2 axis sizes}}
"sp.mesh"() <{sym_name = "mesh", axis_names = ["tp"], axis_sizes = array<i64: 2, 3>}> : () -> ()

// -----

func.func @f() {
  // expected-error @below {{expects parent op 'builtin.module'}}
  sp.mesh @mesh <tp = 2>
  return
}

// -----

// C1 of the mesh: a layout cannot name such an axis
// expected-error @below {{(C1)}}
sp.mesh @mesh <"" = 2>

// -----

// C3 of the mesh
// expected-error @below {{axis `tp` has size 8, but the sizes of its parts multiply to 4 (C3)}}
sp.mesh @mesh <tp = 8, tp.kv = 2, tp.rep = 2>

// -----

// C3 of the mesh
// expected-error @below {{axis `dp.kv` does not follow `dp`, of which it is a part (C3)}}
sp.mesh @mesh <tp = 4, dp.kv = 2, dp.rep = 2>

// -----

// An axis and its part
// expected-error @below {{mesh axis `tp` and its part `tp.kv` are both named}}
func.func private @f(tensor<4x4xf32, #sp.layout<tp = shard(0), tp.kv = replicate>>)
