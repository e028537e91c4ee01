// Upstream's clean-ups leave a tensor- and sequence-parallel program as it is: the
// same collectives, in order, and layouts that verify.

// RUN: sp-opt %s --sp-parallelize="tp=2" | FileCheck %s
// RUN: sp-opt %s --sp-parallelize="tp=2" -cse -canonicalize -control-flow-sink -sccp -loop-invariant-code-motion --sp-verify-layouts | FileCheck %s

// CHECK-LABEL: func.func @mlp
// CHECK:         sp.rms_norm
// CHECK-NEXT:    %[[G0:.*]] = sp.all_gather
// CHECK-NEXT:    sp.linear %[[G0]]
// CHECK-NOT:     sp.{{all_gather|all_reduce|reduce_scatter}}
// CHECK:         %[[P0:.*]] = sp.linear
// CHECK-NEXT:    %[[R0:.*]] = sp.reduce_scatter %[[P0]]
// CHECK-NEXT:    arith.addf %{{.*}}, %[[R0]]
// CHECK-NOT:     sp.{{all_gather|all_reduce|reduce_scatter}}
// CHECK:         sp.rms_norm
// CHECK-NEXT:    %[[G1:.*]] = sp.all_gather
// CHECK-NEXT:    sp.linear %[[G1]]
// CHECK-NOT:     sp.{{all_gather|all_reduce|reduce_scatter}}
// CHECK:         %[[P1:.*]] = sp.linear
// CHECK-NEXT:    %[[R1:.*]] = sp.reduce_scatter %[[P1]]
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %{{.*}}, %[[R1]]
// CHECK-NEXT:    return %[[SUM]]

!h = tensor<8x2x4xf32>
!m = tensor<8x2x6xf32>
func.func @mlp(%x: !h {sp.input = "x"},
    %n0: tensor<4xf32> {sp.param = "0.norm"}, %up0: tensor<6x4xf32> {sp.param = "0.up"}, %down0: tensor<4x6xf32> {sp.param = "0.down"},
    %n1: tensor<4xf32> {sp.param = "1.norm"}, %up1: tensor<6x4xf32> {sp.param = "1.up"}, %down1: tensor<4x6xf32> {sp.param = "1.down"})
    -> (!h {sp.result = "y"}) {
  %0 = sp.rms_norm %x, %n0 eps 1.0e-05 : (!h, tensor<4xf32>) -> !h
  %1 = sp.linear %0, %up0 : (!h, tensor<6x4xf32>) -> !m
  %2 = math.tanh %1 : !m
  %3 = sp.linear %2, %down0 : (!m, tensor<4x6xf32>) -> !h
  %4 = arith.addf %x, %3 : !h
  %5 = sp.rms_norm %4, %n1 eps 1.0e-05 : (!h, tensor<4xf32>) -> !h
  %6 = sp.linear %5, %up1 : (!h, tensor<6x4xf32>) -> !m
  %7 = math.tanh %6 : !m
  %8 = sp.linear %7, %down1 : (!m, tensor<4x6xf32>) -> !h
  %9 = arith.addf %4, %8 : !h
  return %9 : !h
}
