"""Exceptions that are raised in Python; those of the codec itself are in `_native`."""

from arrow_frames._native import DecodeError


class UntrustedPickleError(DecodeError):
    """A column or an object is a pickle that could run code, and `allow_pickle` was not given."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(
            f"{what} is a pickle that may run any code ({why}): "
            "pass allow_pickle=True if you trust whoever made it"
        )
        self.what, self.why = what, why


class MissingLibraryError(ImportError):
    """An optional library is needed, and is not installed."""


def needed(library: str, why: str):
    """The library, or an error that says what to install."""
    try:
        return __import__(library)
    except ImportError as error:
        raise MissingLibraryError(f"{why} needs {library}: pip install {library}") from error


def optional(library: str):
    """The library, if it is installed."""
    try:
        return __import__(library)
    except ImportError:
        return None
