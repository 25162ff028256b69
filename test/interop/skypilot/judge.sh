# SkyPilot's own parser reads the task files that the scheduler `skypilot` writes. Nothing is launched.
source test/interop/lib.sh

why=$(make_venv skypilot 12 skypilot==0.14.1) || { skip skypilot "$why"; exit 0; }
program=$(bundle skypilot/tasks) || { fault 'task files for SkyPilot could not be bundled'; exit 0; }
mkdir -p "$scratch/sky-tasks" "$scratch/sky-home"
judge 'task files are written' node "$program" "$scratch/sky-tasks" || exit 0
judge 'SkyPilot reads them' env HOME="$scratch/sky-home" SKYPILOT_DISABLE_USAGE_COLLECTION=1 "$venvs/skypilot/bin/python" test/interop/skypilot/parse.py "$scratch/sky-tasks"
