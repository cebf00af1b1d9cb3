//! SVG chart: accuracy by estimator under fresh and persistent noise, and accuracy under systematic
//! false negatives by the share appealed. It contains no script, and follows the reader's light or
//! dark colour scheme.

use std::fmt::Write as _;

use crate::noise::estimator::Estimator;
use crate::noise::experiments::{self, APPEALED, Experiment};
use crate::noise::policy::START;
use crate::noise::table::Outcomes;
use crate::noise::training::{Case, Outcome};
use crate::noise::verifier::Noise;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 1_140.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 880.0;

const STYLE: &str = "text{font:14px \
system-ui,sans-serif;fill:#222}.t{font-size:17px;font-weight:600}.m{fill:#555}.e{text-anchor:end}.c{text-anchor:middle}.p{fill:#fff}.g{stroke:#ddd}.a{stroke:#888}.w{stroke:#222;stroke-width:1.3}.s0{fill:#4c78a8}.s1{fill:#e08a2c}.s2{fill:#4f9d57}.s3{fill:#8a62a8}.s4{fill:#9a6b52}.s5{fill:#3aa0a8}.f{fill-opacity:.45}.l{fill:none;stroke:#8a62a8;stroke-width:2}@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.m{fill:#aaa}.p{fill:#15181c}.g{stroke:#333}.a{stroke:#777}.w{stroke:#eee}.s0{fill:#6f9fd0}.s1{fill:#f0a552}.s2{fill:#6dbb75}.s3{fill:#ab85c8}.s4{fill:#bd8d73}.s5{fill:#5cc0c8}.l{stroke:#ab85c8}}";

/// A panel: position and range of its axis of accuracies.
struct Panel {
    top: f64,
    bottom: f64,
    low: f64,
    high: f64,
}

impl Panel {
    fn y(&self, accuracy: f64) -> f64 {
        self.bottom - (accuracy - self.low) / (self.high - self.low) * (self.bottom - self.top)
    }
}

/// An SVG document in construction. Writing to a `String` cannot fail.
struct Drawing(String);

impl Drawing {
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        let written = self
            .0
            .write_fmt(element)
            .and_then(|()| self.0.write_char('\n'));
        debug_assert!(written.is_ok());
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    fn frame(&mut self, panel: &Panel, title: &str, axis: &str) {
        self.text("t", LEFT, panel.top - 42.0, title);
        for step in 0..=5u8 {
            let accuracy = panel.low + (panel.high - panel.low) * f64::from(step) / 5.0;
            let y = panel.y(accuracy);
            self.line(if step > 0 { "g" } else { "a" }, (LEFT, y), (RIGHT, y));
            self.text("m e", LEFT - 8.0, y + 5.0, &format!("{accuracy:.2}"));
        }
        let middle = f64::midpoint(panel.top, panel.bottom);
        self.put(format_args!(
            "<text class=\"c m\" transform=\"translate(18 {middle:.1}) rotate(-90)\">true \
             accuracy</text>"
        ));
        self.text("c m", f64::midpoint(LEFT, RIGHT), panel.bottom + 44.0, axis);
    }

    /// Whiskers of one standard error.
    fn error(&mut self, panel: &Panel, x: f64, outcome: &Outcome) {
        let (low, high) = (
            outcome.accuracy.value - outcome.accuracy.error,
            outcome.accuracy.value + outcome.accuracy.error,
        );
        self.line("w", (x, panel.y(low)), (x, panel.y(high)));
    }

    fn bars(&mut self, panel: &Panel, experiment: &Experiment, outcomes: &Outcomes) {
        let groups = experiment.rows.len() as f64;
        // Fresh noise next to persistent noise is paler.
        let fresh =
            |case: &Option<Case>| case.is_some_and(|case| matches!(case.noise, Noise::Fresh(_)));
        let plain = experiment
            .rows
            .iter()
            .all(|(_, cases)| cases.iter().all(fresh));
        let pitch = (RIGHT - LEFT) / groups;
        let bars = experiment.columns.len().saturating_sub(1) as f64;
        let bar = pitch * 0.84 / bars;
        for (group, (label, cases)) in experiment.rows.iter().enumerate() {
            let left = LEFT + pitch * (group as f64 + 0.08);
            self.text("c", left + pitch * 0.42, panel.bottom + 20.0, label);
            for (at, case) in cases.iter().enumerate() {
                let Some((case, outcome)) = case.and_then(|case| Some((case, outcomes.of(&case)?)))
                else {
                    continue;
                };
                let x = left + bar * at as f64;
                let y = panel.y(outcome.accuracy.value);
                let height = panel.bottom - y;
                self.put(format_args!(
                    "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
                     height=\"{height:.1}\"/>",
                    colour(&case, plain),
                    bar - 2.0
                ));
                self.error(panel, x + bar / 2.0 - 1.0, &outcome);
            }
        }
        let mut x = LEFT;
        let first = experiment
            .rows
            .first()
            .map(|(_, cases)| cases.iter().flatten())
            .into_iter()
            .flatten();
        for (name, case) in experiment.columns.iter().skip(1).zip(first) {
            self.put(format_args!(
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"13\" height=\"13\"/>",
                colour(case, plain),
                panel.top - 29.0
            ));
            self.text("", x + 18.0, panel.top - 17.0, name);
            x += 42.0 + 7.5 * name.len() as f64;
        }
        self.put(format_args!(
            "<line class=\"w\" stroke-dasharray=\"5 4\" x1=\"{LEFT}\" y1=\"{0:.1}\" \
             x2=\"{RIGHT}\" y2=\"{0:.1}\"/>",
            panel.y(START)
        ));
        self.put(format_args!(
            "<line class=\"w\" stroke-dasharray=\"5 4\" x1=\"{x:.1}\" y1=\"{0:.1}\" x2=\"{1:.1}\" \
             y2=\"{0:.1}\"/>",
            panel.top - 22.0,
            x + 20.0
        ));
        self.text("", x + 26.0, panel.top - 17.0, "before training");
    }

