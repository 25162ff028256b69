# Harbor opens our job directories and makes the same traces from them. HARBOR_VERSIONS selects the versions of Harbor.
source test/interop/lib.sh

make_job=$(bundle harbor/make-job) && node "$make_job" "$scratch/jobs/sample" || { fault 'a job of every ending could not be made'; exit 0; }
make_traces=$(bundle make-traces) && node "$make_traces" "$scratch/harbor-traces" || { fault 'traces could not be made'; exit 0; }
jobs=("$scratch/jobs/sample")
if ! why=$(can_run); then skip 'a real job' "$why"
elif quietly ot_agent run -p examples/tasks -a oracle -e local -n 2 -o "$scratch/jobs" --job-name real; then jobs+=("$scratch/jobs/real")
else skip 'a real job' 'ot-agent run failed'
fi

for version in ${HARBOR_VERSIONS:-0.6.4 0.24.0 0.25.0}; do
  why=$(make_venv "harbor-$version" 12 "harbor==$version") || { skip "harbor $version" "$why"; continue; }
  python=$venvs/harbor-$version/bin/python
  for job in "${jobs[@]}"; do judge "harbor $version opens job $(basename "$job")" "$python" test/interop/harbor/open.py "$job"; done
  judge "harbor $version makes the same traces" "$python" test/interop/harbor/traces.py "$scratch/harbor-traces/traced" "$scratch/harbor-traces/dataset"
done
