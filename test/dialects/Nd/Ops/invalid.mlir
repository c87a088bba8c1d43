// RUN: mesh-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{dim 'x' is given twice}}
func.func @f(%a: !nd.tensor<f32, [x = 2, x = 3]>) { return }

// -----

// expected-error @+1 {{size of dim 'x' must be positive, got 0}}
func.func @f(%a: !nd.tensor<f32, [x = 0]>) { return }

// -----

// expected-error @+1 {{element type must be f32, bf16, f16, i32 or i1, got 'f64'}}
func.func @f(%a: !nd.tensor<f64, [x = 2]>) { return }

// -----

// expected-error @+1 {{mesh axis 'a' is used twice in one tensor type}}
func.func @f(%a: !nd.tensor<f32, [x = 2 on {a}], sum {a}>) { return }

// -----

// expected-error @+1 {{mesh axis 'a' is given twice}}
module attributes {nd.mesh = #nd.mesh<a = 2, a = 3>} {}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+1 {{the result lacks dim 'x' of the operand; reduce it first}}
  %b = nd.broadcast %a : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<f32, [y = 2]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+1 {{dim 'x' has size 2 in the operand and 3 in the result}}
  %b = nd.broadcast %a : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<f32, [x = 3]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+1 {{element types differ: operand has 'f32', result has 'i32'}}
  %b = nd.broadcast %a : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<i32, [x = 2]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2, y = 3]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{rename: the operand has no dim 'z'; its dims are 'x', 'y'}}
  %b = nd.rename %a {from = ["z"], to = ["y"]} : (!nd.tensor<f32, [x = 2, y = 3]>) -> !nd.tensor<f32, [x = 2, y = 3]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2, y = 3]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{rename: the result would have two dims 'y'; choose a name that the operand does not have}}
  %b = nd.rename %a {from = ["x"], to = ["y"]} : (!nd.tensor<f32, [x = 2, y = 3]>) -> !nd.tensor<f32, [y = 3]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 6]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{split_dim: dim 'x' has size 6, but the sizes given multiply to 8}}
  %b = nd.split_dim %a {dim = "x", into = ["q", "r"], sizes = array<i64: 2, 4>} : (!nd.tensor<f32, [x = 6]>) -> !nd.tensor<f32, [q = 2, r = 4]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 6]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{split_dim: 1 new dims with 2 sizes; give one size for each, at least one}}
  %b = nd.split_dim %a {dim = "x", into = ["q"], sizes = array<i64: 2, 3>} : (!nd.tensor<f32, [x = 6]>) -> !nd.tensor<f32, [q = 6]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 6, y = 2]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{merge_dims: dim 'x' is named twice; name it once}}
  %b = nd.merge_dims %a {dims = ["x", "x"], into = "m"} : (!nd.tensor<f32, [x = 6, y = 2]>) -> !nd.tensor<f32, [m = 36]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 6]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{slice: 4 entries from 3 do not lie within dim 'x' of size 6}}
  %b = nd.slice %a {dim = "x", start = 3, size = 4} : (!nd.tensor<f32, [x = 6]>) -> !nd.tensor<f32, [x = 4]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 6]>, %b: !nd.tensor<f32, [x = 6, y = 2]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{concat: dims other than 'x' differ: '!nd.tensor<f32, [x = 6]>' and '!nd.tensor<f32, [x = 6, y = 2]>'}}
  %c = nd.concat %a, %b {dim = "x"} : (!nd.tensor<f32, [x = 6]>, !nd.tensor<f32, [x = 6, y = 2]>) -> !nd.tensor<f32, [x = 12]>
  return
}

// -----

func.func @f() {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{concat: no operands; give at least one}}
  %c = nd.concat {dim = "x"} : () -> !nd.tensor<f32, [x = 12]>
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 6]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{pad: cannot add -1 entries before and 0 after dim 'x'; both must be between 0 and 2^48}}
  %b = nd.pad %a {dim = "x", low = -1, high = 0, value = 0.0 : f64} : (!nd.tensor<f32, [x = 6]>) -> !nd.tensor<f32, [x = 5]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{value has type 'f32', but the result's elements have type 'i32'}}
  %b = nd.constant 1.0 : f32 -> !nd.tensor<i32, []>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{the result must have one dim, got 'x', 'y'; broadcast it to the others}}
  %b = nd.iota : () -> !nd.tensor<i32, [x = 2, y = 2]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{elements must be floats, got 'i32'}}
  %b = nd.random uniform "u" : !nd.tensor<i32, [x = 2]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{the result must be '!nd.tensor<i32, []>', got '!nd.tensor<f32, []>'}}
  %b = nd.step : () -> !nd.tensor<f32, []>
  return
}

