# Executes what `launch --job-type consolidate` renders on a checkpoint that DeepSpeed itself wrote, sharded over two
# CPU processes with the settings of a launch; the small model ties its embeddings, as small Qwen3 models do.
source test/interop/lib.sh

why=$(make_torch_venv deepspeed 12 deepspeed==0.18.9 torch==2.11.0 transformers==5.6.0 accelerate==1.11.0 numpy) || { skip consolidate "$why"; exit 0; }
why=$(make_tiny_model) || { skip consolidate "the small model could not be made: $why"; exit 0; }
bin=$venvs/deepspeed/bin
run=$scratch/sharded/run
mkdir -p "$run"
print_settings=$(bundle consolidate/print-settings) && node "$print_settings" >"$scratch/zero3.json" || { fault 'the settings of DeepSpeed could not be rendered'; exit 0; }

sharded() {
  DS_ACCELERATOR=cpu OMP_NUM_THREADS=1 quietly "$bin/torchrun" --nproc_per_node 2 --rdzv-backend c10d --rdzv-endpoint 127.0.0.1:0 \
    test/interop/consolidate/shard.py "$scratch/tiny" "$scratch/zero3.json" "$run" "$scratch/gathered.bin"
}
judge 'DeepSpeed takes the settings that a launch writes' sharded || exit 0

make_site "$bin"
put_together() {
  launched consolidate --job-type consolidate --consolidate-input "$run" &&
    "$bin/python" test/interop/consolidate/whole.py "$scratch/launch-consolidate/consolidated/run" "$scratch/gathered.bin"
}
judge 'launch --job-type consolidate puts a sharded checkpoint together here' put_together
