"""Compares published.json with what facts.py printed of the installed LLaMA-Factory: published.py FACTS.json PUBLISHED.json"""

import json
import sys

here, ours = (json.load(open(path)) for path in sys.argv[1:3])
problems = []
if here["llamafactory"] != ours["llamafactory"]:
    problems.append(f"LLaMA-Factory {here['llamafactory']} is installed, published.json is of {ours['llamafactory']}")
for part in ("keys", "templates"):
    for name in sorted({*here[part], *ours[part]}):
        found, known = here[part].get(name), ours[part].get(name)
        if found != known:
            problems.append(f"{part}: {name}: installed {found}, published.json {known}"[:300])
print(f"{len(here['keys'])} keys and {len(here['templates'])} templates compared; transformers {here['transformers']}")
print("\n".join(problems[:20]))
sys.exit(bool(problems) or not here["keys"] or not here["templates"])