// -----

func.func @f(%t: !nd.tensor<f32, [v = 6]>, %i: !nd.tensor<f32, [b = 2]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{gather: indices must be i32, got 'f32'}}
  %a = nd.gather %t, %i {dim = "v"} : (!nd.tensor<f32, [v = 6]>, !nd.tensor<f32, [b = 2]>) -> !nd.tensor<f32, [b = 2]>
  return
}

// -----

func.func @f(%t: !nd.tensor<f32, [v = 6]>, %i: !nd.tensor<i32, [v = 2]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{gather: the indices have dim 'v', along which they index; rename it}}
  %a = nd.gather %t, %i {dim = "v"} : (!nd.tensor<f32, [v = 6]>, !nd.tensor<i32, [v = 2]>) -> !nd.tensor<f32, [v = 2]>
  return
}

// -----

func.func @f(%t: !nd.tensor<f32, [v = 6, b = 3]>, %i: !nd.tensor<i32, [b = 2]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{gather: dim 'b' has sizes 3 and 2; rename one of them}}
  %a = nd.gather %t, %i {dim = "v"} : (!nd.tensor<f32, [v = 6, b = 3]>, !nd.tensor<i32, [b = 2]>) -> !nd.tensor<f32, [b = 2]>
  return
}

// -----

func.func @f(%u: !nd.tensor<f32, [b = 2, e = 3]>, %i: !nd.tensor<i32, [b = 2]>) {
  // expected-error @+1 {{dim 'e' of the updates is neither the result's nor the indices'}}
  %a = nd.scatter_add %u, %i {dim = "v"} : (!nd.tensor<f32, [b = 2, e = 3]>, !nd.tensor<i32, [b = 2]>) -> !nd.tensor<f32, [v = 6]>
  return
}

// -----

func.func @f(%u: !nd.tensor<f32, [b = 2]>, %i: !nd.tensor<i32, [b = 2]>) {
  // expected-error @+1 {{dim 'e' of size 3 of the result is not a dim of the updates}}
  %a = nd.scatter_add %u, %i {dim = "v"} : (!nd.tensor<f32, [b = 2]>, !nd.tensor<i32, [b = 2]>) -> !nd.tensor<f32, [v = 6, e = 3]>
  return
}

// -----

func.func @f(%t: !nd.tensor<f32, [v = 6, e = 3]>, %u: !nd.tensor<f32, [e = 2]>, %i: !nd.tensor<i32, []>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{insert: the updates must be '!nd.tensor<f32, [e = 3]>', the table without dim 'v' with the dims of the indices, got '!nd.tensor<f32, [e = 2]>'}}
  %a = nd.insert %t, %u, %i {dim = "v"} : (!nd.tensor<f32, [v = 6, e = 3]>, !nd.tensor<f32, [e = 2]>, !nd.tensor<i32, []>) -> !nd.tensor<f32, [v = 6, e = 3]>
  return
}

// -----

func.func @f(%t: !nd.tensor<f32, [v = 6]>, %u: !nd.tensor<f32, [v = 6]>, %i: !nd.tensor<i32, [v = 6]>) {
  // expected-error @+2 {{failed to infer}}
  // expected-error @+1 {{insert: the indices have dim 'v', along which they index; rename it}}
  %a = nd.insert %t, %u, %i {dim = "v"} : (!nd.tensor<f32, [v = 6]>, !nd.tensor<f32, [v = 6]>, !nd.tensor<i32, [v = 6]>) -> !nd.tensor<f32, [v = 6]>
  return
}

// -----

