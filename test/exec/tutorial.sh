#!/usr/bin/env bash
# The tutorial, typed: its files, its commands, and what it says that they print. Numbers may be others, as they depend on
# the processor.
. "$(dirname "$0")/lib.sh"
has_mpi || skip "no mpirun, or no libmeshc_mpi.so (meshc was built without MPI)"
[ -e $fashion ] || skip "no data set $fashion"

# Text to a script: `save FILE` with a model, `type_in` with commands, `prints` with what these print.
make_script() {
  awk '
    function end_block() {
      if (block == "")
        return
      if (block ~ /^(mkdir|export|meshc|mpirun|sed|\.\/)/)
        printf "type_in <<'\''end'\''\n%send\n", block
      else if (block !~ /^one rank/)
        printf "prints <<'\''end'\''\n%send\n", block
      block = ""
    }
    /^```mesh/ { end_block(); print "save " file " <<'\''end'\''"; inside = 1; next }
    /^```/ { print "end"; inside = 0; next }
    inside { print; next }
    /^          / && block == "" { next } # a drawing
    /^    / { block = block substr($0, 5) "\n"; next }
    { end_block() }
    match($0, /`[a-z]+\.mesh`/) { file = substr($0, RSTART + 1, RLENGTH - 2) }
    END { end_block() }
  ' "$root/docs/tutorial.md" | sed -e "s|/path/to/meshc/build|$build|" -e "s|/tmp/tutorial|$work/tutorial|g"
}

code=0 last=
finish_last() { # fails: whether the last command may
  [ $code = 0 ] || [ "${1:-}" = fails ] || { cat "$work/output.txt"; fail "'$last' ends with $code"; }
  code=0
}
save() {
  finish_last
  cat >"$1"
}
commands=0
type_in() {
  local line
  : >"$work/output.txt"
  while IFS= read -r line <&3; do
    finish_last
    last=$line
    eval "$line" >>"$work/output.txt" 2>&1 </dev/null || code=$?
    commands=$((commands + 1))
  done 3<&0
}
# Numbers and their units become N, spaces one.
plain() {
  tr '\r' '\n' | sed -E -e 's/[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?( (us|ms|s|B|kB|MB|GB))?\b/N/g' -e 's/ +/ /g' -e 's/^ //' -e 's/ $//'
}
lines=0
prints() {
  local expected line rest=1 found
  expected=$(cat)
  case $expected in *error:*) finish_last fails ;; *) finish_last ;; esac
  plain <"$work/output.txt" >"$work/plain.txt"
  while IFS= read -r line; do
    [ "$line" != … ] || continue
    line=$(printf '%s\n' "${line%…}" | plain)
    found=$(tail -n +$rest "$work/plain.txt" | grep -nF -m 1 -- "$line" | cut -d: -f1) ||
      found=
    [ -n "$found" ] || { cat "$work/output.txt"; fail "'$last' does not print '$line', as the tutorial says"; }
    rest=$((rest + found))
    lines=$((lines + 1))
  done <<<"$expected"
}
make_script >script.sh
. ./script.sh
finish_last
# So many there are: the script is not empty.
[ $commands -ge 20 ] && [ $lines -ge 40 ] || fail "only $commands commands, and $lines lines of output"
