# Real OpenAI-compatible servers serve a student trained on the demo's dataset, and terminus-2 uses it: llama.cpp (from
# a GGUF file) and transformers serve (from the folder, which it serves but does not list).
source test/interop/lib.sh

why=$(can_run) || { skip 'a served student' "$why"; exit 0; }
export HF_HOME=$scratch/serving-hf HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1
model=$scratch/trained
if [ ! -e "$model/model.safetensors" ]; then
  echo 'no trained student of the judge llamafactory in this run: an untrained one is served'
  why=$(make_tiny_model) || { skip 'a served student' "$why"; exit 0; }
  model=$scratch/tiny
fi

# student JOB PORT NAME ARGUMENT...: runs terminus-2 on one task with the server at that port.
student() {
  local job=$1 port=$2 name=$3
  shift 3
  quietly timeout 580 node bin/ot-agent.js run -p examples/tasks/csv-to-json -a terminus-2 -m "$name" --engine openai-compatible --api-base "http://127.0.0.1:$port/v1" \
    -e local -o "$scratch/jobs" --job-name "$job" --ak max_turns=2 "$@"
}
scored() { student "$@" && node test/interop/serving/ended.mjs "$scratch/jobs/$1" scored "$scratch/demo/out/dataset"; }
too_long() { student "$@" && node test/interop/serving/ended.mjs "$scratch/jobs/$1" context; }

if why=$(make_venv llamacpp 12 xllamacpp==2026.10.11549 gguf==0.19.0 safetensors numpy); then
  python=$venvs/llamacpp/bin/python
  judge 'the student becomes a GGUF file' "$python" test/interop/python/to_gguf.py "$model" "$scratch/student.gguf" || exit 0
  for context in 16384 600; do
    setsid "$python" test/interop/serving/llamacpp.py "$scratch/student.gguf" student 18331 "$context" 128 >"$scratch/llamacpp.log" 2>&1 &
    server=$!
    if ! wait_for 120 curl -sf http://127.0.0.1:18331/health; then fault "llama.cpp does not come up: $(tail -n 2 "$scratch/llamacpp.log")"
    elif [ "$context" = 16384 ]; then
      judge 'serve --check passes on llama.cpp' ot_agent serve --check --api-base http://127.0.0.1:18331/v1
      [ ! -e "$scratch/first-prompt.json" ] || judge 'llama.cpp renders a prompt as the student was trained on it' node test/interop/serving/rendered.mjs 18331 "$scratch/first-prompt.json"
      judge 'terminus-2 on a student served by llama.cpp is scored' scored llamacpp 18331 student
    else
      # The agent is configured with a larger context than the server has, so that the server refuses.
      judge 'a request too long for llama.cpp ends with limit context' too_long too-long 18331 student --engine-kwarg 'model_info={"max_input_tokens":32768}'
    fi
    end_group "$server"
  done
else skip 'llama.cpp (xllamacpp)' "$why"
fi

if why=$(make_torch_venv transformers 12 'transformers[serving]==5.17.0' torch==2.11.0 requests); then
  refused_once() {
    scored transformers 18332 "$model" --ak max_turns=1 --ak session_id=one --engine-kwarg 'request_params={"max_tokens":64}' &&
      [ "$(grep -c 'chat/completions.* 422' "$scratch/transformers.log")" = 1 ]
  }
  for cache_state in missing empty; do
    [ "$cache_state" = missing ] || mkdir -p "$HF_HOME/hub"
    setsid "$venvs/transformers/bin/transformers" serve --port 18332 --host 127.0.0.1 --device cpu --dtype float32 >"$scratch/transformers.log" 2>&1 &
    server=$!
    if ! wait_for 240 curl -sf http://127.0.0.1:18332/health; then skip 'transformers serve' "it does not come up: $(tail -n 1 "$scratch/transformers.log" | cut -c 1-200)"
    else
      # The first list of models takes long even if it fails: it is a 500 without a cache.
      curl -s -m 120 -o "$scratch/models.txt" http://127.0.0.1:18332/v1/models
      judge "serve --check passes on transformers serve, whose list of models is $cache_state" ot_agent serve --check --api-base http://127.0.0.1:18332/v1 --model "$model"
      [ "$cache_state" = missing ] || judge 'terminus-2 on a folder served by transformers serve is scored, after its refusal of session_id' refused_once
    fi
    end_group "$server"
  done
else skip 'transformers serve' "$why"
fi
