#!/usr/bin/env bash
# The page of --report=html works in a browser, without a network: its script runs to
# the end and shows ranks, blocks, source lines, collectives and the arena.
source "$(dirname "$0")/lib.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$browser" ] || skip "no Chromium to open the page in"
"$meshc" "$models/mlp.mesh" --mesh data=2,tensor=2 --layout batch:data,h1:tensor --report=html --report-file page.html -o program
timeout 100 "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=5000 \
  --dump-dom "file://$work/page.html#w1" >dom.html 2>browser.log || { cat browser.log; fail "the browser"; }
grep -q 'data-ready="yes"' dom.html || { cat browser.log; fail "the script of the page did not run to its end"; }
[ "$(grep -o 'class="rank"' dom.html | wc -l)" = 4 ] || fail "not four ranks"
# w1 is cut over tensor: two different blocks, each on two ranks.
[ "$(grep -o '<span>h1 0 to [0-9]*</span>' dom.html | wc -l)" = 2 ] || fail "the blocks of w1"
grep -q "'gradient of w1'" dom.html || fail "no collective for the gradient of w1"
grep -q 'class="badge" title="gradient of w1' dom.html || fail "no source line with its collectives"
grep -q '<canvas id="map" width="[1-9]' dom.html || fail "the arena is not drawn"
grep -q 'id="peak">At its peak, in train_step' dom.html || fail "nothing about the peak"
echo passed
