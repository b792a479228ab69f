//! `docs/performance.svg`: a bar for each row, in a panel for each job.

use std::fmt::Write;

use super::NOISE;
use super::measure::Row;
use crate::performance::machine::Machine;

// Lengths in pixels of the plot's own; it is shown at any size.
const WIDTH: usize = 960;
const MARGIN: usize = 20;
const LABELS: usize = 206;
const PANEL: usize = 102;
/// The peer's time.
const ONE: f64 = 54.0;
/// What is longer is cut, and says so by its number.
const LONGEST: f64 = 1.1;
const TOP: usize = 118;
const LINE: usize = 26;
const BAR: usize = 12;

/// Its own background makes it readable wherever it is shown. Without variables, which not
/// every renderer knows.
const STYLE: &str = "
  text { font: 12px -apple-system, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .job { font-weight: 600 }
  .quiet { fill: #656d76; font-size: 11px }
  .page { fill: #ffffff }
  .stripe { fill: #f4f6f8 }
  .bar { fill: #1a8294 }
  .even { fill: #8c959f }
  .slow { fill: #c2570c }
  .one { stroke: #8c959f; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .page { fill: #0d1117 }
    .stripe { fill: #161b22 }
    .bar { fill: #3fb8c9 }
    .even { fill: #768390 }
    .slow { fill: #f0883e }
    .one { stroke: #6e7681 }
  }
";

/// The plot of these rows.
pub fn svg(rows: &[Row], machine: &Machine) -> String {
    let sections: Vec<&[Row]> = rows.chunk_by(|a, b| a.data == b.data).collect();
    let jobs = sections.first().copied().unwrap_or_default();
    let bottom = TOP + sections.len() * LINE;
    let height = bottom + 40;
    let title = "Time of arrow-frames as a part of arrow-ipc's: shorter is faster";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\" rx=\"10\"/>\n"
    );
    text(&mut svg, MARGIN, 36, "title", title);
    for (index, section) in sections.iter().enumerate() {
        let top = TOP + index * LINE;
        if index.is_multiple_of(2) {
            let width = WIDTH - 2 * MARGIN + 16;
            let _ = writeln!(
                svg,
                "<rect class=\"stripe\" x=\"{}\" y=\"{top}\" width=\"{width}\" height=\"{LINE}\" rx=\"4\"/>",
                MARGIN - 8
            );
        }
        text(&mut svg, MARGIN, top + 17, "data", &section[0].data);
    }
    for (index, job) in jobs.iter().enumerate() {
        let left = MARGIN + LABELS + index * PANEL;
        for (line, words) in two_lines(&job.job).iter().enumerate() {
            text(&mut svg, left, 66 + 15 * line, "job", words);
        }
        text(&mut svg, left, 97, "quiet", &job.peer);
        let of_job = sections.iter().map(|section| section.iter().find(|row| row.job == job.job));
        for (row, line) in of_job.zip(0..).filter_map(|(row, line)| Some((row?, line))) {
            bar(&mut svg, left, TOP + line * LINE, row.ratio);
        }
        let one = left as f64 + ONE;
        let _ = writeln!(
            svg,
            "<line class=\"one\" x1=\"{one}\" x2=\"{one}\" y1=\"{}\" y2=\"{}\"/>",
            TOP - 8,
            bottom + 4
        );
    }
    let Machine { processor, rustc, peer, date, .. } = machine;
    let rustc = rustc.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let note = format!(
        "dashed: the peer's time · grey: no difference · medians of one run · {processor} · {rustc} · {peer} · {date}"
    );
    text(&mut svg, MARGIN, bottom + 25, "quiet", &note);
    svg.push_str("</svg>\n");
    svg
}

fn bar(svg: &mut String, left: usize, top: usize, ratio: f64) {
    let class = if ratio < 1.0 - NOISE {
        "bar"
    } else if ratio > 1.0 + NOISE {
        "slow"
    } else {
        "even"
    };
    let (y, length) = (top + (LINE - BAR) / 2, ratio.min(LONGEST) * ONE);
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{left}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"2\"/>"
    );
    let x = left + (LONGEST * ONE) as usize + 6;
    text(svg, x, top + 17, "number", &format!("{ratio:.2}"));
}

/// Text that starts at a place.
fn text(svg: &mut String, x: usize, y: usize, class: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{words}</text>");
}

/// Words in two lines that are about as long.
fn two_lines(words: &str) -> [&str; 2] {
    let middle = words.len() / 2;
    let spaces = words.match_indices(' ').map(|(place, _)| place);
    match spaces.min_by_key(|place| place.abs_diff(middle)) {
        Some(place) => [&words[..place], words[place..].trim_start()],
        None => [words, ""],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(data: &str, job: &str, ratio: f64) -> Row {
        let [data, job, peer] = [data, job, "StreamWriter"].map(str::to_owned);
        Row { data, job, peer, ours: ratio, theirs: 1.0, ratio, instructions: None }
    }

    #[test]
    fn a_bar_is_as_long_as_its_ratio() {
        let text = || "a".to_owned();
        let machine = Machine {
            processor: text(),
            memory: text(),
            system: text(),
            rustc: text(),
            peer: text(),
            date: text(),
        };
        let rows = [
            row("a < b", "read", 0.5),
            row("a < b", "write", 3.0),
            row("c", "read", 1.0),
            row("c", "write", 0.1),
        ];
        let svg = svg(&rows, &machine);
        let bars = |class: &str| -> Vec<String> {
            let bars = svg.lines().filter(|line| line.starts_with(&format!("<rect class=\"{class}\"")));
            bars.map(|bar| bar.split("width=\"").nth(1).unwrap().split('"').next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(bars("bar"), ["27.0", "5.4"]);
        assert_eq!(bars("even"), ["54.0"]);
        assert_eq!(bars("slow"), ["59.4"], "it is cut");
        assert!(svg.contains(">3.00</text>") && svg.contains(">a &lt; b</text>"));
    }
}
