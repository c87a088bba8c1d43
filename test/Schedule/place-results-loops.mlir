// RUN: mesh-opt %s --pass-pipeline='builtin.module(func.func(meshc-place-results,meshc-schedule-ops))' --split-input-file | FileCheck %s

!v = !nd.tensor<f32, [i = 8]>
!vs = !nd.tensor<f32, [d = 3, i = 8]>

// The initial value dies at the loop, which takes over its memory. The next
// value is written over the current one, which is stacked before.
// CHECK-LABEL: @in_place
// CHECK: %[[I:.*]] = exec.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nd.exp
// CHECK: nd.scan "d" 3 carried(%[[I]] : {{.*}})
// CHECK-NEXT: ^bb0(%[[A:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[C:.*]] = exec.fusion {{.*}}(%[[A]])
// CHECK-NEXT: ^bb0(%[[IN:[a-z0-9]+]]:
// CHECK-NEXT: exec.yield %[[IN]]
// CHECK: %[[N:.*]] = exec.fusion {{.*}}(%[[A]])
// CHECK: nd.yield %[[N]], %[[C]]
func.func @in_place(%x: !v {nd.name = "x", nd.role = "input", nd.order = ["i"]})
    -> (!v {nd.name = "h", nd.role = "metric", nd.order = ["i"]},
        !vs {nd.name = "hs", nd.role = "metric", nd.order = ["d", "i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !v):
    %1 = nd.exp %in : (!v) -> !v
    exec.yield %1 : !v
  }
  %h, %hs = nd.scan "d" 3 carried(%0 : !v) -> !v, !vs attributes {exec.orders = [["i"], ["d", "i"]]} {
  ^bb0(%a: !v):
    %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%a) : (!v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v):
      %3 = nd.tanh %in : (!v) -> !v
      exec.yield %3 : !v
    }
    nd.yield %2, %a : !v, !v
  }
  return %h, %hs : !v, !vs
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// Two carried values change places: one is saved. The initial values are
// inputs, which no loop may overwrite.
// CHECK-LABEL: @swap
// CHECK-DAG: %[[P:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK-DAG: %[[Q:.*]] = exec.fusion {{.*}}(%arg1)
// CHECK: nd.scan "d" 3 carried(%[[P]], %[[Q]] : {{.*}})
// CHECK-NEXT: ^bb0(%[[A:[a-z0-9]+]]: {{.*}}, %[[B:.*]]: {{.*}}):
// CHECK-NEXT: %[[SAVED:.*]] = exec.fusion {{.*}}(%[[A]])
// CHECK: %[[NA:.*]] = exec.fusion {{.*}}(%[[B]])
// CHECK: %[[NB:.*]] = exec.fusion {{.*}}(%[[SAVED]])
// CHECK: nd.yield %[[NA]], %[[NB]]
func.func @swap(%x: !v {nd.name = "x", nd.role = "input", nd.order = ["i"]}, %y: !v {nd.name = "y", nd.role = "input", nd.order = ["i"]})
    -> (!v {nd.name = "a", nd.role = "metric", nd.order = ["i"]}, !v {nd.name = "b", nd.role = "metric", nd.order = ["i"]}) {
  %0:2 = nd.scan "d" 3 carried(%x, %y : !v, !v) -> !v, !v attributes {exec.orders = [["i"], ["i"]]} {
  ^bb0(%a: !v, %b: !v):
    nd.yield %b, %a : !v, !v
  }
  return %0#0, %0#1 : !v, !v
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!vs = !nd.tensor<f32, [d = 3, i = 8]>

// One initial value for two loops, and one value that is both carried and
// stacked: each has a place of its own.
// CHECK-LABEL: @shared
// CHECK: %[[I:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: %[[I2:.*]] = exec.fusion {{.*}}(%[[I]])
// CHECK: nd.scan "d" 3 carried(%[[I2]] :
// CHECK-NEXT: ^bb0(%[[A:[a-z0-9]+]]:
// CHECK-NEXT: %[[N:.*]] = exec.fusion {{.*}}(%[[A]])
// CHECK: %[[C:.*]] = exec.fusion {{.*}}(%[[N]])
// CHECK: nd.yield %[[N]], %[[C]]
// CHECK: nd.scan "d" 3 backwards carried(%[[I]] :
func.func @shared(%x: !v {nd.name = "x", nd.role = "input", nd.order = ["i"]})
    -> (!v {nd.name = "h", nd.role = "metric", nd.order = ["i"]}, !vs {nd.name = "hs", nd.role = "metric", nd.order = ["d", "i"]},
        !v {nd.name = "g", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !v):
    %1 = nd.exp %in : (!v) -> !v
    exec.yield %1 : !v
  }
  %h, %hs = nd.scan "d" 3 carried(%0 : !v) -> !v, !vs attributes {exec.orders = [["i"], ["d", "i"]]} {
  ^bb0(%a: !v):
    %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%a) : (!v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v):
      %3 = nd.tanh %in : (!v) -> !v
      exec.yield %3 : !v
    }
    nd.yield %2, %2 : !v, !v
  }
  %g = nd.scan "d" 3 backwards carried(%0 : !v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%a: !v):
    %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%a) : (!v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v):
      %3 = nd.neg %in : (!v) -> !v
      exec.yield %3 : !v
    }
    nd.yield %2 : !v
  }
  return %h, %hs, %g : !v, !vs, !v
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// The loop updates a parameter in place, as its other reader can run before. An
// inner loop goes on with what the outer one carries.
// CHECK-LABEL: @parameter
// CHECK-NEXT: %[[Y:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: %[[H:.*]] = nd.scan "d" 3 carried(%arg0 :
// CHECK-NEXT: ^bb0(%[[A:[a-z0-9]+]]:
// CHECK-NEXT: %[[G:.*]] = nd.scan "e" 2 carried(%[[A]] :
// CHECK: nd.yield %[[G]]
// CHECK: return %[[H]], %[[Y]]
func.func @parameter(%p: !v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]})
    -> (!v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]}, !v {nd.name = "y", nd.role = "metric", nd.order = ["i"]}) {
  %h = nd.scan "d" 3 carried(%p : !v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%a: !v):
    %g = nd.scan "e" 2 carried(%a : !v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%b: !v):
      %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%b) : (!v) -> !v attributes {exec.orders = [["i"]]} {
      ^bb0(%in: !v):
        %3 = nd.tanh %in : (!v) -> !v
        exec.yield %3 : !v
      }
      nd.yield %2 : !v
    }
    nd.yield %g : !v
  }
  %y = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%p) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !v):
    %1 = nd.exp %in : (!v) -> !v
    exec.yield %1 : !v
  }
  return %h, %y : !v, !v
}

