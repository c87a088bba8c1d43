//===- Model.td - parameters, layout rules, training ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_MODEL_TD
#define MESHC_DIALECTS_ND_OPS_MODEL_TD

include "dialects/Nd/NdOp.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Nd_ParameterOp : Op<Nd_Dialect, "parameter", [SingleBlockImplicitTerminator<"YieldOp">, IsolatedFromAbove]> {
  let summary = "a trained tensor of the model; the region computes its initial value";
  let description = [{
        %w = nd.parameter "w" ["pixel", "hidden"] : !nd.tensor<…> {
          %r = nd.random normal "w" : !nd.tensor<…>
          …
          nd.yield %x : !nd.tensor<…>
        }
    Allowed only in the function of the model. The steps phase turns it into an argument.
    `stacked` names dims of loops: each of their entries is a parameter of its own,
    which matters to optimizers that look at whole parameters.
  }];
  let arguments = (ins StrAttr:$name, Nd_DimNames:$order, OptionalAttr<Nd_DimNames>:$stacked);
  let regions = (region SizedRegion<1>:$initializer);
  let results = (outs Nd_TensorType:$result);
  let assemblyFormat = "$name $order attr-dict `:` qualified(type($result)) $initializer";
  let hasVerifier = 1;
}
def Nd_YieldOp : Op<Nd_Dialect, "yield", [Pure, ReturnLike, Terminator]> {
  let summary = "the values of the region";
  let arguments = (ins Variadic<Nd_TensorType>:$values);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "($values^ `:` qualified(type($values)))? attr-dict";
}
def Nd_RuleOp : Op<Nd_Dialect, "rule", []> {
  let summary = "one rule of the layout: `nd.rule \"heads\" -> [\"tensor\"]`";
  let description = [{
    In the module's body. `scope` is a class of tensors ("parameter", "gradient",
    "optimizer", "activation") or the name of one tensor. With `optional` (`->?`),
    the dim or the axes may be absent. With `weak` (`~>`), the rule yields each of its
    axes in tensors where another rule takes it. Of several axes, the first is the
    outermost.
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$scope, StrAttr:$dim, TypedArrayAttrBase<StrAttr, "axes">:$axes,
                       UnitAttr:$optional, UnitAttr:$weak);
  let assemblyFormat = "$dim `->` $axes (`in` $scope^)? (`optional` $optional^)? (`weak` $weak^)? attr-dict";
  let extraClassDeclaration = [{
    /// The rule as written: "parameter.model -> (pod, data)".
    std::string getText();
  }];
}
def Nd_TrainOp : Op<Nd_Dialect, "train", [IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "how the model is trained";
  let description = [{
        nd.train @gpt "loss" "adamw" {
          nd.setting "weight_decay" = 0.1
          nd.setting "weight_decay" = 0.0 of ["*.bias", "*.gain"]
          %step = nd.step : () -> !nd.tensor<i32, []>
          …
          nd.setting "lr"(%rate : !nd.tensor<f32, []>)
        }
    In the module's body: minimizes the result `loss` (a scalar f32) with the op
    `nd.adamw_update`. The region computes, in each step, the settings that are not
    constant. With `accumulate 4`, the model's inputs are a micro-batch: a step runs
    the model on four of them, and updates once with the mean of their gradients.
    With `precision bf16` or `precision f16`, meshc-lower-precision lets the model
    compute in 16 bits where it may; with `wide_sums`, ranks do not round their
    parts of its sums. In f16, the loss is multiplied by `loss_scale` at first, which
    doubles after `scale_interval` steps whose gradients are finite.
  }];
  let arguments = (ins FlatSymbolRefAttr:$model, StrAttr:$loss, StrAttr:$optimizer,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$micro_batches,
                       OptionalAttr<TypeAttrOf<AnyTypeOf<[BF16, F16]>>>:$precision,
                       UnitAttr:$wide_sums,
                       DefaultValuedAttr<F64Attr, "65536.0">:$loss_scale,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "2000">:$scale_interval);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$model $loss $optimizer (`accumulate` $micro_batches^)? (`precision` $precision^ (`wide_sums` $wide_sums^)?)? $body attr-dict";
}
def Nd_ClipOp : Op<Nd_Dialect, "clip", [HasParent<"TrainOp">]> {
  let summary = "a bound for the norm of all gradients: a number, or a scalar f32 of the region";
  let description = [{
    The gradients are multiplied by min(1, bound / (norm + 1e-6)), where `norm` is
    the Euclidean norm of all of them together (Pascanu et al., arXiv 1211.5063).
    With `metric`, each training step has the norm as a result of that name.
  }];
  let arguments = (ins OptionalAttr<F64Attr>:$constant, Optional<Nd_TensorType>:$value, OptionalAttr<StrAttr>:$metric);
  let assemblyFormat = [{
    (`=` $constant^)? (`(` $value^ `:` qualified(type($value)) `)`)? (`as` $metric^)? attr-dict
  }];
  let hasVerifier = 1;
}
def Nd_AverageOp : Op<Nd_Dialect, "average", [HasParent<"TrainOp">]> {
  let summary = "the decay of the parameters' averages: a number, or a scalar f32 of the region";
  let description = [{
    Each parameter of floats has an exponential moving average over the steps, in
    f32, that begins at the parameter's initial value: after each update,
    a <- a + (1 - decay) * (p - a) with the new parameter p (Polyak and Juditsky,
    SIAM J. Control Optim. 30, 1992; the moving form of Tarvainen and Valpola,
    arXiv 1703.01780).
  }];
  let arguments = (ins OptionalAttr<F64Attr>:$constant, Optional<Nd_TensorType>:$value);
  let assemblyFormat = "(`=` $constant^)? (`(` $value^ `:` qualified(type($value)) `)`)? attr-dict";
  let hasVerifier = 1;
}
def Nd_SettingOp : Op<Nd_Dialect, "setting", [HasParent<"TrainOp">]> {
  let summary = "a setting of the optimizer: a number, or a scalar f32 of the region";
  let description = [{
    `patterns` choose the parameters by their names: `*` stands for any characters,
    points included. Without patterns, the setting is that of all parameters. If
    several ops give one setting of a parameter, the last of them counts. With
    `optional`, a pattern may match no parameter.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<F64Attr>:$constant, Optional<Nd_TensorType>:$value,
                       OptionalAttr<TypedArrayAttrBase<StrAttr, "patterns">>:$patterns, UnitAttr:$optional);
  let assemblyFormat = [{
    $name (`=` $constant^)? (`(` $value^ `:` qualified(type($value)) `)`)? (`of` $patterns^)? (`optional` $optional^)? attr-dict
  }];
  let hasVerifier = 1;
}
def Nd_RunSettingOp : Op<Nd_Dialect, "run_setting", []> {
  let summary = "a number of the training that a run may change: `nd.run_setting \"lr\" = 0.001`";
  let description = [{
    In the module's body, after the steps phase: a setting of the optimizer, the
    bound of the gradients' norm ("clip") or the decay of averages ("average").
    "*.bias.lr" is the setting of the parameters that a pattern matches. `value` is
    that of the model's text: a run may have another one that is finite, not
    negative, not 0 if `positive`, and below `limit`. A `fixed` value is a default
    that no run changes. Without a value, each step computes the setting.
    nd.setting_value reads it.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<F64Attr>:$value, OptionalAttr<F64Attr>:$limit,
                       UnitAttr:$positive, UnitAttr:$fixed);
  let assemblyFormat = [{
    $name (`=` $value^)? (`below` $limit^)? (`positive` $positive^)? (`fixed` $fixed^)? attr-dict
  }];
}
def Nd_GenerateOp : Op<Nd_Dialect, "generate", []> {
  let summary = "how text is generated from the model";
  let description = [{
        nd.generate @gpt "tokens" -> "logits" over "vocab" along "seq"

    In the module's body. `tokens` is an input, i32 with the dim `positions` and one
    that counts texts. `logits` is a result of the model with the role "logits",
    which also has the dim `vocab`: the scores of the token that follows each
    position.
  }];
  let arguments = (ins FlatSymbolRefAttr:$model, StrAttr:$tokens, StrAttr:$logits, StrAttr:$vocab,
                       StrAttr:$positions);
  let assemblyFormat = "$model $tokens `->` $logits `over` $vocab `along` $positions attr-dict";
}

#endif // MESHC_DIALECTS_ND_OPS_MODEL_TD
