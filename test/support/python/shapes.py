"""Every shape that an attribute can have, and how a row shows it."""

import base64
import json
import random


def attributes_of(number):
    shapes = {
        "number": number,
        "text": f"a \"b\" \\ {random.random()}",
        "double": random.uniform(1, 1000),
        "large": random.randrange(-(2**63), 2**63),
        "bool": number % 2 == 0,
        "empty": "",
        "control": "tab\tline\nnul\0end",
        "unicode": "é值😀\u200d\u2028",
        "texts": ["a", "é", ""],
        "integers": [number, -(2**63), 2**63 - 1],
        "doubles": [1.5, -2.25],
        "bools": [True, False],
        "nothing in it": [],
        "nested": [[1, 2], ["a", [True]], {"k": [1.5, {"deep": "é"}]}],
        "map": {"a": 1, "b": {"c": ["d"]}, "": "dropped"} if number % 4 == 0 else {"a": 1},
        "bytes": bytes([0, 255, number % 256]),
    }
    if number % 50 == 0:
        shapes["long"] = "é" * 30_000
    return shapes


def nested(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [nested(item) for item in value]
    if hasattr(value, "items"):
        return {key: nested(item) for key, item in value.items()}
    return value


def shown(value):
    """As a row shows it: whole numbers exact, what is nested as compact JSON, bytes as base64."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, bytes):
        return nested(value)
    return json.dumps(nested(value), ensure_ascii=False, separators=(",", ":"))


def shown_all(attributes):
    return {key: shown(value) for key, value in (attributes or {}).items()}
