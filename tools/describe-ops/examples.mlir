// One function per op of the dialect nd, of the op's name. tools/describe-ops
// derives docs/generated/ops.md from them. All sizes are multiples of 2.
!x = !nd.tensor<f32, [b = 8, m = 16]>
!h = !nd.tensor<bf16, [b = 8, m = 16]>
!t = !nd.tensor<i1, [b = 8, m = 16]>
!g = !nd.tensor<f32, [m = 16]>
!u = !nd.tensor<i1, [m = 16]>
!i = !nd.tensor<i32, [m = 16]>
!b = !nd.tensor<f32, [b = 8]>
!bi = !nd.tensor<i32, [b = 8]>
!w = !nd.tensor<f32, [m = 16, n = 4]>
!y = !nd.tensor<f32, [b = 8, n = 4]>
!e = !nd.tensor<f32, [m = 16, v = 32]>
!z = !nd.tensor<f32, [b = 8, k = 16]>
!s = !nd.tensor<f32, [b = 8, d = 4, h = 4]>
!half = !nd.tensor<f32, [b = 8, m = 8]>
!two = !nd.tensor<f32, [b = 8, k = 2]>
!n = !nd.tensor<i32, []>
!row = !nd.tensor<f32, [m = 16]>
!col = !nd.tensor<f32, [n = 4]>
!q = !nd.tensor<f32, [b = 8, d = 4, h = 2, s = 6]>
!k = !nd.tensor<f32, [b = 8, d = 4, h = 2, m = 6]>
!rowLabels = !nd.tensor<i32, [b = 8, s = 6]>
!memoryLabels = !nd.tensor<i32, [b = 8, m = 6]>
!mask = !nd.tensor<i1, [m = 6, s = 6]>
!bias = !nd.tensor<f32, [h = 2, m = 6, s = 6]>
!rows = !nd.tensor<f32, [b = 8, h = 2, s = 6]>

func.func @exp(%0: !x) -> !x {
  %r = nd.exp %0 : (!x) -> !x
  return %r : !x
}

func.func @log(%0: !x) -> !x {
  %r = nd.log %0 : (!x) -> !x
  return %r : !x
}

func.func @sqrt(%0: !x) -> !x {
  %r = nd.sqrt %0 : (!x) -> !x
  return %r : !x
}

func.func @rsqrt(%0: !x) -> !x {
  %r = nd.rsqrt %0 : (!x) -> !x
  return %r : !x
}

func.func @reciprocal(%0: !x) -> !x {
  %r = nd.reciprocal %0 : (!x) -> !x
  return %r : !x
}

func.func @tanh(%0: !x) -> !x {
  %r = nd.tanh %0 : (!x) -> !x
  return %r : !x
}

func.func @erf(%0: !x) -> !x {
  %r = nd.erf %0 : (!x) -> !x
  return %r : !x
}

func.func @sigmoid(%0: !x) -> !x {
  %r = nd.sigmoid %0 : (!x) -> !x
  return %r : !x
}

func.func @gelu(%0: !x) -> !x {
  %r = nd.gelu %0 : (!x) -> !x
  return %r : !x
}

func.func @silu(%0: !x) -> !x {
  %r = nd.silu %0 : (!x) -> !x
  return %r : !x
}

func.func @softplus(%0: !x) -> !x {
  %r = nd.softplus %0 : (!x) -> !x
  return %r : !x
}

func.func @sin(%0: !x) -> !x {
  %r = nd.sin %0 : (!x) -> !x
  return %r : !x
}

func.func @cos(%0: !x) -> !x {
  %r = nd.cos %0 : (!x) -> !x
  return %r : !x
}

func.func @floor(%0: !x) -> !x {
  %r = nd.floor %0 : (!x) -> !x
  return %r : !x
}

func.func @neg(%0: !x) -> !x {
  %r = nd.neg %0 : (!x) -> !x
  return %r : !x
}

func.func @abs(%0: !x) -> !x {
  %r = nd.abs %0 : (!x) -> !x
  return %r : !x
}

