//! Plots as SVG: few marks, both axes by powers, readable on light and dark.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;

/// Colours that are told apart on white and on black, also by those who see few.
const COLOURS: [&str; 6] = [
    "#8a8f98", "#3b82f6", "#e0803a", "#2fa37c", "#b86fd0", "#c9a227",
];

/// One plot.
pub struct Plot {
    title: String,
    x: String,
    y: String,
    ticks: Vec<(f64, String)>,
    curves: Vec<(String, Vec<(f64, f64)>)>,
}

impl Plot {
    /// Nothing drawn yet.
    pub fn new(title: &str, x: &str, y: &str) -> Self {
        Self {
            title: title.into(),
            x: x.into(),
            y: y.into(),
            ticks: Vec::new(),
            curves: Vec::new(),
        }
    }

    /// What it shows.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Marks on the axis that grows.
    pub fn ticks(mut self, ticks: Vec<(f64, String)>) -> Self {
        self.ticks = ticks;
        self
    }

    /// Adds a curve, if it has a point.
    pub fn curve(&mut self, name: &str, points: Vec<(f64, f64)>) {
        if !points.is_empty() {
            self.curves.push((name.into(), points));
        }
    }

    /// The picture; none where there is nothing to draw.
    pub fn svg(&self) -> Option<String> {
        let all = || self.curves.iter().flat_map(|(_, points)| points);
        let (from_x, to_x) = span(all().map(|point| point.0))?;
        let (from_y, to_y) = span(all().map(|point| point.1))?;
        let (low, high) = (from_y.log10().floor(), to_y.log10().ceil());
        let high = if high > low { high } else { low + 1.0 };
        let across = |x: f64| {
            let wide = (to_x / from_x).ln().max(f64::MIN_POSITIVE);
            LEFT + (x / from_x).ln() / wide * (WIDTH - LEFT - RIGHT)
        };
        let up =
            |y: f64| HEIGHT - BOTTOM - (y.log10() - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
        let mut out = self.frame();
        for power in low as i32..=high as i32 {
            let (y, value) = (up(10f64.powi(power)), 10f64.powi(power));
            let _ = writeln!(
                out,
                r#"<line class="grid" x1="{LEFT}" x2="{:.0}" y1="{y:.1}" y2="{y:.1}"/><text class="small" x="{:.0}" y="{:.1}" text-anchor="end">{value}</text>"#,
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0
            );
        }
        for (x, label) in &self.ticks {
            let _ = writeln!(
                out,
                r#"<text class="small" x="{:.1}" y="{:.0}" text-anchor="middle">{}</text>"#,
                across(*x),
                HEIGHT - BOTTOM + 18.0,
                escaped(label)
            );
        }
        let mut names = Vec::new();
        for (number, (name, points)) in self.curves.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let at: Vec<String> = points
                .iter()
                .map(|(x, y)| format!("{:.1},{:.1}", across(*x), up(*y)))
                .collect();
            let _ = writeln!(
                out,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
                at.join(" ")
            );
            for (x, y) in points {
                let _ = writeln!(
                    out,
                    r#"<circle cx="{:.1}" cy="{:.1}" r="3" fill="{colour}"><title>{}: {y:.1}</title></circle>"#,
                    across(*x),
                    up(*y),
                    escaped(name)
                );
            }
            if let Some((_, y)) = points.last() {
                names.push((up(*y), name, colour, *y));
            }
        }
        // Names stand at the ends of their curves, and not on each other.
        names.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut free = TOP;
        for (y, name, colour, last) in names {
            let y = y.max(free);
            free = y + 16.0;
            let _ = writeln!(
                out,
                r#"<text x="{:.0}" y="{:.1}" style="fill:{colour}">{} {last:.1}</text>"#,
                WIDTH - RIGHT + 10.0,
                y + 4.0,
                escaped(name)
            );
        }
        out.push_str("</svg>\n");
        Some(out)
    }

    fn frame(&self) -> String {
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>{title}</title>
<style>text {{ fill: #24292f }} .small {{ fill: #57606a; font-size: 11px }} .grid {{ stroke: #57606a; stroke-opacity: .25 }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #e6edf3 }} .small {{ fill: #9198a1 }} .grid {{ stroke: #9198a1 }} }}</style>
<text x="{LEFT}" y="20" font-weight="600">{title}</text>
<text class="small" x="{LEFT}" y="36">{y}</text>
<text class="small" x="{middle:.0}" y="{foot:.0}" text-anchor="middle">{x}</text>
"#,
            title = escaped(&self.title),
            x = escaped(&self.x),
            y = escaped(&self.y),
            middle = f64::midpoint(LEFT, WIDTH - RIGHT),
            foot = HEIGHT - 12.0,
        )
    }
}

fn span(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let values = values.filter(|value| *value > 0.0);
    let least = values.clone().min_by(f64::total_cmp)?;
    Some((least, values.max_by(f64::total_cmp)?))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_its_curves_in_it() {
        let mut plot = Plot::new("a < b", "clients", "µs").ticks(vec![(1.0, "1".into())]);
        plot.curve("one", vec![(1.0, 10.0), (16.0, 100.0)]);
        plot.curve("none", Vec::new());
        let svg = plot.svg().unwrap_or_default();
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("a &lt; b") && svg.contains("prefers-color-scheme: dark"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn one_point_is_drawn_as_well() {
        let mut plot = Plot::new("a", "b", "c");
        plot.curve("one", vec![(3.0, 10.0)]);
        let svg = plot.svg().unwrap_or_default();
        assert!(svg.contains("<circle") && !svg.contains("NaN"));
        assert!(Plot::new("a", "b", "c").svg().is_none());
    }
}
