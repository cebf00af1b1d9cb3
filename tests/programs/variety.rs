//! Programs that leave an instance in many different states.

use assay_worker::program::Test;

const RESTORABLE: &str = include_str!("varied/restorable.py");
const REPLACED: &str = include_str!("varied/replaced.py");
const FUNCTIONS: &str = include_str!("varied/functions.py");

/// A program with its test.
pub(crate) struct Variety {
    pub(crate) text: String,
    pub(crate) test: Test,
    /// Whether the instance must be replaced after the run.
    pub(crate) is_replaced: bool,
}

/// The cells of a file, without the comment before the first one.
fn cells(file: &str) -> Vec<&str> {
    file.split("# %%\n").skip(1).collect()
}

/// A program that depends only on its number.
pub(crate) fn varied(number: u64) -> Variety {
    // An irregular number below 1,000, and an irregular choice of cells.
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (value, choice) = ((mixed >> 32) % 1_000, usize::try_from(mixed >> 48).unwrap());
    let with_number = |text: &str| format!("N = {value}\n{text}");
    let restorable = cells(RESTORABLE);
    let cell = |at: usize| restorable[at % restorable.len()];
    let functions = cells(FUNCTIONS);
    let (function, test) = {
        let at = choice % (functions.len() / 2);
        (functions[2 * at], functions[2 * at + 1])
    };
    let input = || Test::Stdin(b"1 2 3\n".to_vec());
    match number % 8 {
        0 => {
            let replaced = cells(REPLACED);
            Variety {
                text: with_number(replaced[choice % replaced.len()]),
                test: input(),
                is_replaced: true,
            }
        }
        1 => Variety {
            text: with_number(function),
            test: Test::Assert {
                setup: with_number("import sys\nsys.mark = N"),
                text: test.to_owned(),
                module: "solution".to_owned(),
                pytest: false,
                shares_files: true,
            },
            is_replaced: false,
        },
        2 => Variety {
            text: with_number(function),
            test: Test::Call {
                function: "f".to_owned(),
                args: "[[1, 2]]".to_owned(),
                kwargs: "{}".to_owned(),
            },
            is_replaced: false,
        },
        3 => Variety {
            text: with_number(&format!("{}\n{}", cell(choice), cell(choice / 64))),
            test: input(),
            is_replaced: false,
        },
        _ => Variety {
            text: with_number(cell(choice)),
            test: input(),
            is_replaced: false,
        },
    }
}