func.func @f(%i: !nd.tensor<i32, [b = 2]>) {
  // expected-error @+1 {{the result without dim 'v' must be '!nd.tensor<f32, [b = 2]>' like the indices, got '!nd.tensor<f32, []>'}}
  %a = nd.one_hot %i {dim = "v"} : (!nd.tensor<i32, [b = 2]>) -> !nd.tensor<f32, [v = 6]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{order names 1 of the parameter's 2 dims; name all of them}}
  %w = nd.parameter "w" ["y"] : !nd.tensor<f32, [x = 2, y = 3]> {
    %r = nd.random normal "w" : !nd.tensor<f32, [x = 2, y = 3]>
    nd.yield %r : !nd.tensor<f32, [x = 2, y = 3]>
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{the initializer must yield one '!nd.tensor<f32, [x = 2]>', got '!nd.tensor<f32, [x = 3]>'}}
  %w = nd.parameter "w" ["x"] : !nd.tensor<f32, [x = 2]> {
    %r = nd.random normal "w" : !nd.tensor<f32, [x = 3]>
    nd.yield %r : !nd.tensor<f32, [x = 3]>
  }
  return
}

// -----

// expected-error @+1 {{expected mesh axes after 'on'}}
func.func @f(%a: !nd.tensor<f32, [x = 2 on {}]>) { return }

// -----

// expected-error @+1 {{expected sum, max, min or prod, got 'mean'}}
func.func @f(%a: !nd.tensor<f32, [x = 2], mean {a}>) { return }

// -----

// expected-error @+1 {{tensor has more than 2^60 elements}}
func.func @f(%a: !nd.tensor<f32, [x = 1073741824, y = 1073741825]>) { return }

// -----

// expected-error @+1 {{the mesh has more than 2^30 ranks}}
module attributes {nd.mesh = #nd.mesh<a = 65536, b = 65536>} {}

// -----

func.func @f(%u: !nd.tensor<f32, [i = 2]>, %i: !nd.tensor<i32, [i = 2]>) {
  // expected-error @+1 {{element types differ: updates have 'f32', the result has 'bf16'}}
  %b = nd.scatter_add %u, %i {dim = "v"} : (!nd.tensor<f32, [i = 2]>, !nd.tensor<i32, [i = 2]>) -> !nd.tensor<bf16, [v = 8]>
  return
}

// -----

func.func @f(%u: !nd.tensor<f32, [i = 2]>, %i: !nd.tensor<i32, [i = 2]>) {
  // expected-error @+1 {{the result has no dim 'v'; its dims are 'w'}}
  %b = nd.scatter_add %u, %i {dim = "v"} : (!nd.tensor<f32, [i = 2]>, !nd.tensor<i32, [i = 2]>) -> !nd.tensor<f32, [w = 8]>
  return
}

// -----

func.func @f(%u: !nd.tensor<f32, [i = 2]>, %i: !nd.tensor<i32, [i = 2]>, %t: !nd.tensor<f32, [v = 9]>) {
  // expected-error @+1 {{the table must be '!nd.tensor<f32, [v = 8]>' like the result, got '!nd.tensor<f32, [v = 9]>'}}
  %b = nd.scatter_add %u, %i into %t {dim = "v"} : (!nd.tensor<f32, [i = 2]>, !nd.tensor<i32, [i = 2]>, !nd.tensor<f32, [v = 9]>) -> !nd.tensor<f32, [v = 8]>
  return
}

// -----

func.func @f(%u: !nd.tensor<f32, [i = 2, j = 3, k = 5]>, %i: !nd.tensor<i32, [i = 2, j = 3, k = 5]>, %o: !nd.tensor<i32, [j = 3, o = 12]>) {
  // expected-error @+1 {{the order must be i32, with the dims that the indices share with the result and one dim of 10 places, got '!nd.tensor<i32, [j = 3, o = 12]>'}}
  %b = nd.scatter_add %u, %i ordered %o {dim = "v"} : (!nd.tensor<f32, [i = 2, j = 3, k = 5]>, !nd.tensor<i32, [i = 2, j = 3, k = 5]>, !nd.tensor<i32, [j = 3, o = 12]>) -> !nd.tensor<f32, [j = 3, v = 8]>
  return
}

// -----

func.func @f(%u: !nd.tensor<f32, [v = 8]>, %i: !nd.tensor<i32, [i = 2]>) {
  // expected-error @+1 {{the updates have dim 'v', along which they are scattered; rename it}}
  %b = nd.scatter_add %u, %i {dim = "v"} : (!nd.tensor<f32, [v = 8]>, !nd.tensor<i32, [i = 2]>) -> !nd.tensor<f32, [v = 8]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{order names dim 'j', which the parameter does not have; its dims are 'i'}}
  %w = nd.parameter "w" ["j"] : !nd.tensor<f32, [i = 2]> {
    %0 = nd.constant 1.0 : f32 -> !nd.tensor<f32, [i = 2]>
    nd.yield %0 : !nd.tensor<f32, [i = 2]>
  }
  return
}

// -----

func.func @f(%a: !nd.tensor<f32, [x = 2]>) {
  // expected-error @+1 {{changes the element type only, got dims of}}
  %b = nd.cast %a : (!nd.tensor<f32, [x = 2]>) -> !nd.tensor<i32, [x = 3]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{elements must be i32 or floats, got i1}}
  %b = nd.iota : () -> !nd.tensor<i1, [x = 2]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{the result cannot be partial unless it is a sum of zeros: got '!nd.tensor<f32, [x = 2], sum {a}>'}}
  %b = nd.constant 1.0 : f32 -> !nd.tensor<f32, [x = 2], sum {a}>
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %g: !nd.tensor<f32, [x = 3]>, %n: !n) {
  // expected-error @+1 {{expects a gradient of the parameter's type '!nd.tensor<f32, [x = 2]>', or of its dims in f32, got '!nd.tensor<f32, [x = 3]>'}}
  %b = nd.sgd_update %w, %g, %n {settings = {lr = 0.1}} : (!w, !nd.tensor<f32, [x = 3]>, !n) -> !w
  return
}

