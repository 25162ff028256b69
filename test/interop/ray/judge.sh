# The wait script of a launch finds the nodes of a real Ray cluster, with plain `ray`: no dashboard.
source test/interop/lib.sh

why=$(make_venv ray 12 ray==2.57.0) || { skip ray "$why"; exit 0; }
print_wait=$(bundle ray/print-wait) && node "$print_wait" >"$scratch/await.sh" || { fault 'the wait could not be rendered'; exit 0; }
address=127.0.0.1:26379
export PATH=$venvs/ray/bin:$PATH RAY_gcs_server_port_wait_time_s=120
# Ray's socket paths would be too long below a long path.
sockets=$(mktemp -d /tmp/ray.XXXX)

# start_node LOG ARGUMENT...: starts a node and waits until it is up; $server is its process group. Ray allows a node a
# fixed 30 s, which a busy machine may exceed, so this retries; how long Ray takes is not judged.
start_node() {
  local log=$1 attempt
  shift
  for attempt in 1 2 3; do
    setsid ray start "$@" --node-ip-address=127.0.0.1 --num-cpus=1 --num-gpus=4 --include-log-monitor=false --disable-usage-stats \
      --object-store-memory=100000000 --block >"$log" 2>&1 &
    server=$!
    wait_for 180 grep -q 'Ray runtime started' "$log" && return
    end_group "$server"
    echo "Ray did not come up, attempt $attempt: $(tail -n 1 "$log" | cut -c 1-120)"
  done
  return 1
}

await_nodes() {
  RAY_ADDRESS=$address timeout 300 bash -c "set -euo pipefail; note() { echo \"\$*\"; }; pause() { sleep \"\$1\"; }; $(cat "$scratch/await.sh")
    await_ray $1; echo \"found with: \$(ray --version)\""
}

if start_node "$scratch/ray-head.log" --head --port="${address#*:}" --include-dashboard=false --temp-dir="$sockets"; then
  head=$server
  judge 'await_ray finds the head node of plain ray' await_nodes 1
  if start_node "$scratch/ray-other.log" --address="$address"; then
    judge 'await_ray finds a second node' await_nodes 2
    end_group "$server"
  else skip 'a second node of Ray' 'ray start did not come up here in three attempts'
  fi
  end_group "$head"
else skip 'a Ray head node' 'ray start did not come up here in three attempts'
fi
rm -rf "$sockets"
