"""SkyRL reads the arguments of a rendered launch as its Harbor entry point does, and validates what came out: parse.py PLAN.json..."""

import json
import shlex
import sys
import warnings
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Dict

warnings.simplefilter("ignore")

from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.utils import validate_cfg


@dataclass
class HarborConfig(SkyRLTrainConfig):
    """The entry point is not part of the package; this is the only field it adds."""

    harbor_trial_config: Dict[str, Any] = field(default_factory=dict)


for path in sys.argv[1:]:
    with open(path) as file:
        script = next(job["script"] for job in json.load(file)["jobs"] if job["name"] == "train")
    # The command's words after two shells: the script's, and the one it starts on each node.
    line = next(line for line in script.replace("\\\n", " ").split("\n") if "python -m" in line)
    words = shlex.split(next(word for word in shlex.split(line) if "python -m" in word))
    settings = words[words.index("-m") + 2 :]
    config = HarborConfig.from_cli_overrides(settings)
    validate_cfg(config)
    trial = config.harbor_trial_config
    assert config.trainer.algorithm.max_seq_len, "max_seq_len must be set for Harbor"
    assert config.generator.step_wise_trajectories and config.generator.inference_engine.served_model_name, "the Harbor generator needs both"
    assert "/" not in config.generator.inference_engine.served_model_name
    assert trial["agent"]["name"] == "terminus-2" and trial["agent"]["kwargs"]["enable_summarize"] is False, trial
    assert trial["trials_dir"].startswith("/"), trial["trials_dir"]
    assert config.data.train_data and all(isinstance(path, str) for path in config.data.train_data), config.data.train_data
    assert config.trainer.logger == "console", config.trainer.logger
    print(f"skyrl {version('skyrl')}: {len(settings)} settings parsed and validated, trials by {trial['agent']['name']} on {trial['environment']['type']}")
