# SkyRL's own classes parse and validate the arguments that `launch --job-type rl` renders from every preset.
source test/interop/lib.sh

why=$(make_torch_venv skyrl 12 skyrl==0.4.0 skyrl-gym==0.4.0 ray==2.57.0 torch==2.11.0 orjson pybase64 httpx fastapi uvicorn loguru omegaconf aiohttp jaxtyping) || { skip skyrl "$why"; exit 0; }
[ -e dist/cli/main.js ] || { skip 'arguments of launch' 'not built, run npm run build'; exit 0; }
tasks=$scratch/rl-tasks
mkdir -p "$tasks"
for number in {1..64}; do mkdir "$tasks/task-$number" && echo 'Say hello.' >"$tasks/task-$number/instruction.md"; done
plans=()
for preset in configs/rl/*.yaml; do
  name=$(basename "$preset" .yaml)
  # A list of arguments is in the facts that a launch writes next to its configuration.
  env -u WANDB_API_KEY node bin/ot-agent.js launch --job-type rl --rl-config "$name" --cluster vista --model-path Qwen/Qwen3-8B --train-data "$tasks" \
    --val-data "$tasks" --num-nodes 2 --experiments-dir "$scratch/rl-$name" --dry-run --json >"$scratch/rl-$name.json" 2>"$scratch/rl-$name.err" || {
    fault "launch --rl-config $name renders: $(head -n 2 "$scratch/rl-$name.err")"
    continue
  }
  plans+=("$scratch/rl-$name.json")
done
judge 'skyrl takes what every preset renders' env -u WANDB_API_KEY "$venvs/skyrl/bin/python" test/interop/skyrl/parse.py "${plans[@]}"
