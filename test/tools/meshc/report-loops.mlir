// The calls of a loop are listed once, with how often they run; what it stacks is
// in use as a whole.
// RUN: meshc %s --report=json --emit=obj -o %t.o | FileCheck %s --check-prefix=JSON
// RUN: meshc %s --report=html --emit=obj -o %t.o --report-file %t.html
// RUN: FileCheck %s --check-prefix=PAGE --input-file %t.html

// JSON-LABEL: "name": "eval_step"
// JSON: "launches": [
// JSON: "kernel": "kernel_1",
// JSON-NEXT: "calls": 1,
// JSON: "kernel": "kernel_2",
// JSON-NEXT: "calls": 6,
// JSON: "products": [
// JSON: "calls": 6,
// JSON-NEXT: "m": 4,
// JSON: "loops": [
// JSON-NEXT: {
// JSON-NEXT: "dim": "epochs",
// JSON-NEXT: "size": 2,
// JSON-NEXT: "backwards": false,
// JSON-NEXT: "launches": [
// JSON-NEXT: 1,
// JSON-NEXT: 2
// JSON-NEXT: ],
// JSON-NEXT: "products": [
// JSON-NEXT: 0,
// JSON-NEXT: 1
// JSON-NEXT: ]
// JSON-NEXT: },
// JSON-NEXT: {
// JSON-NEXT: "dim": "layers",
// JSON-NEXT: "size": 3,
// JSON-NEXT: "backwards": true,

// Calls 1 and 2 are those of the loops. In both, w has all its bytes, and what
// is carried lasts.
// PAGE: "kind":"product","calls":6},{{.*}}"kind":"kernel","calls":6,{{.*}}"buffers":[
// PAGE-SAME: {"offset":[[X:[0-9]+]],"bytes":80,"first":0,"last":0,"class":"temporary"
// PAGE-SAME: {"offset":[[X]],"bytes":80,"first":1,"last":2,"class":"temporary"
// PAGE-SAME: {"offset":0,"bytes":300,"first":1,"last":2,"class":"parameter","dims":[{"dim":"m",
// PAGE-SAME: {"offset":[[X]],"bytes":80,"first":3,"last":3,"class":"temporary"
!x = !nd.tensor<f32, [b = 4, m = 5]>
!w = !nd.tensor<f32, [layers = 3, m = 5, n = 5]>
!wi = !nd.tensor<f32, [m = 5, n = 5]>
!y = !nd.tensor<f32, [b = 4, n = 5]>
!s = !nd.tensor<f32, []>
module attributes {nd.mesh = #nd.mesh<>, nd.model = "deep", nd.phase = "collectives", nd.targets = "{}"} {
  func.func @initialize() -> (!w {nd.name = "w", nd.role = "parameter", nd.order = ["layers", "m", "n"]}) {
    %0 = nd.random normal "w" : !w
    return %0 : !w
  }
  func.func @eval_step(%w: !w {nd.name = "w", nd.role = "parameter", nd.order = ["layers", "m", "n"]},
                       %x: !x {nd.name = "x", nd.role = "input", nd.order = ["b", "m"]})
      -> (!s {nd.name = "loss", nd.role = "metric", nd.order = []}) {
    %h = nd.scan "epochs" 2 carried(%x : !x) whole(%w : !w) -> !x {
    ^bb0(%first: !x, %all: !w):
      %i = nd.scan "layers" 3 backwards carried(%first : !x) stacked(%all : !w) -> !x {
      ^bb0(%a: !x, %wi: !wi):
        %0 = nd.einsum %a, %wi {reduced = ["m"]} : (!x, !wi) -> !y
        %1 = nd.rename %0 {from = ["n"], to = ["m"]} : (!y) -> !x
        %2 = nd.tanh %1 : (!x) -> !x
        nd.yield %2 : !x
      }
      nd.yield %i : !x
    }
    %l = nd.reduce_sum %h {dims = ["b", "m"]} : (!x) -> !s
    return %l : !s
  }
}
