"""YAML as it is meant: a key that is there twice, as after a merge that kept both sides, is an error.

So is a number that YAML 1.1 counts by eights or sixties: 010 would be 8, 1:30 would be 90.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

TOO_DEEP = "nested too deeply"


def read(path: str | Path) -> Any:
    """What a YAML file says.

    Raises
    ------
    ValueError
        It is no YAML, a mapping says two things of one key, a number is not the decimal that it looks like,
        or it is nested too deeply.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            for key, times in keys.items():
                if times > 1:
                    raise ValueError(f"'{key}' is there twice below line {node.start_mark.line + 1}")
            return super().construct_mapping(node, deep)

        def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
            number = super().construct_object(node, deep)
            if isinstance(number, int | float):
                looks = node.value.lstrip("+-").replace("_", "")
                if ":" in looks or (looks.isdecimal() and int(looks) != abs(number)):
                    said = f"'{node.value}' in line {node.start_mark.line + 1} is {number} to YAML"
                    raise ValueError(f"{said}: write a decimal number, or quote a text")
            return number

    try:
        return Loader(Path(path).read_text(encoding="utf-8")).get_single_data()
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no YAML: {str(error).replace('<unicode string>', str(path))}") from None
    except RecursionError:
        raise ValueError(f"{path}: {TOO_DEEP}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {shortened(str(error))}") from None


def shortened(text: str) -> str:
    """At most 300 characters of a message, in which any value may be quoted."""
    return text if len(text) <= 300 else f"{text[:297]}..."
