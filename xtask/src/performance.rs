//! `docs/PERFORMANCE.md`, which several tasks measure: each writes its own part.

pub mod machine;

use std::error::Error;
use std::fs;

use crate::process::{progress, root};

const PAGE: &str = "docs/PERFORMANCE.md";

/// Where the part about pickles starts. The codec's is in front of it.
const PICKLES: &str = "## Pickles\n";

/// A part of the page.
pub enum Part {
    /// What `cargo xtask ratios` measures.
    Codec,
    /// What `cargo xtask pickle` measures.
    Pickles,
}

/// Writes one part anew, and leaves the other one as it is.
pub fn write(part: Part, text: &str) -> Result<(), Box<dyn Error>> {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path)?;
    fs::write(path, replaced(&page, part, text))?;
    progress(&format!("wrote {PAGE}"));
    Ok(())
}

fn replaced(page: &str, part: Part, text: &str) -> String {
    let (codec, pickles) = page.split_at(page.find(PICKLES).unwrap_or(page.len()));
    let parts = match part {
        Part::Codec => [text, pickles],
        Part::Pickles => [codec, text],
    };
    parts.map(|part| part.trim().to_owned() + "\n").join("\n").trim().to_owned() + "\n"
}

/// A time in the unit that leaves one to three digits in front of the point.
pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds:.0} ns"),
        ..1e6 => format!("{:.1} µs", nanoseconds / 1e3),
        _ => format!("{:.1} ms", nanoseconds / 1e6),
    }
}

/// The median of some numbers.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_replaced_by_itself() {
        let page = "# Page\n\nthe codec\n";
        let both = replaced(page, Part::Pickles, "## Pickles\n\nfast\n");
        assert_eq!(both, "# Page\n\nthe codec\n\n## Pickles\n\nfast\n");
        let anew = replaced(&both, Part::Codec, "# Page\n\nanew");
        assert_eq!(anew, "# Page\n\nanew\n\n## Pickles\n\nfast\n");
        assert_eq!(replaced(&anew, Part::Pickles, "## Pickles\n\nfaster"), anew.replace("fast", "faster"));
        assert_eq!(replaced(page, Part::Codec, page), page);
    }
}
