# pyarrow and datasets read our parquet files of tasks and of traces.
source test/interop/lib.sh

make_tasks=$(bundle parquet/make-tasks) && node "$make_tasks" examples/tasks "$scratch/tasks.parquet" || { fault 'a parquet file of tasks could not be made'; exit 0; }
make_traces=$(bundle make-traces) && node "$make_traces" "$scratch/parquet-traces" || { fault 'traces could not be made'; exit 0; }
for library in pyarrow datasets; do
  why=$(make_venv "$library" 12 "$library") || { skip "$library" "$why"; continue; }
  python=$venvs/$library/bin/python
  judge "$library reads tasks" "$python" test/interop/parquet/tasks.py "$library" "$scratch/tasks.parquet" examples/tasks "$scratch/hf-cache"
  judge "$library reads traces" "$python" test/interop/parquet/traces.py "$library" "$scratch/parquet-traces/dataset" "$scratch/hf-cache"
done