    /// A dashed line across the panel.
    fn level(&mut self, panel: &Panel, accuracy: f64, name: &str) {
        let y = panel.y(accuracy);
        self.put(format_args!(
            "<line class=\"w\" stroke-dasharray=\"5 4\" x1=\"{LEFT}\" y1=\"{y:.1}\" \
             x2=\"{RIGHT}\" y2=\"{y:.1}\"/>"
        ));
        self.text("m", LEFT + 8.0, y - 6.0, &format!("{name}: {accuracy:.3}"));
    }

    fn curve(&mut self, panel: &Panel, experiment: &Experiment, outcomes: &Outcomes) {
        let position = |share: f64| LEFT + 40.0 + share * (RIGHT - LEFT - 80.0);
        let mut points = String::new();
        let mut marks = Vec::new();
        for (share, (_, cases)) in APPEALED.into_iter().zip(&experiment.rows) {
            let Some(outcome) = cases
                .first()
                .copied()
                .flatten()
                .and_then(|case| outcomes.of(&case))
            else {
                continue;
            };
            let x = position(share);
            let written = write!(points, "{x:.1},{:.1} ", panel.y(outcome.accuracy.value));
            debug_assert!(written.is_ok());
            marks.push((x, share, outcome));
        }
        let clean = experiment
            .rows
            .last()
            .and_then(|(_, cases)| outcomes.of(&cases.first().copied().flatten()?));
        if let Some(clean) = clean {
            self.level(panel, clean.accuracy.value, "without noise");
        }
        self.put(format_args!(
            "<polyline class=\"l\" points=\"{}\"/>",
            points.trim_end()
        ));
        for (x, share, outcome) in marks {
            let y = panel.y(outcome.accuracy.value);
            self.put(format_args!(
                "<circle class=\"s3\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"
            ));
            self.error(panel, x, &outcome);
            self.text("c", x, panel.bottom + 20.0, &format!("{} %", 100.0 * share));
            let (class, offset) = if share < 1.0 {
                ("", 12.0)
            } else {
                ("e", -12.0)
            };
            self.text(
                class,
                x + offset,
                y + 18.0,
                &format!("{:.3}", outcome.accuracy.value),
            );
        }
    }
}

/// CSS class of an estimator, the same in all panels.
fn colour(case: &Case, plain: bool) -> String {
    let at = Estimator::COLUMNS
        .iter()
        .position(|estimator| *estimator == case.estimator)
        .unwrap_or(0);
    let paler = if !plain && matches!(case.noise, Noise::Fresh(_)) {
        " f"
    } else {
        ""
    };
    format!("s{at}{paler}")
}

/// The chart of one channel under fresh and persistent noise, and of systematic false negatives by
/// share appealed.
pub(crate) fn svg(outcomes: &Outcomes, seeds: u64) -> String {
    let mut drawing = Drawing(String::new());
    drawing.put(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">"
    ));
    drawing.put(format_args!(
        "<title>True accuracy after training under noisy verifiers</title>"
    ));
    drawing.put(format_args!("<style>{STYLE}</style>"));
    drawing.put(format_args!(
        "<rect class=\"p\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"
    ));
    let bars = |top: f64| Panel {
        top,
        bottom: top + 240.0,
        low: 0.0,
        high: 1.0,
    };
    let rates = format!(
        "false-positive and false-negative rate (rho0, rho1); whiskers: one standard error, \
         {seeds} seeds"
    );
    let (fresh, persistent) = (bars(70.0), bars(440.0));
    drawing.frame(
        &fresh,
        "Fresh noise, one channel: corrections change little",
        &rates,
    );
    drawing.bars(&fresh, &experiments::one_channel(), outcomes);
    drawing.frame(
        &persistent,
        "Persistent noise, one channel: no correction helps",
        &rates,
    );
    drawing.bars(&persistent, &experiments::persistent(), outcomes);
    let appealed = Panel {
        top: 810.0,
        bottom: 1_070.0,
        low: 0.65,
        high: 0.9,
    };
    drawing.frame(
        &appealed,
        "The modal right form always rejected: appeals that overturn restore accuracy",
        "share of negatives appealed (judge: sensitivity 0.9, specificity 0.98), mean baseline; \
         the axis starts at 0.65",
    );
    drawing.curve(&appealed, &experiments::modal_form(), outcomes);
    drawing.put(format_args!("</svg>"));
    drawing.0
}
