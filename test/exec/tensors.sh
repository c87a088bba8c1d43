# Sourced by tests: files of numbers, and tensors in checkpoints.

# write_f32 FILE SHAPE ELEMENT...: an NPY file of f32. An element is four bytes as printf writes them.
write_f32() {
  local file=$1
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': $2, }" >"$file"
  shift 2
  for element in "$@"; do printf "$element" >>"$file"; done
}

# tensor FILE NAME TYPE: the elements of a tensor in a safetensors file, one a line. TYPE is od's: f4 (F32), d4 (I32),
# x2 (bits of BF16 or F16).
tensor() {
  local length range
  length=$(od -An -tu8 -N8 "$1" | tr -d ' ')
  range=$(head -c $((8 + length)) "$1" | tail -c "$length" | grep -ao "\"$2\":{[^}]*}" |
    sed 's/.*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/')
  [ -n "$range" ] || { echo "no tensor $2 in $1" >&2; return 1; }
  set -- "$1" "$3" $range
  od -An -v -t "$2" -w"${2#?}" -j $((8 + length + $3)) -N $(($4 - $3)) "$1"
}
