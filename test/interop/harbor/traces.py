"""Lets Harbor make traces of a job's trials, and compares them with our rows of the same trials."""

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path

from harbor.utils.traces_utils import collect_conversations_from_trial, collect_subagent_traces, load_run_metadata

columns = ["conversations", "agent", "model", "model_provider", "date", "task", "episode", "run_id", "trial_name", "result", "instruction", "verifier_output"]
noise = re.compile(r"^bash: cannot set terminal process group[^\n]*\nbash: no job control in this shell\n", re.M)


def rows_by_harbor(trial):
    meta = load_run_metadata(trial)
    asked = {"run_meta": meta, "include_instruction": True, "include_verifier_output": True}
    for row in collect_conversations_from_trial(trial, episodes="all", **asked):
        yield {**row, "trace_source": "main"}
    for source, rows in collect_subagent_traces(trial, **asked).items():
        for row in rows:
            yield {**row, "trace_source": source}


def comparable(row):
    turns = [{**turn, "content": noise.sub("", turn["content"])} for turn in row["conversations"]]
    return {**{name: row.get(name) for name in columns}, "conversations": turns}


job, dataset = (Path(path).resolve() for path in sys.argv[1:])
lines = [json.loads(line) for file in sorted(dataset.glob("jsonl/*.jsonl")) for line in file.read_text().splitlines()]
ours = {(row["trial_name"], row["trace_source"], row["episode"]): row for row in lines}
theirs = {
    (row["trial_name"], row["trace_source"], row["episode"]): row
    for trial in sorted(job.iterdir())
    if (trial / "result.json").exists() and (trial / "agent").exists()
    for row in rows_by_harbor(trial)
}
problems = [f"only one of us has {key}" for key in ours.keys() ^ theirs.keys()]
for key in ours.keys() & theirs.keys():
    mine, other = comparable(ours[key]), comparable(theirs[key])
    problems += [f"{key}: {name}: ours {mine[name]!r}, Harbor's {other[name]!r}" for name in columns if mine[name] != other[name]]
    tools = ours[key]["tool_definitions"]
    if key[1] == "main" and (tools and json.loads(tools)) != theirs[key].get("tool_definitions"):
        problems.append(f"{key}: the tools differ")
if not ours:
    problems.append("there are no rows")
for problem in problems:
    print(f"  {problem}")
print(f"harbor {version('harbor')}: {len(theirs)} traces, {len(problems)} problems")
sys.exit(1 if problems else 0)
