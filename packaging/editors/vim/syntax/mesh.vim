" Vim syntax file
" Language: meshc models (.mesh)
if exists("b:current_syntax")
  finish
endif

syn match meshDeclaration "\(^\|[;{]\)\s*\zs\(import\|dim\|let\|const\|mesh\|layout\|fn\|model\|param\|metric\|train\|generate\)\>"
syn keyword meshKeyword and or not inf for return minimize with accumulate average precision from over along
syn match meshKeyword "\<recompute\ze\s*{"
syn match meshKeyword "\(^\|[;{]\)\s*\zsrequire\>\ze\s*[[:alnum:]_(-]"
syn match meshKeyword "\(^\|}\)\s*\zsgradient\ze\s*("
syn match meshKeyword "}\s*\zswhile\>"
syn match meshKeyword "\]\s*\zsover\>"
syn match meshKeyword "\<for\s\+\w\+\s\+\zsbackwards\>"
syn keyword meshType f32 bf16 f16 i32 i1
syn match meshDims "\(^\|[;{,]\)\s*\w\+\zs\[[[:alnum:]_, ]*\]\ze\s*\(:\s*\w\+\s*\)\?\(=\|,\)"
syn keyword meshFunction abs argmax argsort broadcast cast categorical concat cos cross_entropy cumsum dot dot_attention
syn keyword meshFunction dropout einsum erf exp floor gather gelu in_generation iota log
syn keyword meshFunction log_softmax max maximum mean merge min minimum mod
syn keyword meshFunction one_hot pad prod random_normal random_uniform
syn keyword meshFunction reciprocal relu rename rsqrt sigmoid sign silu sin
syn keyword meshFunction size slice softmax softplus sort split sqrt square step
syn keyword meshFunction stop_gradient sum tanh top_k where
syn match meshKeyword "\<import\>.*\zs\<as\>\ze\s"
syn region meshString start=+"+ end=+"+ oneline
syn match meshNumber "\<\d\+\(\.\d\+\)\?\([eE][+-]\?\d\+\)\?\>"
syn match meshOperator "->?\?\|\*\*\|[=!<>]=\|[-+*/<>=~]"
" Vim prefers the last item that matches: comments go before operators.
syn match meshComment "//.*$"
syn region meshComment start="/\*" end="\*/"

hi def link meshComment Comment
hi def link meshDeclaration Statement
hi def link meshKeyword Keyword
hi def link meshString String
hi def link meshType Type
hi def link meshDims Type
hi def link meshFunction Function
hi def link meshNumber Number
hi def link meshOperator Operator

let b:current_syntax = "mesh"
