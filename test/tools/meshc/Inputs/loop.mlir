// Six layers.
!s = !nd.tensor<f32, []>
!x = !nd.tensor<f32, [b = 8, i = 4]>
!y = !nd.tensor<f32, [b = 8, o = 4]>
!w = !nd.tensor<f32, [i = 4, o = 4]>
!ws = !nd.tensor<f32, [i = 4, n = 6, o = 4]>
!b = !nd.tensor<f32, [i = 4]>
func.func @m(%x: !x {nd.name = "x", nd.order = ["b", "i"]}) -> (!s {nd.name = "loss"}) {
  %w = nd.parameter "w" ["n", "i", "o"] : !ws {
    %0 = nd.random normal "w" : !ws
    nd.yield %0 : !ws
  }
  %b = nd.parameter "b" ["i"] : !b {
    %0 = nd.random normal "b" : !b
    nd.yield %0 : !b
  }
  %h = nd.scan "n" 6 carried(%x : !x) stacked(%w : !ws) whole(%b : !b) -> !x {
  ^bb0(%h: !x, %wi: !w, %bi: !b):
    %0 = nd.einsum %h, %wi {reduced = ["i"]} : (!x, !w) -> !y
    %1 = nd.rename %0 {from = ["o"], to = ["i"]} : (!y) -> !x
    %2 = nd.add %1, %bi : (!x, !b) -> !x
    %3 = nd.gelu %2 : (!x) -> !x
    %4 = nd.tanh %3 : (!x) -> !x
    %5 = nd.add %4, %h : (!x, !x) -> !x
    nd.yield %5 : !x
  }
  %z = nd.square %h : (!x) -> !x
  %loss = nd.reduce_mean %z {dims = ["b", "i"]} : (!x) -> !s
  return %loss : !s
}
nd.train @m "loss" "sgd" { nd.setting "lr" = 0.1 }
