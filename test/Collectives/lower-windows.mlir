// RUN: mesh-opt %s -split-input-file -verify-diagnostics -meshc-fold-windows -meshc-lower-windows | FileCheck %s

!x = !nd.tensor<f32, [h = 8, seq = 64 on {ring}]>
!short = !nd.tensor<f32, [h = 8, seq = 63 on {ring}]>
!long = !nd.tensor<f32, [h = 8, seq = 65 on {ring}]>
!wide = !nd.tensor<f32, [h = 8, seq = 66 on {ring}]>
!one = !nd.tensor<f32, [h = 8, seq = 1 on {ring}]>
!tail = !nd.tensor<f32, [h = 8, seq = 8 on {ring}]>
!other = !nd.tensor<f32, [h = 8, seq = 72 on {ring}]>
module attributes {nd.mesh = #nd.mesh<ring = 4>} {
  // The last 63 entries: each rank but the last needs the first entry of the next one.
  // CHECK-LABEL: @slice
  // CHECK-NEXT: %[[P:.*]] = spmd.piece "seq" 0 size 1 %arg0 : <{{.*}}> -> <f32, [h = 8, seq = 4 on {ring}]>
  // CHECK-NEXT: %[[H:.*]] = spmd.permute ["ring"] to ["ring"] shift 3 %[[P]] {nd.name = "y"}
  // CHECK-NEXT: spmd.join "seq" [15, 16, 0, 63, -1, 16, 0, 63] %[[H]], %arg0 {nd.name = "y"}
  func.func @slice(%x: !x) -> !short {
    %y = spmd.window "seq" [0, 0, 1, 63] fill 0.0 %x {nd.name = "y"} : (!x) -> !short
    return %y : !short
  }
  // Blocks of 17 entries: rank 3 begins three entries before its block of the operand.
  // CHECK-LABEL: @pad
  // CHECK-NEXT: %[[P:.*]] = spmd.piece "seq" 0 round <from = 16, to = 17, offset = -1, number = 1> size 2 %arg0
  // CHECK-NEXT: %[[H:.*]] = spmd.permute ["ring"] to ["ring"] round <from = 16, to = 17, offset = -1, number = 1> %[[P]]
  // CHECK-NEXT: spmd.join "seq" [0, 0, 1, 65, 1, 16, 1, 65] rounds [#spmd.round<from = 16, to = 17, offset = -1, number = 1>, unit] fill 7.0{{.*}} %[[H]], %arg0
  func.func @pad(%x: !x) -> !long {
    %y = spmd.window "seq" [0, 1, 0, 64] fill 7.0 %x : (!x) -> !long
    return %y : !long
  }
  // Shifts by one and by three entries need the last three entries of the previous rank's block, once. A shift by one the
  // other way needs the first entry of the next rank's block.
  // CHECK-LABEL: @shifts
  // CHECK: %[[P:.*]] = spmd.piece "seq" 13 size 3 %arg0
  // CHECK-NEXT: %[[H:.*]] = spmd.permute ["ring"] to ["ring"] shift 1 %[[P]] {nd.name = "one"}
  // CHECK-NEXT: spmd.join "seq" [-2, 16, 1, 64, 1, 16, 1, 64] fill 0.0{{.*}} %[[H]], %arg0 {nd.name = "one"}
  // CHECK-NEXT: spmd.join "seq" [0, 16, 3, 64, 3, 16, 3, 64] fill 0.0{{.*}} %[[H]], %arg0 {nd.name = "three"}
  // CHECK-NEXT: spmd.piece "seq" 0 size 1 %arg0
  // CHECK-NEXT: spmd.permute {{.*}} shift 3
  // CHECK-NEXT: spmd.join {{.*}} {nd.name = "back"}
  // CHECK-NOT: spmd.permute
  // CHECK: return
  func.func @shifts(%x: !x) -> (!x, !x, !x) {
    %one = spmd.window "seq" [0, 1, 0, 63] fill 0.0 %x {nd.name = "one"} : (!x) -> !x
    %three = spmd.window "seq" [0, 3, 0, 61] fill 0.0 %x {nd.name = "three"} : (!x) -> !x
    %back = spmd.window "seq" [0, 0, 1, 63] fill 0.0 %x {nd.name = "back"} : (!x) -> !x
    return %one, %three, %back : !x, !x, !x
  }
  // Blocks widened by one entry on either side. What is beyond the tensor may be anything.
  // CHECK-LABEL: @widen
  // CHECK-NEXT: %[[P:.*]] = spmd.piece "seq" 15 size 1 %arg0
  // CHECK-NEXT: %[[A:.*]] = spmd.permute ["ring"] to ["ring"] shift 1 %[[P]]
  // CHECK-NEXT: %[[Q:.*]] = spmd.piece "seq" 0 size 1 %arg0
  // CHECK-NEXT: %[[B:.*]] = spmd.permute ["ring"] to ["ring"] shift 3 %[[Q]]
  // CHECK-NEXT: spmd.join "seq" [0, 18, 0, 72, 17, 18, 0, 72, 1, 18, 0, 72] %[[A]], %[[B]], %arg0
  // CHECK-NEXT: return
  func.func @widen(%x: !x) -> !other {
    %y = spmd.window "seq" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %x : (!x) -> !other
    return %y : !other
  }
  // The last entry of each widened block goes to the next rank, and none to the first.
  // CHECK-LABEL: @narrow
  // CHECK-NEXT: %[[P:.*]] = spmd.piece "seq" 17 size 1 %arg0
  // CHECK-NEXT: %[[H:.*]] = spmd.permute ["ring"] to ["ring"] shift 1 %[[P]]
  // CHECK-NEXT: spmd.join "seq" [0, 16, 16, 64] fill 0.0{{.*}} %[[H]]
  // CHECK-NEXT: return
  func.func @narrow(%x: !other) -> !x {
    %y = spmd.window "seq" [0, 16, 17, 1] repeat [16, 18] fill 0.0 %x : (!other) -> !x
    return %y : !x
  }
  // No rank has such entries.
  // CHECK-LABEL: @beyond
  // CHECK-NEXT: nd.constant 2.0{{.*}} -> !nd.tensor<f32, [h = 8, seq = 64 on {ring}]>
  // CHECK-NEXT: return
  func.func @beyond(%x: !other) -> !x {
    %y = spmd.window "seq" [0, 64, 17, 1] repeat [16, 18] fill 2.0 %x : (!other) -> !x
    return %y : !x
  }
  // Windows that repeat are not folded into others.
  // CHECK-LABEL: @repeated
  // CHECK: spmd.join
  // CHECK: spmd.join
  // CHECK-NEXT: return
  func.func @repeated(%x: !short) -> !other {
    %y = spmd.window "seq" [0, 1, 0, 63] fill 0.0 %x : (!short) -> !x
    %z = spmd.window "seq" [0, 0, -1, 18] repeat [18, 16] fill 0.0 %y : (!x) -> !other
    return %z : !other
  }
  // Padding and a slice are a shift, whatever else uses the padded tensor.
  // CHECK-LABEL: @shift
  // CHECK-NEXT: spmd.piece "seq" 15 size 1
  // CHECK-NEXT: %[[H:.*]] = spmd.permute ["ring"] to ["ring"] shift 1
  // CHECK-NEXT: spmd.join "seq" [0, 16, 1, 64, 1, 16, 1, 64] fill 7.0{{.*}} %[[H]], %arg0
  // CHECK-NEXT: return
  func.func @shift(%x: !x) -> !x {
    %y = spmd.window "seq" [0, 1, 0, 64] fill 7.0 %x : (!x) -> !long
    %z = spmd.window "seq" [0, 0, 0, 64] fill 0.0 %y : (!long) -> !x
    return %z : !x
  }
  // Entries that are dropped and filled again: not those of the operand.
  // CHECK-LABEL: @dropped
  // CHECK-NEXT: spmd.join "seq" [0, 16, 0, 63] fill 0.0{{.*}} %arg0
  // CHECK-NEXT: return
  func.func @dropped(%x: !x) -> !x {
    %y = spmd.window "seq" [0, 0, 0, 63] fill 0.0 %x : (!x) -> !short
    %z = spmd.window "seq" [0, 0, 0, 63] fill 0.0 %y : (!short) -> !x
    return %z : !x
  }
  // Two values fill: two windows.
  // CHECK-LABEL: @two_fills
  // CHECK: spmd.join {{.*}} fill 7.0
  // CHECK: spmd.join {{.*}} fill 0.0
  func.func @two_fills(%x: !short) -> !long {
    %y = spmd.window "seq" [0, 1, 0, 63] fill 7.0 %x : (!short) -> !x
    %z = spmd.window "seq" [0, 0, 0, 64] fill 0.0 %y : (!x) -> !long
    return %z : !long
  }
  // The last entry comes first. Both halos are the same entry of the same rank: one permute.
  // CHECK-LABEL: @roll
  // CHECK-NEXT: spmd.piece "seq" 15 size 1
  // CHECK-NEXT: %[[H:.*]] = spmd.permute ["ring"] to ["ring"] shift 1
  // CHECK-NEXT: spmd.join "seq" [0, 16, 0, 64, 1, 16, 1, 64] %[[H]], %arg0
  // CHECK-NEXT: return
  func.func @roll(%x: !x) -> !x {
    %a = spmd.window "seq" [0, 0, 63, 1] fill 0.0 %x : (!x) -> !one
    %b = spmd.window "seq" [0, 0, 0, 63] fill 0.0 %x : (!x) -> !short
    %y = spmd.window "seq" [0, 0, 0, 1, 1, 1, 0, 63] fill 0.0 %a, %b : (!one, !short) -> !x
    return %y : !x
  }
  // Blocks of 18 entries of one of 16 and one of 2.
  // CHECK-LABEL: @concat
  // CHECK: spmd.permute {{.*}} round <from = 16, to = 18, offset = 0, number = 1>
  // CHECK-COUNT-3: spmd.permute {{.*}} round <from = 2, to = 18, offset = -64, number = {{[567]}}>
  // CHECK-NOT: spmd.permute
  // CHECK: spmd.join "seq" {{.*}} : ({{.*}}) -> !nd.tensor<f32, [h = 8, seq = 72 on {ring}]>
  func.func @concat(%x: !x, %t: !tail) -> !other {
    %y = spmd.window "seq" [0, 0, 0, 64, 1, 64, 0, 8] fill 0.0 %x, %t : (!x, !tail) -> !other
    return %y : !other
  }
  // Each rank has all of the first operand: nothing of it moves.
  // CHECK-LABEL: @whole
  // CHECK-NEXT: spmd.piece "seq" 15 size 1 %arg1
  // CHECK-NEXT: %[[H:.*]] = spmd.permute ["ring"] to ["ring"] shift 1
  // CHECK-NEXT: spmd.join "seq" [0, 0, 0, 1, 0, 16, 1, 64, 1, 16, 1, 64] %arg0, %[[H]], %arg1
  // CHECK-NEXT: return
  func.func @whole(%a: !nd.tensor<f32, [h = 8, seq = 1]>, %x: !short) -> !x {
    %y = spmd.window "seq" [0, 0, 0, 1, 1, 1, 0, 63] fill 0.0 %a, %x : (!nd.tensor<f32, [h = 8, seq = 1]>, !short) -> !x
    return %y : !x
  }
  // The gradient of three taps: sums of what is padded, without the padding.
  // CHECK-LABEL: @taps
  // CHECK-NOT: seq = 66
  // CHECK: spmd.permute ["ring"] to ["ring"] shift 3 %{{.*}}seq = 4 on {ring}
  // CHECK-NOT: seq = 66
  // CHECK: spmd.permute ["ring"] to ["ring"] shift 1 %{{.*}}seq = 4 on {ring}
  // CHECK-NOT: seq = 66
  // CHECK: nd.sub
  // CHECK-NOT: seq = 66
  // CHECK: %[[S:.*]] = nd.add %{{.*}} -> !nd.tensor<f32, [h = 8, seq = 64 on {ring}]>
  // CHECK-NEXT: return %[[S]]
  func.func @taps(%a: !x, %b: !x, %c: !x) -> !x {
    %0 = spmd.window "seq" [0, 0, 0, 64] fill 0.0 %a : (!x) -> !wide
    %1 = spmd.window "seq" [0, 1, 0, 64] fill 0.0 %b : (!x) -> !wide
    %2 = spmd.window "seq" [0, 2, 0, 64] fill 0.0 %c : (!x) -> !wide
    %3 = nd.sub %0, %1 : (!wide, !wide) -> !wide
    %4 = nd.add %3, %2 : (!wide, !wide) -> !wide
    %y = spmd.window "seq" [0, 0, 1, 64] fill 0.0 %4 : (!wide) -> !x
    return %y : !x
  }
  // What is used elsewhere is computed as it is.
  // CHECK-LABEL: @used_sum
  // CHECK: %[[S:.*]] = nd.add {{.*}} -> !nd.tensor<f32, [h = 8, seq = 66 on {ring}]>
  // CHECK: return {{.*}}, %[[S]]
  func.func @used_sum(%a: !x, %b: !x) -> (!x, !wide) {
    %0 = spmd.window "seq" [0, 0, 0, 64] fill 0.0 %a : (!x) -> !wide
    %1 = spmd.window "seq" [0, 1, 0, 64] fill 0.0 %b : (!x) -> !wide
    %3 = nd.add %0, %1 : (!wide, !wide) -> !wide
    %y = spmd.window "seq" [0, 0, 1, 64] fill 0.0 %3 : (!wide) -> !x
    return %y, %3 : !x, !wide
  }
  // A window of everything is its operand.
  // CHECK-LABEL: @all
  // CHECK-NEXT: return %arg0
  func.func @all(%x: !x) -> !x {
    %y = spmd.window "seq" [0, 0, 0, 64] fill 0.0 %x : (!x) -> !x
    return %y : !x
  }
}

