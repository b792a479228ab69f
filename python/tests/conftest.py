"""What several tests take."""

import arrow_frames as af
import pytest


def in_frames(obj, *, target=None, **options):
    """As a header and frames, in this process."""
    return af.from_buffers(*af.to_buffers(obj, target=target), **options)


def in_bytes(obj, *, target=None, **options):
    """As one stream in read-only memory."""
    return af.loads(af.dumps(obj, target=target), **options)


@pytest.fixture(params=[in_frames, in_bytes], ids=["frames", "bytes"])
def exchanged(request):
    """Sends an object and gives back what arrives."""
    return request.param
