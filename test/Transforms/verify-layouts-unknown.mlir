// RUN: not sp-opt %s --allow-unregistered-dialect --sp-verify-layouts 2>&1 | FileCheck %s
// Ops of dialects that are not even loaded (bufferization's among them, which drop
// layouts) are denied like all others without a rule.
// CHECK: 'bufferization.to_buffer' op touches a tensor with a layout, but has no layout rule (C3)
sp.mesh @mesh <tp = 2>
func.func @f(%s: tensor<8x4xf32, #sp.layout<tp = shard(0)>>) {
  %0 = "bufferization.to_buffer"(%s) : (tensor<8x4xf32, #sp.layout<tp = shard(0)>>) -> memref<8x4xf32>
  return
}
