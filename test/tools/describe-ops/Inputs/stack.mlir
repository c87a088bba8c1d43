!x = !nd.tensor<f32, [b = 8, m = 16]>
!b = !nd.tensor<f32, [b = 8]>
!two = !nd.tensor<f32, [b = 8, k = 2]>

func.func @entry(%0: !x) -> !b {
  %r = nd.entry %0 {dim = "m", index = 3 : i64} : (!x) -> !b
  return %r : !b
}

func.func @stack(%0: !b, %1: !b) -> !two {
  %r = nd.stack %0, %1 {dim = "k"} : (!b, !b) -> !two
  return %r : !two
}

func.func @unstack(%0: !two) -> (!b, !b) {
  %r:2 = nd.unstack %0 {dim = "k"} : (!two) -> (!b, !b)
  return %r#0, %r#1 : !b, !b
}
