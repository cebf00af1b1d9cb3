//! Chart: accuracy by estimator under fresh and persistent noise, and accuracy under systematic
//! false negatives by the share appealed.

use std::ops::Range;

use assay_charts::{Area, DrawError, INK, PAPER, SERIES, heading, mesh, text};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    Cartesian2d, ChartBuilder, ChartContext, Circle, Color as _, DashedLineSeries, EmptyElement,
    LineSeries, PathElement, RGBAColor, Rectangle, SVGBackend, SeriesLabelPosition, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::noise::estimator::Estimator;
use crate::noise::experiments::{self, APPEALED, Experiment};
use crate::noise::policy::START;
use crate::noise::table::Outcomes;
use crate::noise::training::{Case, Outcome};
use crate::noise::verifier::Noise;

/// Width and height of the image.
const SIZE: (u32, u32) = (900, 1_140);
/// Room for the legend to the right of the bars, as a share of their width.
const LEGEND: f64 = 0.3;
/// Share of the width of a group that its bars take.
const FILLED: f64 = 0.84;

/// A panel with accuracies on its vertical axis.
struct Panel<'a, 'b> {
    area: &'a Area<'b>,
    low: f64,
    chart: ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
}

impl<'a, 'b> Panel<'a, 'b> {
    fn new(
        area: &'a Area<'b>,
        title: &str,
        x_axis: &str,
        groups: Range<f64>,
        accuracies: Range<f64>,
    ) -> Result<Self, DrawError> {
        let low = accuracies.start;
        let mut chart = ChartBuilder::on(area)
            .caption(title, heading(area))
            .margin(16)
            .x_label_area_size(54)
            .y_label_area_size(60)
            .build_cartesian_2d(groups, accuracies)?;
        mesh(&mut chart, area)
            .x_labels(0)
            .y_labels(6)
            .x_desc(x_axis)
            .y_desc("true accuracy")
            .draw()?;
        Ok(Self { area, low, chart })
    }

    /// Whiskers of one standard error.
    fn error(&mut self, x: f64, Outcome { accuracy, .. }: &Outcome) -> Result<(), DrawError> {
        let ends = [-1.0, 1.0].map(|sign| (x, accuracy.value + sign * accuracy.error));
        self.chart.draw_series([PathElement::new(ends, INK)])?;
        Ok(())
    }

    /// A text at an offset in pixels.
    fn text(
        &mut self,
        at: (f64, f64),
        offset: (i32, i32),
        h_pos: HPos,
        label: String,
    ) -> Result<(), DrawError> {
        let style = text(self.area, INK).pos(Pos::new(h_pos, VPos::Top));
        let label = EmptyElement::at(at) + Text::new(label, offset, style);
        self.chart.draw_series([label])?;
        Ok(())
    }

    /// The label of a group, below the axis.
    fn label(&mut self, x: f64, label: String) -> Result<(), DrawError> {
        self.text((x, self.low), (0, 8), HPos::Center, label)
    }