// -----

!w = !nd.tensor<i32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{updates floats, got a parameter of type '!nd.tensor<i32, [x = 2]>'}}
  %b = nd.sgd_update %w, %w, %n {settings = {lr = 0.1}} : (!w, !w, !n) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{expects a scalar f32 as setting 'lr', got '!nd.tensor<f32, [x = 2]>'}}
  %b = nd.sgd_update %w, %w, %n, %w {computed = ["lr"]} : (!w, !w, !n, !w) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!s = !nd.tensor<f32, []>
func.func @f(%w: !w, %s: !s) {
  // expected-error @+1 {{expects a scalar i32 as the number of updates, got '!nd.tensor<f32, []>'}}
  %b = nd.sgd_update %w, %w, %s {settings = {lr = 0.1}} : (!w, !w, !s) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!v = !nd.tensor<bf16, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %v: !v, %n: !n) {
  // expected-error @+1 {{expects slot 'velocity' of type '!nd.tensor<f32, [x = 2]>', got '!nd.tensor<bf16, [x = 2]>'}}
  %b:2 = nd.momentum_update %w, %w, %n, %v {settings = {lr = 0.1}} : (!w, !w, !n, !v) -> (!w, !v)
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{setting 'momentum' must be in [0, 1), got 2}}
  %b:2 = nd.momentum_update %w, %w, %n, %w {settings = {lr = 0.1, momentum = 2.0}} : (!w, !w, !n, !w) -> (!w, !w)
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{setting 'nesterov' must be 0 or 1, got 0.5}}
  %b:2 = nd.momentum_update %w, %w, %n, %w {settings = {lr = 0.1, nesterov = 0.5}} : (!w, !w, !n, !w) -> (!w, !w)
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!s = !nd.tensor<f32, []>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %s: !s, %n: !n) {
  // expected-error @+1 {{expects a constant for setting 'nesterov'}}
  %b:2 = nd.momentum_update %w, %w, %n, %w, %s {settings = {lr = 0.1}, computed = ["nesterov"]} : (!w, !w, !n, !w, !s) -> (!w, !w)
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{expects each adjustable setting to be a number of 'settings' and to name an nd.run_setting, got 'nesterov' = "nesterov"}}
  %b:2 = nd.momentum_update %w, %w, %n, %w {settings = {lr = 0.1, nesterov = 1.0}, adjustable = {nesterov = "nesterov"}} : (!w, !w, !n, !w) -> (!w, !w)
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{got 'momentum' = "momentum"}}
  %b:2 = nd.momentum_update %w, %w, %n, %w {settings = {lr = 0.1}, adjustable = {momentum = "momentum"}} : (!w, !w, !n, !w) -> (!w, !w)
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{the result must be '!nd.tensor<f32, []>', got '!nd.tensor<f32, [x = 2]>'}}
  %a = nd.setting_value "lr" = 0.1 : !nd.tensor<f32, [x = 2]>
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!s = !nd.tensor<f32, []>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %s: !s, %n: !n) {
  // expected-error @+1 {{setting 'lr' is given twice}}
  %b = nd.sgd_update %w, %w, %n, %s {settings = {lr = 0.1}, computed = ["lr"]} : (!w, !w, !n, !s) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{needs setting 'lr'}}
  %b = nd.sgd_update %w, %w, %n : (!w, !w, !n) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{has no setting 'beta'}}
  %b = nd.sgd_update %w, %w, %n {settings = {beta = 0.1, lr = 0.1}} : (!w, !w, !n) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{expects setting 'lr' to be an f64, got 1 : i64}}
  %b = nd.sgd_update %w, %w, %n {settings = {lr = 1 : i64}} : (!w, !w, !n) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{expects 4 operands and 2 results: the parameter, its gradient, the number of updates, 1 slots and 0 computed settings; got 3 and 1}}
  %b = nd.momentum_update %w, %w, %n {settings = {lr = 0.1}} : (!w, !w, !n) -> !w
  return
}

