"""Checks that SkyPilot reads every task file as intended."""
import glob
import json
import subprocess
import sys

import sky
from sky.client.cli import command
from sky.jobs.state import ManagedJobStatus

files = sorted(file for file in glob.glob(sys.argv[1] + "/*.yaml") if not file.endswith(".sky.yaml"))
assert len(files) == 6, files
for file in files:
    task = sky.Task.from_yaml(file)
    (resources,) = task.resources
    name = file.rsplit("/", 1)[1].removesuffix(".yaml")
    assert task.name == name and task.num_nodes == 1, (task.name, task.num_nodes)
    gpus = name.endswith("gpus")
    assert (resources.accelerators or {}) == ({"H100": 8} if gpus else {}), resources.accelerators
    assert resources.cpus == (None if gpus else "4+") and resources.memory == (None if gpus else "32+")
    assert resources.use_spot == name.startswith("cloud")
    assert ("kubernetes" if name.startswith("pods") else "aws") in str(resources.infra).lower(), resources.infra
    # The command is a script that bash can parse.
    subprocess.run(["bash", "-n", "-c", task.run], check=True)
    assert "timeout --signal=USR1 --kill-after=600 93000 bash -c" in task.run
    assert not task.secrets and not task.envs, (task.secrets, task.envs)
# SkyPilot's command line accepts every command that the scheduler calls; parsing runs none of them.
with open(sys.argv[1] + "/commands.txt") as lines:
    commands = [json.loads(line) for line in lines]
assert [words[:2] for words in commands] == [["jobs", "launch"], ["jobs", "queue"], ["jobs", "cancel"]], commands
for _, word, *rest in commands:
    parsed = command.jobs.commands[word].make_context(word, list(rest)).params
    assert word != "queue" or (parsed["all"] and parsed["output_format"] == "json"), parsed
    assert word != "launch" or (parsed["detach_run"] and parsed["yes"]), parsed
    assert word != "cancel" or (parsed["name"] and parsed["yes"]), parsed
# The scheduler knows every job state, or treats it as a failure.
known = "PENDING SUBMITTED STARTING RUNNING WINDING_DOWN RECOVERING CANCELLING SUCCEEDED CANCELLED".split()
others = [state.value for state in ManagedJobStatus if state.value not in known]
assert others and all(state.startswith("FAILED") for state in others), others
print(f"SkyPilot {sky.__version__} read {len(files)} task files and {len(commands)} commands")
