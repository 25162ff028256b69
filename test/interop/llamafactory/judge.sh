# LLaMA-Factory parses what our presets render, and trains a few steps on the demo's dataset as written, on what
# `launch` renders and executes on this machine, and on a dataset in another format. The small model is made here, so
# nothing is downloaded.
source test/interop/lib.sh

why=$(make_llamafactory_venv) || { skip llamafactory "$why"; exit 0; }
why=$(make_demo) || { skip 'training' "the demo's dataset could not be made: $why"; exit 0; }
why=$(make_tiny_model) || { fault "the small model could not be made: $why"; exit 0; }
bin=$venvs/llamafactory/bin
export HF_HOME=$scratch/hf HF_HUB_OFFLINE=1 HF_DATASETS_CACHE=$scratch/hf/datasets OMP_NUM_THREADS=1 WANDB_MODE=offline

as_written() {
  (cd "$scratch/demo/out/dataset" && LINES_SHOWN=15 quietly "$bin/llamafactory-cli" train train.yaml model_name_or_path="$scratch/tiny" \
    output_dir="$scratch/trained" bf16=false use_cpu=true max_steps=2 gradient_accumulation_steps=1 cutoff_len=2048 save_strategy=steps) &&
    "$bin/python" test/interop/llamafactory/trained.py "$scratch/trained" 2
}
judge 'llamafactory trains on the demo dataset with its own train.yaml' as_written

make_site "$bin"
cat >"$scratch/small.yaml" <<EOF
model_name_or_path: $scratch/tiny
template: qwen3_nothink
stage: sft
do_train: true
finetuning_type: full
cutoff_len: 2048
global_batch_size: 1
per_device_train_batch_size: 1
max_steps: 2
logging_steps: 1
learning_rate: 1.0e-4
save_strategy: 'no'
report_to: wandb
bf16: false
use_cpu: true
EOF

on_demo() {
  launched demo --job-type sft --train-config-path "$scratch/small.yaml" --dataset "$scratch/demo/out/dataset" &&
    "$bin/python" test/interop/llamafactory/trained.py "$scratch"/launch-demo/checkpoints/* 2 &&
    "$bin/python" test/interop/llamafactory/wandb_inside.py "$scratch/launch-demo" .
}
judge 'launch --job-type sft trains on the demo dataset here, and W&B writes into its folder' on_demo

node -e 'for (let i = 0; i < 24; i++) console.log(JSON.stringify({ uid: i, messages: [{ role: "system", content: "Be brief." }, { role: "user", content: `What is ${i} plus ${i}?` }, { role: "assistant", content: String(2 * i) }], lang: "en" }))' >"$scratch/third.jsonl"
on_third() {
  launched third --job-type sft --train-config-path "$scratch/small.yaml" --dataset "file:$scratch/third.jsonl" &&
    "$bin/python" test/interop/llamafactory/trained.py "$scratch"/launch-third/checkpoints/* 2
}
judge 'launch --job-type sft trains on a third-party dataset without further flags' on_third
on_pretokenized() {
  launched pretokenize --job-type pretokenize --train-config-path "$scratch/small.yaml" --cutoff-len 32768 --dataset "$scratch/demo/out/dataset" &&
    "$bin/python" test/interop/llamafactory/same_tokens.py "$scratch"/launch-pretokenize/tokenized/* "$scratch/demo/out/dataset" "$scratch/trained" "$scratch/first-prompt.json"
}
judge 'launch --job-type pretokenize makes the tokens that the chat template of the student renders' on_pretokenized

source test/interop/llamafactory/facts.sh

rendered=()
for preset in configs/sft/*.yaml; do
  for kind in sft sft_mca pretokenize; do
    plan=$scratch/plan-$(basename "$preset" .yaml)-$kind.json
    # A preset without a model needs one.
    grep -q '^model_name_or_path' "$preset" && model=() || model=(--base-model org/model)
    ot_agent launch --job-type "$kind" --train-config-path "$preset" "${model[@]}" --dataset org/dataset --cluster vista --experiments-dir "$scratch/plans" --dry-run --json >"$plan" 2>"$scratch/plan.err" &&
      rendered+=("$plan") || fault "launch renders $kind of $preset: $(head -n 1 "$scratch/plan.err")"
  done
done
judge 'llamafactory parses what every preset renders' "$bin/python" test/interop/llamafactory/parse.py "${rendered[@]}"
