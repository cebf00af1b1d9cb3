//! The binary that tests start cells from: a test's own binary answers to the test harness, not to the hidden role.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_node::sandboxes::answer_role().unwrap_or(ExitCode::FAILURE)
}
