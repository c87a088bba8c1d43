# For each program of the exec dialect: how many kernels and products a training step launches, those of loops once for each
# iteration.
/exec\.func @/ { inStep = /@train_step/; depth = 0; times[0] = 1 }
/exec\.loop "/ {
  for (i = 1; i < NF; ++i) if ($i == "exec.loop") size = $(i + 2)
  match($0, /^ */)
  times[depth + 1] = times[depth] * size
  indent[++depth] = RLENGTH
}
/^ *}/ { match($0, /^ */); if (depth > 0 && RLENGTH == indent[depth]) --depth }
inStep && /exec\.launch/ { launches += times[depth] }
inStep && /exec\.gemm/ { products += times[depth] }
/exec\.func @eval_step/ && !isCounted[FILENAME]++ {
  print launches " launches, " products " products"
  launches = products = 0
}
