// RUN: sp-opt %s --pass-pipeline='builtin.module(func.func(sp-plan-memory))' --split-input-file --verify-diagnostics

// expected-error@+1 {{'func.func' op has 2 blocks; memory is planned for one (C1)}}
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^next
^next:
  return %x : tensor<8xf32>
}

// -----

func.func @region(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  // expected-error@+1 {{'scf.if' op has a region; memory is planned for straight-line code (C1)}}
  %r = scf.if %c -> tensor<8xf32> {
    scf.yield %x : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

sp.mesh @mesh <tp = 2>
// expected-error@+1 {{has type 'tensor<8xf32, #sp.layout<tp = shard(0)>>', which has a layout; run `sp-localize` first (C2)}}
func.func @layout(%x: tensor<8xf32, #sp.layout<tp = shard(0)>>) {
  return
}

// -----

// expected-error@+1 {{'func.func' op has type 'tensor<?xf32>', whose shape is not static (C2)}}
func.func @dynamic(%x: tensor<?xf32>) {
  return
}

// -----

func.func @element(%x: tensor<8xf32>) {
  // expected-error@+1 {{'arith.truncf' op has type 'tensor<8xf16>', but the runtime has only f32, f64, bf16 and i64 (C2)}}
  %y = arith.truncf %x : tensor<8xf32> to tensor<8xf16>
  return
}
