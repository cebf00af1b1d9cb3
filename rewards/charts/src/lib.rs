//! Charts as SVG in one style, which follows the reader's light or dark setting. An SVG has no
//! scripts. `plotters` draws; this crate owns the colours and fonts.

use plotters::chart::{ChartContext, MeshStyle};
use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::{
    Cartesian2d, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea as _, RGBColor, Ranged,
    SVGBackend, TRANSPARENT,
};
use plotters::style::{Color as _, FontStyle, IntoFont as _, IntoTextStyle as _, TextStyle};

/// Where a chart is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The chart could not be drawn.
pub type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// The background.
pub const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
/// Texts and error bars.
pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Labels of axes.
pub const MUTED: RGBColor = RGBColor(0x55, 0x55, 0x55);
/// Axes.
pub const AXIS: RGBColor = RGBColor(0x88, 0x88, 0x88);
/// Lines of the grid.
pub const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
/// Series.
pub const SERIES: [RGBColor; 6] = [
    RGBColor(0x4c, 0x78, 0xa8),
    RGBColor(0xe0, 0x8a, 0x2c),
    RGBColor(0x4f, 0x9d, 0x57),
    RGBColor(0x8a, 0x62, 0xa8),
    RGBColor(0x9a, 0x6b, 0x52),
    RGBColor(0x3a, 0xa0, 0xa8),
];

/// Each colour and its replacement in the dark setting.
const DARK: [(RGBColor, &str); 11] = [
    (PAPER, "#15181c"),
    (INK, "#e6e6e6"),
    (MUTED, "#aaaaaa"),
    (AXIS, "#777777"),
    (GRID, "#333333"),
    (SERIES[0], "#6f9fd0"),
    (SERIES[1], "#f0a552"),
    (SERIES[2], "#6dbb75"),
    (SERIES[3], "#ab85c8"),
    (SERIES[4], "#bd8d73"),
    (SERIES[5], "#5cc0c8"),
];

/// Draws an image of this size in pixels. `title` is read by screen readers.
///
/// # Errors
/// As `draw`, and if there is no room for a part of the chart.
pub fn svg(
    title: &str,
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
    let mut image = String::new();
    let area = SVGBackend::with_string(&mut image, size).into_drawing_area();
    area.fill(&PAPER)?;
    draw(&area)?;
    area.present()?;
    drop(area);
    // The attributes of plotters have a lower precedence than any rule.
    let rules = DARK.map(|(RGBColor(red, green, blue), dark)| {
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
    });
    let head = format!(
        ">\n<title>{}</title>\n<style>@media(prefers-color-scheme:dark){{{}}}</style>",
        escaped(title),
        rules.concat()
    );
    let image = image.replacen("<svg ", "<svg role=\"img\" ", 1);
    Ok(image.replacen('>', &head, 1))
}

/// The style of the title of a chart.
#[must_use]
pub fn heading(area: &Area<'_>) -> TextStyle<'static> {
    style(area, 21, FontStyle::Bold, INK)
}

/// Axes, and a grid of horizontal lines.
pub fn mesh<'a, 'b, 'c, X, Y>(
    chart: &'b mut ChartContext<'a, SVGBackend<'c>, Cartesian2d<X, Y>>,
    area: &Area<'_>,
) -> MeshStyle<'a, 'b, X, Y, SVGBackend<'c>>
where
    X: Ranged + ValueFormatter<X::ValueType>,
    Y: Ranged + ValueFormatter<Y::ValueType>,
{
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(AXIS)
        .label_style(text(area, MUTED));
    mesh
}

/// The style of other texts.
#[must_use]
pub fn text(area: &Area<'_>, colour: RGBColor) -> TextStyle<'static> {
    style(area, 17, FontStyle::Normal, colour)
}

/// `size` is the line height; the letters are a fifth smaller.
fn style(area: &Area<'_>, size: u32, style: FontStyle, colour: RGBColor) -> TextStyle<'static> {
    let font = ("system-ui, sans-serif", size).into_font().style(style);
    TextStyle {
        color: colour.to_backend_color(),
        ..font.into_text_style(area)
    }
}

/// Escapes a text for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use plotters::prelude::{Rectangle, Text};

    use super::*;

    #[test]
    fn every_colour_has_a_dark_one() {
        let image = svg("a < b", (100, 100), |area| {
            area.draw(&Rectangle::new([(0, 0), (9, 9)], SERIES[0].filled()))?;
            area.draw(&Text::new("a & b", (5, 5), text(area, INK)))
        })
        .unwrap();
        assert!(image.contains("<title>a &lt; b</title>") && image.contains("a &amp; b"));
        for (colour, dark) in [(SERIES[0], "#6f9fd0"), (INK, "#e6e6e6"), (PAPER, "#15181c")] {
            let RGBColor(red, green, blue) = colour;
            let light = format!("#{red:02X}{green:02X}{blue:02X}");
            assert!(image.contains(&format!(" fill=\"{light}\"")), "{image}");
            assert!(image.contains(&format!("[fill=\"{light}\"]{{fill:{dark}}}")));
        }
    }
}
