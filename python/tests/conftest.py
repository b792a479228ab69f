"""The two ways that an object is sent by in most of the tests."""

import arrow_frames as af
import pytest


def in_frames(obj, *, target=None, compression=None, **options):
    """As a header and frames, in this process."""
    return af.from_buffers(*af.to_buffers(obj, target=target, compression=compression), **options)


def in_stream(obj, *, target=None, compression=None, **options):
    """As one stream in read-only memory."""
    return af.loads(af.dumps(obj, target=target, compression=compression), **options)


@pytest.fixture(params=[in_frames, in_stream], ids=["frames", "stream"])
def exchanged(request):
    """Sends an object and gives back what arrives."""
    return request.param
