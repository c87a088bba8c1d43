#!/usr/bin/env bash
# builtin-names.sh LIST: the functions that LIST prints equal those in the table
# of [L5.5] and in the grammars for Vim and VS Code, and what it proposes instead
# of names of other frameworks exists.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" | sort >"$work/functions"
[ -s "$work/functions" ]
# The first column of the table: `exp log` (x), `mod(a, b)`, `rename split merge`.
awk '/^\*\*L5\.5\*\*/ { on = 1; next } /^\*\*L5\.6\*\*/ { on = 0 } on && /^\| `/ { split($0, cells, "|"); print cells[2] }' \
  "$root/docs/language.md" | grep -oE '`[^`]*`' | tr -d '`' | sed 's/([^)]*)/ /g; s/,/ /g' | tr -s ' ' '\n' |
  grep -E '^[a-z]' | sort -u >"$work/table"
sed -n 's/^syn keyword meshFunction //p' "$root/packaging/editors/vim/syntax/mesh.vim" | tr ' ' '\n' | sort >"$work/vim"
sed -n 's/.*"match": "\\\\b(\([a-z0-9_|]*\))(?=.*/\1/p' "$root/packaging/editors/vscode/syntaxes/mesh.tmLanguage.json" |
  tr '|' '\n' | sort >"$work/vscode"
status=0
for list in table vim vscode; do
  diff "$work/functions" "$work/$list" >"$work/difference" && continue
  echo "the functions of the language ('<') and those of '$list' ('>') differ:"
  cat "$work/difference"
  status=1
done
# The functions of nn, as a program calls them.
sed -n 's/^fn \([a-z0-9_]*\)(.*/nn.\1/p' "$root/library/nn.mesh" | sort - "$work/functions" >"$work/known"
"$1" proposals | sed 's/`param [^`]*`//g' | grep -oE '(nn\.)?[a-z][a-z0-9_]*\(' | tr -d '(' | sort -u >"$work/proposed"
[ "$(wc -l <"$work/proposed")" -gt 40 ]
if comm -23 "$work/proposed" "$work/known" | grep .; then
  echo "these functions, which messages propose, do not exist"
  status=1
fi
exit $status
