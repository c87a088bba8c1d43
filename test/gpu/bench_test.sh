#!/usr/bin/env bash
# test/gpu/bench without a GPU, without peers, and with a peer that computes
# something else.
. "$(dirname "$0")/../exec/lib.sh"
bench=$root/test/gpu/bench
[ -d $fashion ] || skip "no images"
mkdir -p bundle/programs bundle/lib bundle/data
cp $fashion/t10k-images-idx3-ubyte.gz $fashion/t10k-labels-idx1-ubyte.gz bundle/data/
cat /usr/share/common-licenses/* >bundle/data/licences.txt
# Small, on one thread, so that other work on the machine does not delay it.
"$meshc" "$root/test/bench/step/models/char.mesh" --set hidden=64 --set model=4 --set context=64 \
  -o bundle/programs/bench-char-512-host

printf '#!/bin/sh\nexit 1\n' >alone
# Answers like a peer, with other losses.
cat >other <<'END'
#!/bin/sh
case "$*" in
*"import torch"*) echo 9.9 ;;
*torch_step.py*)
  losses=$(seq -s , 1 20)
  echo "a library speaks"
  echo '{"losses": {"torch": {"resident": ['$losses'], "fed": ['$losses']}}, "failed": {}, "rounding": 1e-7}'
  while read -r line; do echo '{"seconds": 0.5}'; done
  ;;
*) exit 1 ;;
esac
END
chmod +x alone other

options="--device cpu --threads 1 --rows char --rounds 1"
expect 0 '^2 measured, 0 wrong, 0 skipped$' "$bench" $options --python ./alone bundle
grep -q '^torch skipped: ' output.txt || fail "torch is not skipped by name"
expect 1 '^0 measured, 2 wrong, 0 skipped$' "$bench" $options --python ./other bundle
grep -q 'WRONG: losses of torch differ by ' output.txt || fail "the difference is not told"
expect 2 "^error: no case matches 'gpt'" "$bench" --rows gpt bundle

[ -x "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" ] || [ -n "$(command -v ptxas)" ] || exit 0
[ ! -e /dev/nvidiactl ] || exit 0
"$meshc" "$root/test/bench/step/models/char.mesh" --target cuda -o bundle/programs/bench-char-512
expect 77 '^0 measured, 0 wrong, 8 skipped$' "$bench" --rows char bundle
[ "$(grep -c '^char .* skipped ' output.txt)" = 8 ] || fail "not every row says that it is skipped"
cat output.txt
