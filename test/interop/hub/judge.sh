# The Hub's Python client reads what we uploaded to a stand-in for the Hub, and we read what the client uploaded.
source test/interop/lib.sh

serve=$(bundle hub/serve) || { fault 'the stand-in for the Hub could not be made'; exit 0; }
why=$(make_venv huggingface_hub 12 huggingface_hub) || { skip huggingface_hub "$why"; exit 0; }
mkdir "$scratch/hub"
judge 'huggingface_hub reads and writes' node "$serve" examples/tasks "$scratch/hub" "$venvs/huggingface_hub/bin/python" test/interop/hub/open.py