func.func @sign(%0: !x) -> !x {
  %r = nd.sign %0 : (!x) -> !x
  return %r : !x
}

func.func @square(%0: !x) -> !x {
  %r = nd.square %0 : (!x) -> !x
  return %r : !x
}

func.func @relu(%0: !x) -> !x {
  %r = nd.relu %0 : (!x) -> !x
  return %r : !x
}

func.func @stop_gradient(%0: !x) -> !x {
  %r = nd.stop_gradient %0 : (!x) -> !x
  return %r : !x
}

func.func @not(%0: !t) -> !t {
  %r = nd.not %0 : (!t) -> !t
  return %r : !t
}

func.func @add(%0: !x, %1: !g) -> !x {
  %r = nd.add %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @sub(%0: !x, %1: !g) -> !x {
  %r = nd.sub %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @mul(%0: !x, %1: !g) -> !x {
  %r = nd.mul %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @div(%0: !x, %1: !g) -> !x {
  %r = nd.div %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @mod(%0: !x, %1: !g) -> !x {
  %r = nd.mod %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @maximum(%0: !x, %1: !g) -> !x {
  %r = nd.maximum %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @minimum(%0: !x, %1: !g) -> !x {
  %r = nd.minimum %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @pow(%0: !x, %1: !g) -> !x {
  %r = nd.pow %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @and(%0: !t, %1: !u) -> !t {
  %r = nd.and %0, %1 : (!t, !u) -> !t
  return %r : !t
}

func.func @or(%0: !t, %1: !u) -> !t {
  %r = nd.or %0, %1 : (!t, !u) -> !t
  return %r : !t
}

func.func @in_generation(%0: !x, %1: !g) -> !x {
  %r = nd.in_generation %0, %1 : (!x, !g) -> !x
  return %r : !x
}

func.func @compare(%0: !x, %1: !g) -> !t {
  %r = nd.compare lt %0, %1 : (!x, !g) -> !t
  return %r : !t
}

func.func @select(%0: !u, %1: !x, %2: !x) -> !x {
  %r = nd.select %0, %1, %2 : (!u, !x, !x) -> !x
  return %r : !x
}

func.func @cast(%0: !x) -> !h {
  %r = nd.cast %0 : (!x) -> !h
  return %r : !h
}

func.func @reduce_sum(%0: !x) -> !b {
  %r = nd.reduce_sum %0 {dims = ["m"]} : (!x) -> !b
  return %r : !b
}

func.func @reduce_mean(%0: !x) -> !b {
  %r = nd.reduce_mean %0 {dims = ["m"]} : (!x) -> !b
  return %r : !b
}

func.func @reduce_max(%0: !x) -> !b {
  %r = nd.reduce_max %0 {dims = ["m"]} : (!x) -> !b
  return %r : !b
}

func.func @reduce_min(%0: !x) -> !b {
  %r = nd.reduce_min %0 {dims = ["m"]} : (!x) -> !b
  return %r : !b
}

func.func @reduce_prod(%0: !x) -> !b {
  %r = nd.reduce_prod %0 {dims = ["m"]} : (!x) -> !b
  return %r : !b
}

func.func @cumsum(%0: !x) -> !x {
  %r = nd.cumsum %0 {dim = "m"} : (!x) -> !x
  return %r : !x
}

func.func @prefix_sum(%0: !x) -> !x {
  %r = nd.prefix_sum %0 {dim = "m"} : (!x) -> !x
  return %r : !x
}

func.func @custom_gradient(%0: !x, %1: !x, %2: !x) -> !x {
  %r = nd.custom_gradient values(%0: !x) arguments(%1: !x) residuals(%2: !x) -> !x {
  ^bb0(%g: !x, %s: !x):
    %d = nd.mul %g, %s : (!x, !x) -> !x
    nd.yield %d : !x
  }
  return %r : !x
}

func.func @argsort(%0: !x) -> !nd.tensor<i32, [b = 8, m = 16]> {
  %r = nd.argsort %0 {dim = "m", into = "m", count = 16 : i64} : (!x) -> !nd.tensor<i32, [b = 8, m = 16]>
  return %r : !nd.tensor<i32, [b = 8, m = 16]>
}

func.func @top_k(%0: !x) -> !nd.tensor<i32, [b = 8, k = 2]> {
  %r = nd.top_k %0 {dim = "m", into = "k", count = 2 : i64} : (!x) -> !nd.tensor<i32, [b = 8, k = 2]>
  return %r : !nd.tensor<i32, [b = 8, k = 2]>
}

func.func @argmax(%0: !x) -> !bi {
  %r = nd.argmax %0 {dim = "m"} : (!x) -> !bi
  return %r : !bi
}

func.func @einsum(%0: !x, %1: !w) -> !y {
  %r = nd.einsum %0, %1 {reduced = ["m"]} : (!x, !w) -> !y
  return %r : !y
}

func.func @softmax(%0: !x) -> !x {
  %r = nd.softmax %0 {dim = "m"} : (!x) -> !x
  return %r : !x
}

func.func @log_softmax(%0: !x) -> !x {
  %r = nd.log_softmax %0 {dim = "m"} : (!x) -> !x
  return %r : !x
}

func.func @cross_entropy(%0: !x, %1: !bi) -> !b {
  %r = nd.cross_entropy %0, %1 {dim = "m"} : (!x, !bi) -> !b
  return %r : !b
}

func.func @gather(%0: !e, %1: !bi) -> !x {
  %r = nd.gather %0, %1 {dim = "v"} : (!e, !bi) -> !x
  return %r : !x
}

func.func @scatter_add(%0: !x, %1: !bi) -> !e {
  %r = nd.scatter_add %0, %1 {dim = "v"} : (!x, !bi) -> !e
  return %r : !e
}

func.func @insert(%0: !x, %1: !b, %2: !bi) -> !x {
  %r = nd.insert %0, %1, %2 {dim = "m"} : (!x, !b, !bi) -> !x
  return %r : !x
}

func.func @one_hot(%0: !bi) -> !x {
  %r = nd.one_hot %0 {dim = "m"} : (!bi) -> !x
  return %r : !x
}

func.func @broadcast(%0: !g) -> !x {
  %r = nd.broadcast %0 : (!g) -> !x
  return %r : !x
}

func.func @rename(%0: !x) -> !z {
  %r = nd.rename %0 {from = ["m"], to = ["k"]} : (!x) -> !z
  return %r : !z
}

func.func @split_dim(%0: !x) -> !s {
  %r = nd.split_dim %0 {dim = "m", into = ["h", "d"], sizes = array<i64: 4, 4>} : (!x) -> !s
  return %r : !s
}

func.func @merge_dims(%0: !s) -> !x {
  %r = nd.merge_dims %0 {dims = ["h", "d"], into = "m"} : (!s) -> !x
  return %r : !x
}

func.func @slice(%0: !x) -> !half {
  %r = nd.slice %0 {dim = "m", size = 8 : i64, start = 4 : i64} : (!x) -> !half
  return %r : !half
}

func.func @concat(%0: !half, %1: !half) -> !x {
  %r = nd.concat %0, %1 {dim = "m"} : (!half, !half) -> !x
  return %r : !x
}

func.func @pad(%0: !half) -> !x {
  %r = nd.pad %0 {dim = "m", high = 0 : i64, low = 8 : i64, value = 0.0 : f64} : (!half) -> !x
  return %r : !x
}

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

func.func @iota() -> !i {
  %r = nd.iota : () -> !i
  return %r : !i
}

func.func @step() -> !n {
  %r = nd.step : () -> !n
  return %r : !n
}
func.func @setting_value() -> !nd.tensor<f32, []> {
  %r = nd.setting_value "lr" = 0.1 : !nd.tensor<f32, []>
  return %r : !nd.tensor<f32, []>
}

func.func @attention(%0: !q, %1: !k, %2: !k, %3: !mask, %4: !bias, %8: !rowLabels, %9: !memoryLabels) -> (!q, !rows) {
  %r:2 = nd.attention %0, %1, %2, %3, %4, %8, %9 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>, predicate = #nd<predicate eq>} : (!q, !k, !k, !mask, !bias, !rowLabels, !memoryLabels) -> (!q, !rows)
  return %r#0, %r#1 : !q, !rows
}

func.func @attention_gradient(%0: !q, %1: !k, %2: !k, %3: !mask, %4: !bias, %8: !rowLabels, %9: !memoryLabels, %5: !q, %6: !rows, %7: !q) -> (!q, !k, !k) {
  %r:3 = nd.attention_gradient %0, %1, %2, %3, %4, %8, %9, %5, %6, %7 {key = "d", memory = "m", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>, predicate = #nd<predicate eq>} : (!q, !k, !k, !mask, !bias, !rowLabels, !memoryLabels, !q, !rows, !q) -> (!q, !k, !k)
  return %r#0, %r#1, %r#2 : !q, !k, !k
}

func.func @constant() -> !x {
  %r = nd.constant 1.0 : f32 -> !x
  return %r : !x
}

func.func @random() -> !x {
  %r = nd.random normal "dropout" : !x
  return %r : !x
}

func.func @sgd_update(%0: !w, %1: !w, %2: !n) -> !w {
  %r = nd.sgd_update %0, %1, %2 {settings = {lr = 0.1}} : (!w, !w, !n) -> !w
  return %r : !w
}

func.func @momentum_update(%0: !w, %1: !w, %2: !n, %3: !w) -> (!w, !w) {
  %r:2 = nd.momentum_update %0, %1, %2, %3 {settings = {lr = 0.1}} : (!w, !w, !n, !w) -> (!w, !w)
  return %r#0, %r#1 : !w, !w
}

func.func @adam_update(%0: !w, %1: !w, %2: !n, %3: !w, %4: !w) -> (!w, !w, !w) {
  %r:3 = nd.adam_update %0, %1, %2, %3, %4 {settings = {lr = 0.1}} : (!w, !w, !n, !w, !w) -> (!w, !w, !w)
  return %r#0, %r#1, %r#2 : !w, !w, !w
}

func.func @adamw_update(%0: !w, %1: !w, %2: !n, %3: !w, %4: !w) -> (!w, !w, !w) {
  %r:3 = nd.adamw_update %0, %1, %2, %3, %4 {settings = {lr = 0.1}} : (!w, !w, !n, !w, !w) -> (!w, !w, !w)
  return %r#0, %r#1, %r#2 : !w, !w, !w
}

func.func @lion_update(%0: !w, %1: !w, %2: !n, %3: !w) -> (!w, !w) {
  %r:2 = nd.lion_update %0, %1, %2, %3 {settings = {lr = 0.1}} : (!w, !w, !n, !w) -> (!w, !w)
  return %r#0, %r#1 : !w, !w
}

func.func @lars_update(%0: !w, %1: !w, %2: !n, %3: !w) -> (!w, !w) {
  %r:2 = nd.lars_update %0, %1, %2, %3 {settings = {lr = 0.1}} : (!w, !w, !n, !w) -> (!w, !w)
  return %r#0, %r#1 : !w, !w
}

func.func @lamb_update(%0: !w, %1: !w, %2: !n, %3: !w, %4: !w) -> (!w, !w, !w) {
  %r:3 = nd.lamb_update %0, %1, %2, %3, %4 {settings = {lr = 0.1}} : (!w, !w, !n, !w, !w) -> (!w, !w, !w)
  return %r#0, %r#1, %r#2 : !w, !w, !w
}

func.func @adafactor_update(%0: !w, %1: !w, %2: !n, %3: !row, %4: !col) -> (!w, !row, !col) {
  %r:3 = nd.adafactor_update %0, %1, %2, %3, %4 {settings = {lr = 0.1, min_factored = 2.0}} : (!w, !w, !n, !row, !col) -> (!w, !row, !col)
  return %r#0, %r#1, %r#2 : !w, !row, !col
}

func.func @running_sum(%0: !b, %1: !b, %2: !b) -> !b {
  %r = nd.running_sum %0, %1, %2 : (!b, !b, !b) -> !b
  return %r : !b
}