// -----

!v = !nd.tensor<f32, [i = 8]>

// The loop reads the parameter as a whole, too, and the next value has another
// initial value: the new parameter is copied after the loop.
// CHECK-LABEL: @read_as_whole
// CHECK: %[[I:.*]] = exec.fusion {{.*}}(%arg0)
// CHECK: %[[H:.*]] = nd.scan "d" 3 carried(%[[I]] : {{.*}}) whole(%arg0 :
// CHECK: %[[C:.*]] = exec.fusion {{.*}}(%[[H]])
// CHECK: return %[[C]]
func.func @read_as_whole(%p: !v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]}) -> (!v {nd.name = "p", nd.role = "parameter", nd.order = ["i"]}) {
  %h = nd.scan "d" 3 carried(%p : !v) whole(%p : !v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%a: !v, %w: !v):
    %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%a, %w) : (!v, !v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v, %other: !v):
      %3 = nd.add %in, %other : (!v, !v) -> !v
      exec.yield %3 : !v
    }
    nd.yield %2 : !v
  }
  return %h : !v
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!vs = !nd.tensor<f32, [d = 3, i = 8]>

// The new entries of a parameter are written over the old ones. The reader of an
// old entry runs before, although it comes later in the program.
// CHECK-LABEL: @entries_in_place
// CHECK: nd.scan "d" 3
// CHECK-NEXT: ^bb0(%[[H:[a-z0-9]+]]: {{.*}}, %[[P:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[N:.*]] = exec.fusion {{.*}}(%[[H]], %[[P]])
// CHECK: %[[NEW:.*]] = exec.fusion {{.*}}(%[[P]])
// CHECK: nd.yield %[[N]], %[[NEW]]
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @entries_in_place(%x: !v {nd.name = "x", nd.role = "input", nd.order = ["i"]}, %p: !vs {nd.name = "p", nd.role = "parameter", nd.order = ["d", "i"]})
    -> (!vs {nd.name = "p", nd.role = "parameter", nd.order = ["d", "i"]}, !v {nd.name = "h", nd.role = "metric", nd.order = ["i"]}) {
  %0 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%x) : (!v) -> !v attributes {exec.orders = [["i"]]} {
  ^bb0(%in: !v):
    %1 = nd.exp %in : (!v) -> !v
    exec.yield %1 : !v
  }
  %h, %ps = nd.scan "d" 3 carried(%0 : !v) stacked(%p : !vs) -> !v, !vs attributes {exec.orders = [["i"], ["d", "i"]]} {
  ^bb0(%a: !v, %e: !v):
    %2 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%e) : (!v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v):
      %3 = nd.tanh %in : (!v) -> !v
      exec.yield %3 : !v
    }
    %4 = exec.fusion <parallel = ["i"], reduce = [], lanes = "i", sizes = [8]>(%a, %e) : (!v, !v) -> !v attributes {exec.orders = [["i"]]} {
    ^bb0(%in: !v, %w: !v):
      %5 = nd.mul %in, %w : (!v, !v) -> !v
      exec.yield %5 : !v
    }
    nd.yield %4, %2 : !v, !v
  }
  return %ps, %h : !vs, !v
}

// -----

!v = !nd.tensor<f32, [i = 8]>
!vs = !nd.tensor<f32, [d = 3, i = 8]>

// Two stacks of parameters change places: an entry is saved in each iteration.
// CHECK-LABEL: @entries_swap
// CHECK: nd.scan "d" 3 stacked(%arg0, %arg1 : {{.*}})
// CHECK-NEXT: ^bb0(%[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}):
// CHECK-NEXT: %[[SAVED:.*]] = exec.fusion {{.*}}(%[[A]])
// CHECK: %[[NA:.*]] = exec.fusion {{.*}}(%[[B]])
// CHECK: %[[NB:.*]] = exec.fusion {{.*}}(%[[SAVED]])
// CHECK: nd.yield %[[NA]], %[[NB]]
func.func @entries_swap(%p: !vs {nd.name = "p", nd.role = "parameter", nd.order = ["d", "i"]}, %q: !vs {nd.name = "q", nd.role = "parameter", nd.order = ["d", "i"]})
    -> (!vs {nd.name = "p", nd.role = "parameter", nd.order = ["d", "i"]}, !vs {nd.name = "q", nd.role = "parameter", nd.order = ["d", "i"]}) {
  %0:2 = nd.scan "d" 3 stacked(%p, %q : !vs, !vs) -> !vs, !vs attributes {exec.orders = [["d", "i"], ["d", "i"]]} {
  ^bb0(%a: !v, %b: !v):
    nd.yield %b, %a : !v, !v
  }
  return %0#0, %0#1 : !vs, !vs
}
