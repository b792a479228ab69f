"""The plot of peaks of memory by size: a panel for each job, a line for each way."""

import math
from html import escape

# Lengths in pixels of the plot's own; it is shown at any size.
WIDTH = 960
MARGIN, LABELS, AXIS = 20, 152, 56
TOP = 92
#: Of the part whose scale is logarithmic, and of a line in the band below it, where nothing could be measured.
SCALE, ROW = 240, 15
#: The least distance of the names of two lines.
APART = 14

STYLE = """
  text { font: 12px -apple-system, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .job { font-weight: 600 }
  .quiet { fill: #656d76; font-size: 11px }
  .end { text-anchor: end }
  .middle { text-anchor: middle }
  .ours { font-weight: 600 }
  .page { fill: #ffffff }
  .band { fill: #f4f6f8 }
  .grid { stroke: #d8dee4 }
  .line { fill: none; stroke-width: 1.5 }
  .thick { stroke-width: 3 }
  .leader { stroke: #8c959f; stroke-width: 0.5 }
%s
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .page { fill: #0d1117 }
    .band { fill: #161b22 }
    .grid { stroke: #30363d }
    .leader { stroke: #6e7681 }
%s
  }
"""

#: Of each line, in light and in dark: ours, then the others'.
COLOURS = [
    ("#1a8294", "#3fb8c9"), ("#0b5563", "#8fe3ee"), ("#8c959f", "#768390"), ("#c2570c", "#f0883e"),
    ("#8250df", "#b083f0"), ("#bf3989", "#e275ad"), ("#4d7c0f", "#8ddb8c"), ("#0969da", "#6cb6ff"),
    ("#953800", "#daaa3f"), ("#57606a", "#adbac7"),
]  # fmt: skip


def svg(
    title: str, panels: dict[str, dict[str, list[float]]], sizes: dict[str, int], none: float, note: str
) -> str:
    """`panels` are, by job and way, a peak in MiB for each of the sizes (in bytes); below `none` it was none."""
    ways = list(next(iter(panels.values())))
    style = STYLE % tuple(
        "\n".join(
            f"{indent}.way{number} {{ stroke: {colour[dark]} }}"
            for number, colour in enumerate(COLOURS[: len(ways)])
        )
        for dark, indent in enumerate(("  ", "    "))
    )
    # The same scale for all: up to the next half power of ten.
    most = max(peak for lines in panels.values() for peaks in lines.values() for peak in peaks)
    scale = (math.log10(none), math.ceil(math.log10(most) * 2) / 2)
    band = ROW * max(2, *(len(without(lines, none)) for lines in panels.values())) + 6
    height = TOP + SCALE + band + 54
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>\n<style>{style}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="10"/>',
        text(MARGIN, 36, "title", title),
    ]
    width = (WIDTH - 2 * MARGIN) / len(panels)
    for number, (job, lines) in enumerate(panels.items()):
        parts += panel(job, lines, sizes, none, scale, band, MARGIN + number * width, width)
    parts.append(text(MARGIN, height - 14, "quiet", note))
    return "\n".join([*parts, "</svg>\n"])


def without(lines: dict[str, list[float]], none: float) -> list[str]:
    """Those that end without any: each has a line of its own in the band below the scale."""
    return [way for way, peaks in lines.items() if peaks[-1] < none]


def panel(
    job: str,
    lines: dict[str, list[float]],
    sizes: dict[str, int],
    none: float,
    scale: tuple[float, float],
    band: float,
    left: float,
    width: float,
) -> list[str]:
    first, last = left + AXIS, left + width - LABELS
    smallest, largest = (math.log10(size) for size in (min(sizes.values()), max(sizes.values())))
    bottom, top = scale
    rows = without(lines, none)

    def across(size: int) -> float:
        return first + (math.log10(size) - smallest) / (largest - smallest) * (last - first)

    def up(way: str, peak: float) -> float:
        if peak < none:
            return TOP + SCALE + ROW * (rows.index(way) + 0.7 if way in rows else 0.3)
        return TOP + SCALE - (math.log10(peak) - bottom) / (top - bottom) * SCALE

    parts = [
        text(left, TOP - 20, "job", job),
        f'<rect class="band" x="{first:.1f}" y="{TOP + SCALE}" width="{last - first:.1f}" height="{band}"/>',
        text(first - 6, TOP + SCALE + band / 2 + 4, "quiet end", "none"),
    ]
    for power in range(math.ceil(bottom), math.floor(top) + 1):
        y = up("", 10**power)
        parts.append(f'<line class="grid" x1="{first:.1f}" x2="{last:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(first - 6, y + 4, "quiet end", f"{10**power:,} MiB"))
    for name, size in sizes.items():
        x = across(size)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + SCALE + band}"/>'
            + "\n"
            + text(x, TOP + SCALE + band + 16, "quiet middle", name)
        )
    # Ours last, over the others.
    for number, (way, peaks) in reversed(list(enumerate(lines.items()))):
        points = " ".join(
            f"{across(size):.1f},{up(way, peak):.1f}" for size, peak in zip(sizes.values(), peaks)
        )
        thick = " thick" if is_ours(way) else ""
        parts.append(f'<polyline class="line{thick} way{number}" points="{points}"/>')
    ends = sorted((up(way, peaks[-1]), way) for way, peaks in lines.items())
    for (end, way), place in zip(ends, apart([end for end, _ in ends])):
        parts.append(
            f'<line class="leader" x1="{last + 2:.1f}" x2="{last + 10:.1f}" y1="{end:.1f}" y2="{place:.1f}"/>'
        )
        parts.append(text(last + 13, place + 4, "ours" if is_ours(way) else "name", way))
    return parts


def is_ours(way: str) -> bool:
    return way.startswith("arrow-frames")


def apart(places: list[float]) -> list[float]:
    """Places in the same order, moved as little as need be so that names do not lie on each other."""
    runs: list[list[float]] = []
    for place in places:
        runs.append([place])
        # Neighbours that touch stand around the middle of where they would.
        while len(runs) > 1 and foot(runs[-2]) + APART > head(runs[-1]):
            joined = runs.pop()
            runs[-1] += joined
    return [head(run) + APART * number for run in runs for number in range(len(run))]


def head(run: list[float]) -> float:
    return sum(run) / len(run) - APART * (len(run) - 1) / 2


def foot(run: list[float]) -> float:
    return head(run) + APART * (len(run) - 1)


def text(x: float, y: float, kind: str, words: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words, quote=False)}</text>'
