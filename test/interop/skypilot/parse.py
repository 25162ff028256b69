"""SkyPilot reads every task file, and what it read is what was asked for."""
import glob
import subprocess
import sys

import sky

files = sorted(glob.glob(sys.argv[1] + "/*.yaml"))
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
    # What runs is a script that bash can read.
    subprocess.run(["bash", "-n", "-c", task.run], check=True)
    assert "timeout --signal=USR1 --kill-after=600 93000 bash -c" in task.run
    assert not task.secrets and not task.envs, (task.secrets, task.envs)
print(f"SkyPilot {sky.__version__} read {len(files)} task files")
