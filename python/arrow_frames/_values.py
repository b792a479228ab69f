"""Names, attributes and labels as JSON: exactly, or as a pickle that the reader must allow."""

import base64
import math
import pickle

from arrow_frames._errors import UntrustedPickleError


def encode(value):
    """A value as JSON has it; what JSON has not is marked by an object of one key."""
    kind = type(value)
    if value is None or kind is str and is_unicode(value) or kind is bool:
        return value
    if kind is int and -(2**63) <= value < 2**64:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is tuple:
        return {"tuple": [encode(item) for item in value]}
    if kind is list:
        return [encode(item) for item in value]
    if kind is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    return {"pickle": base64.b64encode(pickle.dumps(value, 5)).decode()}


def decode(value, what: str, allow_pickle: bool):
    """What `encode` was given."""
    if isinstance(value, list):
        return [decode(item, what, allow_pickle) for item in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(decode(item, what, allow_pickle) for item in value["tuple"])
    if "dict" in value:
        items = (
            (decode(key, what, allow_pickle), decode(item, what, allow_pickle)) for key, item in value["dict"]
        )
        return dict(items)
    if not allow_pickle:
        raise UntrustedPickleError(what, "it is no plain value")
    return pickle.loads(base64.b64decode(value["pickle"]))


def is_unicode(text: str) -> bool:
    """Whether text has no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
