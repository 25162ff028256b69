"""Runs Harbor's own Terminus-2 in a tmux of this machine: harbor_side.py DIR API_BASE PARSER INSTRUCTION."""

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace

from harbor.agents.terminus_2.terminus_2 import Terminus2
from harbor.environments.base import ExecResult
from harbor.models.agent.context import AgentContext

work, api_base, parser, instruction = Path(sys.argv[1]), *sys.argv[2:5]
env = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": str(work / "home"),
    "LANG": "C.UTF-8",
    "TMUX_TMPDIR": str(work / "tmux"),
}


class ThisMachine:
    """The part of an environment that the agent uses."""

    session_id = "judge"
    default_user = None
    trial_paths = SimpleNamespace(agent_dir=work / "logs")

    async def exec(self, command, **_):
        shell = await asyncio.create_subprocess_exec(
            "bash", "-c", command, cwd=work / "app", env=env, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        stdout, stderr = await shell.communicate()
        return ExecResult(stdout=stdout.decode(), stderr=stderr.decode(), return_code=shell.returncode)

    async def is_dir(self, path, **_):
        return Path(path).is_dir()

    async def upload_file(self, **_):
        raise RuntimeError("nothing is recorded, so nothing is uploaded")


async def main():
    for name in ("home", "tmux", "app", "logs"):
        (work / name).mkdir(parents=True)
    os.environ.setdefault("OPENAI_API_KEY", "none")
    agent = Terminus2(
        logs_dir=work / "logs", model_name="openai/fake", api_base=api_base, parser_name=parser, record_terminal_session=False
    )  # fmt: skip
    machine = ThisMachine()
    await agent.setup(machine)
    try:
        await agent.run(instruction, machine, AgentContext())
    finally:
        await machine.exec("tmux kill-server")


asyncio.run(main())