    fn bars(&mut self, experiment: &Experiment, outcomes: &Outcomes) -> Result<(), DrawError> {
        // Fresh noise next to persistent noise is paler.
        let cases = || {
            experiment
                .rows
                .iter()
                .flat_map(|(_, cases)| cases)
                .flatten()
        };
        let plain = cases().all(|case| matches!(case.noise, Noise::Fresh(_)));
        let names = &experiment.columns[1..];
        let width = FILLED / names.len() as f64;
        for (at, name) in names.iter().enumerate() {
            let column = experiment.rows.iter().enumerate();
            let column: Vec<_> = column
                .filter_map(|(group, (_, cases))| {
                    let case = cases.get(at).copied().flatten()?;
                    let left = group as f64 + (1.0 - FILLED) / 2.0 + width * at as f64;
                    Some((left, colour(&case, plain), outcomes.of(&case)?))
                })
                .collect();
            let bars = column.iter().map(|(left, colour, outcome)| {
                let corners = [(*left, 0.0), (left + 0.9 * width, outcome.accuracy.value)];
                Rectangle::new(corners, colour.filled())
            });
            let drawn = self.chart.draw_series(bars)?;
            if let Some(&(_, colour, _)) = column.first() {
                drawn.label(*name).legend(move |(x, y)| {
                    Rectangle::new([(x, y - 6), (x + 13, y + 7)], colour.filled())
                });
            }
            for (left, _, outcome) in &column {
                self.error(left + 0.45 * width, outcome)?;
            }
        }
        for (group, (label, _)) in experiment.rows.iter().enumerate() {
            self.label(group as f64 + 0.5, label.clone())?;
        }
        self.level(experiment.rows.len() as f64, START)?
            .label("before training")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 13, y)], INK));
        self.chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(PAPER)
            .label_font(text(self.area, INK))
            .draw()
    }

    /// A dashed line from the left end of the panel to `right`.
    fn level(
        &mut self,
        right: f64,
        accuracy: f64,
    ) -> Result<&mut plotters::chart::SeriesAnno<'a, SVGBackend<'b>>, DrawError> {
        let ends = [(0.0, accuracy), (right, accuracy)];
        let line = DashedLineSeries::new(ends, 5, 4, INK.stroke_width(1));
        self.chart.draw_series(line)
    }

    /// The horizontal axis of the curve is the share appealed.
    fn curve(&mut self, experiment: &Experiment, outcomes: &Outcomes) -> Result<(), DrawError> {
        let first = |cases: &[Option<Case>]| outcomes.of(&cases.first().copied().flatten()?);
        let points: Vec<(f64, Outcome)> = APPEALED
            .into_iter()
            .zip(&experiment.rows)
            .filter_map(|(share, (_, cases))| Some((share, first(cases)?)))
            .collect();
        let clean = experiment.rows.last().and_then(|(_, cases)| first(cases));
        if let Some(Outcome { accuracy, .. }) = clean {
            self.level(1.0, accuracy.value)?;
            let label = format!("without noise: {:.3}", accuracy.value);
            self.text((0.0, accuracy.value), (8, -20), HPos::Left, label)?;
        }
        let position = |(share, outcome): &(f64, Outcome)| (*share, outcome.accuracy.value);
        let line = LineSeries::new(points.iter().map(position), SERIES[3].stroke_width(2));
        self.chart.draw_series(line)?;
        for point @ (share, outcome) in &points {
            let circle = Circle::new(position(point), 5, SERIES[3].filled());
            self.chart.draw_series([circle])?;
            self.error(*share, outcome)?;
            self.label(*share, format!("{} %", 100.0 * share))?;
            let (offset, h_pos) = if *share < 1.0 {
                (12, HPos::Left)
            } else {
                (-12, HPos::Right)
            };
            let value = format!("{:.3}", outcome.accuracy.value);
            self.text(position(point), (offset, 8), h_pos, value)?;
        }
        Ok(())
    }
}

/// The colour of an estimator, the same in all panels.
fn colour(case: &Case, plain: bool) -> RGBAColor {
    let at = Estimator::COLUMNS
        .iter()
        .position(|estimator| *estimator == case.estimator)
        .unwrap_or(0);
    let is_pale = !plain && matches!(case.noise, Noise::Fresh(_));
    SERIES[at].mix(if is_pale { 0.45 } else { 1.0 })
}

/// The chart of one channel under fresh and persistent noise, and of systematic false negatives by
/// share appealed.
///
/// # Errors
/// If there is no room for a label.
pub(crate) fn svg(outcomes: &Outcomes, seeds: u64) -> Result<String, DrawError> {
    let title = "True accuracy after training under noisy verifiers";
    assay_charts::svg(title, SIZE, |area| {
        let (fresh, rest) = area.split_vertically(375);
        let (persistent, appealed) = rest.split_vertically(375);
        let rates = format!(
            "false-positive and false-negative rate (rho0, rho1); whiskers: one standard error, \
             {seeds} seeds"
        );
        for (area, title, experiment) in [
            (
                &fresh,
                "Fresh noise, one channel: corrections change little",
                experiments::one_channel(),
            ),
            (
                &persistent,
                "Persistent noise, one channel: no correction helps",
                experiments::persistent(),
            ),
        ] {
            let groups = 0.0..experiment.rows.len() as f64 * (1.0 + LEGEND);
            Panel::new(area, title, &rates, groups, 0.0..1.0)?.bars(&experiment, outcomes)?;
        }
        Panel::new(
            &appealed,
            "The modal right form always rejected: appeals that overturn restore accuracy",
            "share of negatives appealed (judge: sensitivity 0.9, specificity 0.98), mean \
             baseline; the axis starts at 0.65",
            -0.05..1.05,
            0.65..0.9,
        )?
        .curve(&experiments::modal_form(), outcomes)
    })
}
