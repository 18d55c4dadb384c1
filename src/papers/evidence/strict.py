"""YAML as it is meant: a key that is there twice, as after a merge that kept both sides, is an error."""

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
        It is no YAML, a mapping says two things of one key, or it is nested too deeply.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            for key, times in keys.items():
                if times > 1:
                    raise ValueError(f"'{key}' is there twice below line {node.start_mark.line + 1}")
            return super().construct_mapping(node, deep)

    try:
        return Loader(Path(path).read_text(encoding="utf-8")).get_single_data()
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no YAML: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: {TOO_DEEP}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {shortened(str(error))}") from None


def shortened(text: str) -> str:
    """At most 300 characters of a message, in which any value may be quoted."""
    return text if len(text) <= 300 else f"{text[:297]}..."
