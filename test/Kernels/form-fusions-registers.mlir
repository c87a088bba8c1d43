// RUN: mesh-opt %s --meshc-form-fusions | FileCheck %s
// RUN: sed 's/{exec.gpu}/{}/' %s | mesh-opt --meshc-form-fusions | FileCheck %s --check-prefix=HOST
!x = !nd.tensor<f32, [batch = 64, model = 32]>
!v = !nd.tensor<f32, [model = 32]>
module attributes {exec.gpu} {
// Kernels that read one large tensor are merged on GPUs as long as the registers of a thread last, by the estimate of
// FusionRegisters.cpp: 14 sums with two results each are two kernels.
// CHECK-LABEL: @registers
// CHECK: exec.fusion <parallel = ["model"], reduce = ["batch"]
// CHECK: exec.fusion <parallel = ["model"], reduce = ["batch"]
// CHECK-NOT: exec.fusion
// CHECK: return
// On the host they are one.
// HOST-LABEL: @registers
// HOST: exec.fusion
// HOST-NOT: exec.fusion
// HOST: return
func.func @registers(%x: !x, %p0: !v, %p1: !v, %p2: !v, %p3: !v, %p4: !v, %p5: !v, %p6: !v, %p7: !v, %p8: !v, %p9: !v, %p10: !v, %p11: !v, %p12: !v, %p13: !v) -> (!v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v) {
  %m0 = nd.mul %x, %p0 : (!x, !v) -> !x
  %s0 = nd.reduce_sum %m0 {dims = ["batch"]} : (!x) -> !v
  %a0 = nd.add %p0, %s0 : (!v, !v) -> !v
  %b0 = nd.sub %p0, %s0 : (!v, !v) -> !v
  %m1 = nd.mul %x, %p1 : (!x, !v) -> !x
  %s1 = nd.reduce_sum %m1 {dims = ["batch"]} : (!x) -> !v
  %a1 = nd.add %p1, %s1 : (!v, !v) -> !v
  %b1 = nd.sub %p1, %s1 : (!v, !v) -> !v
  %m2 = nd.mul %x, %p2 : (!x, !v) -> !x
  %s2 = nd.reduce_sum %m2 {dims = ["batch"]} : (!x) -> !v
  %a2 = nd.add %p2, %s2 : (!v, !v) -> !v
  %b2 = nd.sub %p2, %s2 : (!v, !v) -> !v
  %m3 = nd.mul %x, %p3 : (!x, !v) -> !x
  %s3 = nd.reduce_sum %m3 {dims = ["batch"]} : (!x) -> !v
  %a3 = nd.add %p3, %s3 : (!v, !v) -> !v
  %b3 = nd.sub %p3, %s3 : (!v, !v) -> !v
  %m4 = nd.mul %x, %p4 : (!x, !v) -> !x
  %s4 = nd.reduce_sum %m4 {dims = ["batch"]} : (!x) -> !v
  %a4 = nd.add %p4, %s4 : (!v, !v) -> !v
  %b4 = nd.sub %p4, %s4 : (!v, !v) -> !v
  %m5 = nd.mul %x, %p5 : (!x, !v) -> !x
  %s5 = nd.reduce_sum %m5 {dims = ["batch"]} : (!x) -> !v
  %a5 = nd.add %p5, %s5 : (!v, !v) -> !v
  %b5 = nd.sub %p5, %s5 : (!v, !v) -> !v
  %m6 = nd.mul %x, %p6 : (!x, !v) -> !x
  %s6 = nd.reduce_sum %m6 {dims = ["batch"]} : (!x) -> !v
  %a6 = nd.add %p6, %s6 : (!v, !v) -> !v
  %b6 = nd.sub %p6, %s6 : (!v, !v) -> !v
  %m7 = nd.mul %x, %p7 : (!x, !v) -> !x
  %s7 = nd.reduce_sum %m7 {dims = ["batch"]} : (!x) -> !v
  %a7 = nd.add %p7, %s7 : (!v, !v) -> !v
  %b7 = nd.sub %p7, %s7 : (!v, !v) -> !v
  %m8 = nd.mul %x, %p8 : (!x, !v) -> !x
  %s8 = nd.reduce_sum %m8 {dims = ["batch"]} : (!x) -> !v
  %a8 = nd.add %p8, %s8 : (!v, !v) -> !v
  %b8 = nd.sub %p8, %s8 : (!v, !v) -> !v
  %m9 = nd.mul %x, %p9 : (!x, !v) -> !x
  %s9 = nd.reduce_sum %m9 {dims = ["batch"]} : (!x) -> !v
  %a9 = nd.add %p9, %s9 : (!v, !v) -> !v
  %b9 = nd.sub %p9, %s9 : (!v, !v) -> !v
  %m10 = nd.mul %x, %p10 : (!x, !v) -> !x
  %s10 = nd.reduce_sum %m10 {dims = ["batch"]} : (!x) -> !v
  %a10 = nd.add %p10, %s10 : (!v, !v) -> !v
  %b10 = nd.sub %p10, %s10 : (!v, !v) -> !v
  %m11 = nd.mul %x, %p11 : (!x, !v) -> !x
  %s11 = nd.reduce_sum %m11 {dims = ["batch"]} : (!x) -> !v
  %a11 = nd.add %p11, %s11 : (!v, !v) -> !v
  %b11 = nd.sub %p11, %s11 : (!v, !v) -> !v
  %m12 = nd.mul %x, %p12 : (!x, !v) -> !x
  %s12 = nd.reduce_sum %m12 {dims = ["batch"]} : (!x) -> !v
  %a12 = nd.add %p12, %s12 : (!v, !v) -> !v
  %b12 = nd.sub %p12, %s12 : (!v, !v) -> !v
  %m13 = nd.mul %x, %p13 : (!x, !v) -> !x
  %s13 = nd.reduce_sum %m13 {dims = ["batch"]} : (!x) -> !v
  %a13 = nd.add %p13, %s13 : (!v, !v) -> !v
  %b13 = nd.sub %p13, %s13 : (!v, !v) -> !v
  return %a0, %b0, %a1, %b1, %a2, %b2, %a3, %b3, %a4, %b4, %a5, %b5, %a6, %b6, %a7, %b7, %a8, %b8, %a9, %b9, %a10, %b10, %a11, %b11, %a12, %b12, %a13, %b13 : !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v, !v
}
}