// -----

// The second half of a tensor over eight ranks. A rank sends the two halves of its block to two ranks, those with the numbers
// 2 p - 8 and 2 p - 7, in two rounds. Rank 7 has what it needs.
!x = !nd.tensor<f32, [seq = 64 on {ring}]>
!half = !nd.tensor<f32, [seq = 32 on {ring}]>
module attributes {nd.mesh = #nd.mesh<ring = 8>} {
  // CHECK-LABEL: @half
  // CHECK-NEXT: %[[P:.*]] = spmd.piece "seq" 0 round <from = 8, to = 4, offset = 32, number = 0> size 4 %arg0 : <{{.*}}> -> <f32, [seq = 32 on {ring}]>
  // CHECK-NEXT: %[[A:.*]] = spmd.permute ["ring"] to ["ring"] round <from = 8, to = 4, offset = 32, number = 0> %[[P]] {nd.name = "y"}
  // CHECK-NEXT: %[[Q:.*]] = spmd.piece "seq" 0 round <from = 8, to = 4, offset = 32, number = 1> size 4 %arg0
  // CHECK-NEXT: %[[B:.*]] = spmd.permute ["ring"] to ["ring"] round <from = 8, to = 4, offset = 32, number = 1> %[[Q]] {nd.name = "y"}
  // CHECK-NEXT: spmd.join "seq" [0, 0, 0, 32, 0, 0, 0, 32, -32, 8, 0, 32]
  // CHECK-SAME: rounds [#spmd.round<from = 8, to = 4, offset = 32, number = 0>, #spmd.round<from = 8, to = 4, offset = 32, number = 1>, unit] %[[A]], %[[B]], %arg0
  func.func @half(%x: !x) -> !half {
    %y = spmd.window "seq" [0, 0, 32, 32] fill 0.0 %x {nd.name = "y"} : (!x) -> !half
    return %y : !half
  }
}

