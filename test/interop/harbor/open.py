"""Opens a job directory with Harbor's own code and compares what Harbor makes of it with what is written there."""

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

warnings.simplefilter("ignore")

from harbor.models.job.config import JobConfig
from harbor.models.job.lock import JobLock
from harbor.models.job.result import JobResult, JobStats
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.utils.pass_at_k import compute_pass_at_k_by_evals

# The version whose files we write key by key; a newer one must open them, but itself writes other keys.
EXACT = version("harbor").startswith("0.6.")
problems = []


def check(what, truth):
    if not truth:
        problems.append(what)


def judge_file(path, model, **dump):
    """The file passes Harbor's model and, for the exact version, comes out with the same keys, order and values."""
    text = path.read_text()
    try:
        value = model.model_validate_json(text)
    except Exception as error:
        problems.append(f"{path}: {error}")
        return None
    if EXACT:
        theirs, ours = json.loads(value.model_dump_json(**dump)), json.loads(text)
        for document in (theirs, ours):
            for holder in (document, document.get("config") or {}):
                for key in ("include_exceptions", "exclude_exceptions"):
                    names = holder.get("retry", {}).get(key)
                    if names:
                        names.sort()
        check(f"{path}: differs from what Harbor writes", json.dumps(theirs) == json.dumps(ours))
    return value


def judge_job(job_dir):
    judge_file(job_dir / "config.json", JobConfig)
    judge_file(job_dir / "lock.json", JobLock, exclude_none=True)
    job = judge_file(job_dir / "result.json", JobResult, exclude={"trial_results"})
    trials = []
    for trial_dir in sorted(path for path in job_dir.iterdir() if path.is_dir()):
        judge_file(trial_dir / "config.json", TrialConfig)
        trial = judge_file(trial_dir / "result.json", TrialResult)
        if trial is not None:
            trials.append(trial)
            check(f"{trial_dir}: trial_uri points elsewhere", trial.trial_uri == trial_dir.resolve().as_uri())
            check(f"{trial_dir}: exception.txt", trial.exception_info is None or (trial_dir / "exception.txt").exists())
    if job is not None:
        judge_sums(job, trials)
    return trials


def judge_sums(job, trials):
    """Harbor's own arithmetic over the trials gives the numbers in the job's result."""
    theirs = JobStats.from_trial_results(trials, n_total_trials=job.n_total_trials, n_retries=job.stats.n_retries)
    for name in ("n_completed_trials", "n_errored_trials", "n_pending_trials", "n_cancelled_trials", "n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd"):
        check(f"stats.{name}: {getattr(job.stats, name)}, Harbor counts {getattr(theirs, name)}", getattr(job.stats, name) == getattr(theirs, name))
    passes = compute_pass_at_k_by_evals(trials)
    check("names of evals", set(job.stats.evals) == set(theirs.evals))
    for key, mine in job.stats.evals.items():
        want = theirs.evals[key]
        check(f"{key}: counts", (mine.n_trials, mine.n_errors) == (want.n_trials, want.n_errors))
        check(f"{key}: pass@k", mine.pass_at_k == passes.get(key, {}))
        for field in ("reward_stats", "exception_stats"):
            check(f"{key}: {field}", tidy(getattr(mine, field)) == tidy(getattr(want, field)))
        check(f"{key}: mean", [sorted(mine.metrics[0].values())] == [sorted(means(key, trials).values())])


def means(key, trials):
    from harbor.metrics.mean import Mean

    def key_of(trial):
        model = trial.agent_info.model_info
        return JobStats.format_agent_evals_key(trial.agent_info.name, model.name if model else None, trial.source or "adhoc")

    return Mean().compute([t.verifier_result.rewards if t.verifier_result else None for t in trials if key_of(t) == key])


def tidy(value):
    if isinstance(value, dict):
        return {str(key): tidy(item) for key, item in value.items()}
    return sorted(value)


def judge_viewer(job_dir, trials):
    """Harbor's viewer lists the job and opens every trial."""
    from fastapi.testclient import TestClient
    from harbor.viewer.server import create_app

    client = TestClient(create_app(job_dir.parent))
    listed = client.get("/api/jobs").json()["items"]
    check("viewer: the job is not listed", job_dir.name in [job["name"] for job in listed])
    pages = client.get(f"/api/jobs/{job_dir.name}/trials?page_size=100").json()
    check(f"viewer: lists {pages.get('total')} trials of {len(trials)}", pages.get("total") == len(trials))
    for trial in trials:
        check(f"viewer: {trial.trial_name}", client.get(f"/api/jobs/{job_dir.name}/trials/{trial.trial_name}").status_code == 200)


job_dir = Path(sys.argv[1]).resolve()
found = judge_job(job_dir)
check("there are no trials", found)
judge_viewer(job_dir, found)
for problem in problems:
    print(f"  {problem}")
print(f"harbor {version('harbor')}: {job_dir.name}: {len(found)} trials, {len(problems)} problems")
sys.exit(1 if problems else 0)