// -----

!w = !nd.tensor<f32, [x = 2]>
!n = !nd.tensor<i32, []>
func.func @f(%w: !w, %n: !n) {
  // expected-error @+1 {{is of a parameter without the stacked dim 'layers': '!nd.tensor<f32, [x = 2]>'}}
  %b = nd.sgd_update %w, %w, %n {settings = {lr = 0.1}, stacked = ["layers"]} : (!w, !w, !n) -> !w
  return
}

// -----

module {
  nd.train @m "loss" "sgd" {
    // expected-error @+1 {{expects either a number or a value}}
    nd.setting "lr"
  }
}

// -----

module {
  nd.train @m "loss" "sgd" {
    %n = nd.step : () -> !nd.tensor<i32, []>
    // expected-error @+1 {{expects a scalar f32, got '!nd.tensor<i32, []>'}}
    nd.setting "lr"(%n : !nd.tensor<i32, []>)
  }
}

// -----

module {
  nd.train @m "loss" "sgd" {
    // expected-error @+1 {{expects either a number or a value}}
    nd.clip as "norm"
  }
}

// -----

module {
  nd.train @m "loss" "sgd" {
    // expected-error @+1 {{expects a bound above 0}}
    nd.clip = 0.0
  }
}

// -----

module {
  nd.train @m "loss" "sgd" {
    // expected-error @+1 {{expects a decay from 0 to below 1, got 1}}
    nd.average = 1.0
  }
}

// -----

module {
  nd.train @m "loss" "sgd" {
    // expected-error @+1 {{expects either a number or a value}}
    nd.average
  }
}

// -----

func.func @f(%t: !nd.tensor<f32, [v = 6]>, %i: !nd.tensor<i32, [b = 2]>) {
  // expected-error @+1 {{needs 'along' to name a dim of the indices that the table lacks, got 'v'}}
  %a = nd.gather %t, %i {along = "v", dim = "v"} : (!nd.tensor<f32, [v = 6]>, !nd.tensor<i32, [b = 2]>) -> !nd.tensor<f32, [b = 2]>
  return
}

// -----

module attributes {nd.mesh = #nd.mesh<a = 2>} {
  func.func @f(%u: !nd.tensor<f32, [b = 2 on {a}]>, %i: !nd.tensor<i32, [b = 2 on {a}]>) {
    // expected-error @+1 {{needs dim 'v' of the table to be cut as dim 'b' of the indices is: they are '!nd.tensor<f32, [v = 6]>' and '!nd.tensor<i32, [b = 2 on {a}]>'}}
    %a = nd.scatter_add %u, %i {along = "b", dim = "v"} : (!nd.tensor<f32, [b = 2 on {a}]>, !nd.tensor<i32, [b = 2 on {a}]>) -> !nd.tensor<f32, [v = 6]>
    return
  }
}