// -----

// Two ranks send one another one half of their blocks. A permute for both distances would send whole blocks.
!x = !nd.tensor<f32, [seq = 16 on {ring}]>
!half = !nd.tensor<f32, [seq = 8 on {ring}]>
module attributes {nd.mesh = #nd.mesh<ring = 2>} {
  // CHECK-LABEL: @halves_of_two
  // CHECK: spmd.piece "seq" 0 round <from = 8, to = 4, offset = 0, number = 1> size 4
  // CHECK-NEXT: spmd.permute ["ring"] to ["ring"] round <from = 8, to = 4, offset = 0, number = 1>
  // CHECK: spmd.piece "seq" 0 round <from = 8, to = 4, offset = 8, number = 0> size 4
  // CHECK-NEXT: spmd.permute ["ring"] to ["ring"] round <from = 8, to = 4, offset = 8, number = 0>
  // CHECK-NOT: spmd.permute
  // CHECK: return
  func.func @halves_of_two(%x: !x) -> (!half, !half) {
    %0 = spmd.window "seq" [0, 0, 0, 8] fill 0.0 %x : (!x) -> !half
    %1 = spmd.window "seq" [0, 0, 8, 8] fill 0.0 %x : (!x) -> !half
    return %0, %1 : !half, !half
  }
}

// -----

// Each of 32 ranks has one of 32 entries of the result, and one owner has 32.
!x = !nd.tensor<f32, [seq = 1024 on {ring}]>
!y = !nd.tensor<f32, [seq = 32 on {ring}]>
module attributes {nd.mesh = #nd.mesh<ring = 32>} {
  func.func @too_far(%x: !x) -> !y {
    // expected-error @below {{needs entries of too many ranks for an exchange of halos along dim 'seq' of '!nd.tensor<f32, [seq = 32 on {ring}]>'; gather the dim}}
    %y = spmd.window "seq" [0, 0, 0, 32] fill 0.0 %x : (!x) -> !y
    return %y : !y
  }
}
