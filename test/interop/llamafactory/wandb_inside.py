"""Weights & Biases wrote its offline run below the launch's folder and nothing into the checkout: wandb_inside.py LAUNCH CHECKOUT"""

import pathlib
import sys

launch, checkout = map(pathlib.Path, sys.argv[1:])
runs = sorted(launch.rglob("offline-run-*/*.wandb"))
assert runs, f"no offline run below {launch}"
assert not (checkout / "wandb").exists(), f"{checkout / 'wandb'} was written"
print(f"wandb: {len(runs)} offline run below the launch, none in the checkout")
