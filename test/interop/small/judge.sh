# A student trained by trainers/small on the demo's dataset, for half a minute on the CPU: transformers computes the
# same numbers for it, llama.cpp opens its file, its own server answers, and a terminus-2 trial on it is scored.
source test/interop/lib.sh

what='a small student'
why=$(make_torch_venv small 12 torch==2.11.0 tokenizers safetensors numpy transformers==5.17.0 xllamacpp==2026.10.11549) || { skip "$what" "$why"; exit 0; }
why=$(make_demo) || { skip "$what" "$why"; exit 0; }
python=$venvs/small/bin/python
make_site "$venvs/small/bin"
export HF_HUB_OFFLINE=1 OMP_NUM_THREADS=2

train() {
  launched small --job-type sft --trainer small --dataset "$scratch/demo/out/dataset" --num-train-epochs 2 \
    --train-extra-args '--layers 2 --width 128 --vocab 1024 --batch-tokens 8192 --warmup 2 --phrases --optimizer muon'
}
judge 'launch --trainer small trains a student on the demo' train || exit 0
student=$(echo "$scratch"/launch-small/checkpoints/*)

prepared() {
  local flags=(--layers 2 --width 128 --vocab 1024 --batch-tokens 4096 --steps 2) data=$scratch/demo/out/dataset
  quietly "$python" trainers/small/train.py --data "$data" --out "$scratch/direct" "${flags[@]}" &&
    quietly "$python" trainers/small/train.py --data "$data" --prepare "$scratch/demo.npz" --vocab 1024 &&
    quietly "$python" trainers/small/train.py --data "$scratch/demo.npz" --out "$scratch/prepared" "${flags[@]}" &&
    cmp "$scratch/direct/model.safetensors" "$scratch/prepared/model.safetensors"
}
judge 'prepared data trains the same student' prepared

added() {
  local flags=(--epochs 1 --steps 1 --batch-tokens 4096) once=$scratch/demo.npz again=$scratch/again.npz
  quietly "$python" trainers/small/train.py --data "$scratch/demo/out/dataset" --init "$scratch/direct" --prepare "$again" &&
    quietly "$python" trainers/small/train.py --data "$once" --data "$again" --out "$scratch/both" "${flags[@]}" &&
    "$python" -c '
import json, sys
rows = [json.loads(open(f"{folder}/metrics.jsonl").readline())["rows"] for folder in sys.argv[1:]]
sys.exit(rows[1] != 2 * rows[0])' "$scratch/direct" "$scratch/both"
}
judge 'files prepared with one tokenizer add up' added

# A run that was killed, and whose data was then changed in its place.
changed() {
  local rows=$scratch/changed.jsonl out=$scratch/changed pid
  local flags=(--data "$rows" --out "$out" --layers 2 --width 128 --vocab 1024 --batch-tokens 4096 --epochs 1000 --save-every 0)
  cat "$scratch"/demo/out/dataset/jsonl/train*.jsonl >"$rows"
  "$python" trainers/small/train.py "${flags[@]}" >"$scratch/changed.log" 2>&1 &
  pid=$!
  while kill -0 "$pid" && [ ! -e "$out/checkpoint.pt" ]; do sleep 0.2; done
  kill -KILL "$pid"
  wait "$pid"
  sed -i 1d "$rows"
  timeout 120 "$python" trainers/small/train.py "${flags[@]}" >"$scratch/changed.log" 2>&1
  grep -q 'was made with other settings or data' "$scratch/changed.log"
}
judge 'a checkpoint of other data is refused' changed

# The whole loop: recipe, dataset, student, evaluation, report. The second run must find nothing to do.
loop() {
  local study=test/interop/small/loop.yaml dir=$scratch/loop
  PYTHON=$python quietly timeout 900 node bin/ot-agent.js ablate run "$study" -o "$dir" &&
    PYTHON=/bin/false quietly node bin/ot-agent.js ablate run "$study" -o "$dir" &&
    node -e '
      const { rows, missing } = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"))
      const good = missing.length === 0 && rows.every(({ variant, values }) => values.rows === Number(variant) && values.new_unscored === 0 && values.loss < 8)
      if (!good) throw new Error(JSON.stringify({ rows, missing }))' "$dir/report.json"
}
judge 'ablate run goes from a recipe to a report' loop

judge 'transformers and llama.cpp read it alike' "$python" test/interop/small/same.py "$student" || exit 0

# However long a request says that it is, it is answered.
too_long() {
  local digits
  for digits in 9 5000; do
    [ "$(curl -s -o "$scratch/too-long" -w '%{http_code}' -X POST -H "content-length: $(printf '9%.0s' $(seq $digits))" http://127.0.0.1:18341/v1/chat/completions)" = 413 ] || return 1
  done
}

setsid "$python" trainers/small/serve.py "$student" --port 18341 --slots 4 >"$scratch/small-serve.log" 2>&1 &
server=$!
if ! wait_for 120 curl -sf http://127.0.0.1:18341/health; then fault "the server of small students does not come up: $(tail -n 2 "$scratch/small-serve.log")"
else
  judge 'serve --check passes on it' ot_agent serve --check --api-base http://127.0.0.1:18341/v1
  judge 'it refuses requests that are too long' too_long
  judge 'terminus-2 on it is scored' quietly timeout 580 node bin/ot-agent.js run -p examples/tasks/csv-to-json -a terminus-2 -m student --engine openai-compatible \
    --api-base http://127.0.0.1:18341/v1 -e local -o "$scratch/jobs" --job-name small --ak max_turns=1
fi
end_group "$server"
