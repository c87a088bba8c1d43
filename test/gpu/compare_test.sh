#!/usr/bin/env bash
# compare_test.sh COMPARE_CHECKPOINTS: which checkpoints it considers equal.
set -u
compare=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# checkpoint FILE DTYPE ELEMENT-BYTES COUNT VALUE LAST-VALUE: one tensor 'w' of
# COUNT elements; values are bytes in hexadecimal digits.
checkpoint() {
  local header="{\"w\":{\"dtype\":\"$2\",\"shape\":[$4],\"data_offsets\":[0,$(($3 * $4))]}}"
  while [ $((${#header} % 8)) != 0 ]; do header+=" "; done
  {
    printf "\\x$(printf %02x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"
    printf "$({ yes "$5" | head -n $(($4 - 1)); echo "$6"; } | tr -d '\n' | sed 's/../\\x&/g')"
  } >"$work/$1"
}
# expect CODE PART [TOLERANCE]
expect() {
  local out code
  out=$("$compare" "$work/a" "$work/b" ${3:-})
  code=$?
  [ $code = "$1" ] && [[ $out == *"$2"* ]] || fail "wanted $1, '$2'; got $code: $out"
}

one=0000803f two=00000040 near=0ad7833f # 1, 2, 1.03
checkpoint a F32 4 40000 $one $one
checkpoint b F32 4 40000 $one $one
expect 0 "parameters differ by 0.0e+00 at most ('w'), in one place by 0.0e+00"
checkpoint b F32 4 40000 $one $near
expect 0 "parameters differ by 1.5e-04 at most ('w'), in one place by 3.0e-02"
expect 1 "'w' differs by 1.5e-04, in one place by 3.0e-02" 1e-3
# One element of many, which the mean does not reveal.
checkpoint b F32 4 40000 $one $two
expect 1 "'w' differs by 5.0e-03, in one place by 1.0e+00"
checkpoint b F32 4 40000 $near $near
expect 1 "'w' differs by 3.0e-02"
checkpoint b F32 4 40000 $one 0000c07f # not a number
expect 1 "'w' differs by inf"
checkpoint a I32 4 8 01000000 01000000
checkpoint b I32 4 8 01000000 02000000
expect 1 "'w' is not the same"
checkpoint b I32 4 8 01000000 01000000
expect 0 "parameters differ by 0.0e+00"
checkpoint a BF16 2 8 803f 803f
checkpoint b BF16 2 8 843f 843f # 1.03
expect 0 "parameters differ by 3.1e-02"

[ $failures = 0 ] && echo passed
exit $((failures != 0))
