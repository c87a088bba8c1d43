#!/usr/bin/env bash
# test/gpu/run on simulated machines, with a bundle of scripts and its own PATH.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

bundle=$work/bundle
mkdir -p "$bundle"/{bin,lib,programs,data} "$work/path" "$work/site/nvidia/"{cu13,nccl}/lib
cat >"$bundle/cases" <<'CASES'
model text model-1 one=1
model text model-2 d=2
model text model-3 d=2,t=2
CASES
script() { { echo '#!/usr/bin/env bash'; cat; } >"$1" && chmod +x "$1"; }

# The suite, of two sections: GPUS of the machine.
script "$bundle/bin/cuda_conformance" <<'END'
[ "${1:-}" != --section ] || [ "$2" -lt 2 ] || exit 2
[ -z "${BROKEN:-}" ] || { echo "cannot open the CUDA plugin"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
[ -z "${CRASHES:-}" ] || { echo "ended"; exit 139; }
[ "$GPUS" != 0 ] || { echo "skipped: no CUDA device"; echo "0 passed, 0 failed, 1 skipped"; exit 77; }
echo "$GPUS GPUs"
echo "1000 passed, 0 failed, 3 skipped"
END
script "$bundle/bin/compare_checkpoints" <<'END'
cmp -s "$1" "$2" || { echo "differ"; exit 1; }
echo "parameters differ by 0 at most"
END
# A program: writes the GPUs that it sees as its note, hangs if told to.
script "$bundle/programs/program" <<'END'
name=$(basename "$0") steps=0
while [ $# != 0 ]; do
  case $1 in --log) log=$2 ;; --checkpoint) checkpoint=$2 ;; --steps) steps=$2 ;; esac
  shift
done
echo "$name ${CUDA_VISIBLE_DEVICES-all}" >>"$NOTES"
[ "${HANGS:-}" != "$name" ] || sleep 100
for ((i = 1; i <= steps; ++i)); do echo "{\"step\":$i,\"loss\":1.5}"; done >"$log"
[ "${WRONG:-}" != "$name" ] || sed -i 's/1\.5/1.6/' "$log"
echo parameters >"$checkpoint"
END
for name in host 1 2 3; do ln -s program "$bundle/programs/model-$name"; done
script "$work/path/ldd" <<'END'
echo "	libcublasLt.so.13 => ${CUBLAS:-/usr/lib/libcublasLt.so.13} (0x1)"
END
script "$work/path/nvidia-smi" <<'END'
exit ${NO_CARD:-0}
END
script "$work/path/python3" <<END
echo $work/site
END
script "$work/path/compute-sanitizer" <<'END'
while [ "${1#--}" != "$1" ]; do
  case $1 in --error-exitcode | --print-limit | --target-processes) shift ;; esac
  shift
done
"$@"
code=$?
[ -n "${BLIND:-}" ] || echo "========= ERROR SUMMARY: 0 errors"
exit $code
END

# expect CODE LAST-LINE ENVIRONMENT... [-- ARGUMENTS]
expect() {
  local code=$1 last=$2 settings=() got
  shift 2
  while [ $# != 0 ] && [ "$1" != -- ]; do settings+=("$1"); shift; done
  [ $# = 0 ] || shift
  rm -f "$work/notes"
  env -u CUDA_VISIBLE_DEVICES GPUS=1 PATH="$work/path:$PATH" NVIDIA_DEVICE=/nowhere NOTES="$work/notes" SECONDS_EACH=2 \
    "${settings[@]}" "$here/run" "$@" "$bundle" >"$work/out.txt" 2>&1
  got=$?
  [ $got = "$code" ] && [ "$(tail -n 1 "$work/out.txt")" = "$last" ] ||
    fail "${settings[*]} $*: wanted $code, '$last'; got $got:
$(cat "$work/out.txt")"
}
has() { grep -q "$1" "$work/out.txt" || fail "no '$1' in: $(cat "$work/out.txt")"; }

# On one card: three programs share it; tests that need more are skipped by
# name.
expect 0 "1003 passed, 0 failed, 5 skipped" A=
has "skipped  model d=2,t=2 by NCCL  *needs 4 GPUs"
[ "$(cat "$work/notes")" = "model-host all
model-1 0
model-2 0
model-3 0" ] || fail "$(cat "$work/notes")"
# On two: programs that fit run on both, too. The first of the visible ones.
expect 0 "1004 passed, 0 failed, 4 skipped" GPUS=2 CUDA_VISIBLE_DEVICES=5,3
has "passed   model d=2 by NCCL"
[ "$(tail -n 3 "$work/notes")" = "model-2 5
model-2 5,3
model-3 5" ] || fail "$(cat "$work/notes")"

# A missing card is not a failure; an unusable card is one.
expect 77 "0 passed, 0 failed, 4 skipped" GPUS=0 NO_CARD=9
expect 1 "0 passed, 1 failed, 1 skipped" GPUS=0
has "this machine has a GPU, and it was not found"
expect 1 "3 passed, 1 failed, 2 skipped" BROKEN=1
expect 1 "3 passed, 1 failed, 2 skipped" CRASHES=1
has "failed   conformance  *exit code 139: ended"
expect 1 "1003 passed, 1 failed, 5 skipped" "CUBLAS=not found"
has "failed   libraries  *not found: libcublasLt.so.13 in .*/site/nvidia/cu13/lib:.*/site/nvidia/nccl/lib"

# Failing tests, and tests that do not end.
expect 1 "1002 passed, 1 failed, 5 skipped" WRONG=model-2
has "failed   model d=2  *losses differ by 6.7e-02"
expect 1 "1002 passed, 1 failed, 5 skipped" HANGS=model-3
has "failed   model d=2,t=2  *did not end within 2 s"

# Under compute-sanitizer each section runs separately, and no verdict is not a
# pass.
expect 0 "2003 passed, 0 failed, 8 skipped" A= -- --sanitize
expect 1 "2000 passed, 5 failed, 8 skipped" BLIND=1 -- --sanitize
has "compute-sanitizer wrote no summary"

[ $failures = 0 ] && echo passed
exit $((failures != 0))
