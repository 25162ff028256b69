# Checks our knowledge of LLaMA-Factory against an installed one: its keys and templates, and how it encodes the demo's
# rows.
published() {
  "$bin/python" test/interop/llamafactory/facts.py >"$scratch/facts.json" 2>"$scratch/facts.err" || { tail -n 5 "$scratch/facts.err"; return 1; }
  quietly "$bin/python" test/interop/llamafactory/published.py "$scratch/facts.json" src/formats/llamafactory/published.json
}
judge 'llamafactory has the keys and templates of published.json' published

encoded() {
  local count
  count=$(bundle llamafactory/count) && node "$count" "$scratch/tiny" "$scratch/demo/out/dataset" >"$scratch/counted.jsonl" &&
    LINES_SHOWN=15 quietly "$bin/python" test/interop/llamafactory/encode.py "$scratch/tiny" "$scratch/counted.jsonl"
}
judge "llamafactory's encoder finds the tokens that launch counts in the demo's rows" encoded
