"""Prints what an installed LLaMA-Factory knows, as JSON: keys of a training file with their kinds, and its chat templates.

    VENV/bin/python test/interop/llamafactory/facts.py > src/formats/llamafactory/published.json
"""

import dataclasses
import importlib.metadata
import json
import types
import typing

from llamafactory.data.template import TEMPLATES, ReasoningTemplate
from llamafactory.hparams.parser import _TRAIN_ARGS

WORDS = {bool: "bool", int: "int", float: "float", str: "text"}


def kind_of(hint):
    """A list holds the allowed words; `any` is left to the trainer."""
    if typing.get_origin(hint) is typing.Literal:
        choices = [choice for choice in typing.get_args(hint) if choice is not None]
        return choices if all(isinstance(choice, str) for choice in choices) else "any"
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = {json.dumps(kind_of(part)) for part in typing.get_args(hint) if part is not type(None)}
        parts = {json.loads(part) if part.startswith('"') else "any" for part in parts} if len(parts) > 1 else parts
        if len(parts) == 1:
            only = parts.pop()
            return json.loads(only) if isinstance(only, str) and only[0] in '"[' else only
        return "float" if parts == {"int", "float"} else "any"
    if isinstance(hint, type) and issubclass(hint, str):
        return "text"
    return WORDS.get(hint, "any")


def keys():
    found = {}
    for arguments in _TRAIN_ARGS:
        hints = typing.get_type_hints(arguments)
        for field in dataclasses.fields(arguments):
            if field.init:
                found[field.name] = kind_of(hints[field.name])
    return dict(sorted(found.items()))


def slots_of(formatter):
    """Text, {"token": NAME}, or {"special": "bos_token"} for what the tokenizer has a token of its own for."""
    return [slot if isinstance(slot, (str, dict)) else {"special": sorted(slot)[0]} for slot in formatter.slots]


def template_of(template):
    found = {
        "user": slots_of(template.format_user),
        "assistant": slots_of(template.format_assistant),
        "system": slots_of(template.format_system),
        "function": slots_of(template.format_function),
        "observation": slots_of(template.format_observation),
        "prefix": slots_of(template.format_prefix),
        "toolFormat": template.format_tools.tool_format,
        "defaultSystem": template.default_system,
        "thoughtWords": list(template.thought_words),
        "isReasoning": isinstance(template, ReasoningTemplate),
        "efficientEos": template.efficient_eos,
        "eos": template.stop_words[0] if template.replace_eos else None,
    }
    return found


print(
    json.dumps(
        {
            "llamafactory": importlib.metadata.version("llamafactory"),
            "transformers": importlib.metadata.version("transformers"),
            "keys": keys(),
            "templates": {name: template_of(template) for name, template in sorted(TEMPLATES.items())},
        },
        ensure_ascii=False,
        indent=2,
    )
)
