"""What is tested is what the wheel installed."""

import sysconfig
from importlib import metadata
from pathlib import Path

import arrow_frames
from arrow_frames import _native

INSTALLED = Path(sysconfig.get_path("platlib"))


def test_the_package_and_its_extension_are_those_of_the_wheel():
    for module in (arrow_frames, _native):
        assert Path(module.__file__).is_relative_to(INSTALLED), module.__file__


def test_the_versions_of_the_wheel_and_of_the_crate_are_the_same():
    assert metadata.version("arrow-frames") == arrow_frames.__version__


def test_type_checkers_find_the_types():
    folder = Path(arrow_frames.__file__).parent
    assert (folder / "py.typed").is_file()
    assert (folder / "_native.pyi").is_file()


def test_every_public_name_is_there_and_documented():
    for name in arrow_frames.__all__:
        value = getattr(arrow_frames, name)
        assert name == "__version__" or value.__doc__, name
