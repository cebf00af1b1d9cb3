//! The metrics of the grader, all described here.

use metrics::{Counter, Unit, counter, describe_counter};

use crate::driver_evidence::Limit;
use crate::features;

const LIMITS: &str = "assay_sandbox_limits_total";

/// Names of all metrics of the grader.
pub const NAMES: &[&str] = &[LIMITS];

/// Causes that are counted by their name. Others are counted as `other`: a program can invent
/// names, and labels are never removed.
const CAUSES: &str = "module process network file thread size extension other";

/// Modules that are counted by their name: the packages that datasets import most, and modules of
/// the standard library that the image does not have because they need an operating system.
const MODULES: &str = "Crypto IPython PIL aiohttp astropy attr bitarray boto3 bs4 cachetools \
    cryptography ctypes curses cv2 cvxpy dateutil django faker fastapi fcntl flask gensim \
    geopandas gmpy2 grp httpx jax keras librosa lightgbm lxml matplotlib mmap more_itertools \
    mpmath mysql networkx nltk numba numpy openpyxl ortools pandas plotly polars psutil psycopg2 \
    pulp pwd pydantic pygame pymongo pytest pytz readline regex requests resource scipy seaborn \
    selenium shapely skimage sklearn sortedcontainers spacy sqlalchemy sqlite3 ssl statsmodels \
    sympy tabulate tensorflow termios textblob tkinter toolz torch torchvision tqdm transformers \
    ujson xgboost xlrd xlwt yaml";

/// Functions that are counted by their name, by the cause that the drivers report for them.
const CALLS: &[(&str, &str)] = &[
    ("file", "open zoneinfo.ZoneInfo"),
    (
        "network",
        "socket.create_connection socket.getaddrinfo socket.socket ssl.create_default_context \
         urllib.request.urlopen",
    ),
    ("other", "os.kill signal.pause signal.setitimer"),
    (
        "process",
        "multiprocessing.Pool multiprocessing.Process os.execv os.fork os.popen os.posix_spawn \
         os.system subprocess.Popen subprocess.call subprocess.check_call subprocess.check_output \
         subprocess.run",
    ),
    (
        "thread",
        "threading.Condition.wait threading.Event.wait threading.Lock.acquire threading.Thread",
    ),
];

pub(crate) fn describe() {
    describe_counter!(
        LIMITS,
        Unit::Count,
        "Items whose result was caused by a limit of the sandbox, by outcome, cause and name."
    );
    // Registered before they count, so that the first count is an increase and not a new series.
    let others = CAUSES.split_whitespace().map(|cause| (cause, "other"));
    let modules = MODULES.split_whitespace().map(|name| ("module", name));
    let calls = CALLS
        .iter()
        .flat_map(|(cause, names)| names.split_whitespace().map(|name| (*cause, name)));
    for (cause, name) in others.chain(modules).chain(calls).chain(features::all()) {
        for outcome in ["graded", "ungradable"] {
            limits(outcome, cause, name).increment(0);
        }
    }
}

fn limits(outcome: &'static str, cause: &'static str, name: &'static str) -> Counter {
    counter!(LIMITS, "outcome" => outcome, "cause" => cause, "name" => name)
}

/// Counts an item whose result was caused by a limit of the sandbox.
pub(crate) fn limited(outcome: &'static str, limit: &Limit) {
    let (cause, name) = labels(limit);
    limits(outcome, cause, name).increment(1);
}

/// Labels from the fixed lists.
fn labels(limit: &Limit) -> (&'static str, &'static str) {
    let listed =
        |list: &'static str, name: &str| list.split_whitespace().find(|known| *known == name);
    let cause = listed(CAUSES, &limit.cause).unwrap_or("other");
    let name = match cause {
        "module" => listed(MODULES, limit.name.split('.').next().unwrap_or_default()),
        _ => CALLS
            .iter()
            .find_map(|(_, names)| listed(names, &limit.name))
            .or_else(|| {
                features::all()
                    .map(|(_, name)| name)
                    .find(|known| *known == limit.name)
            }),
    };
    (cause, name.unwrap_or("other"))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use metrics::{
        Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
        with_local_recorder,
    };

    use super::*;

    /// Described counters, and the counts of used ones.
    #[derive(Default)]
    pub(crate) struct Counters {
        described: Mutex<Vec<String>>,
        counts: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    }

    impl Counters {
        /// Names of the described counters, in order of description.
        pub(crate) fn described(&self) -> Vec<String> {
            self.described.lock().unwrap().clone()
        }

        /// Each counter that has counted as `NAME LABEL=VALUE…`, with its count.
        pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
            let counts = self.counts.lock().unwrap();
            counts
                .iter()
                .map(|(name, count)| (name.clone(), count.load(Ordering::Relaxed)))
                .filter(|(_, count)| *count > 0)
                .collect()
        }
    }

    impl Recorder for Counters {
        fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
            self.described
                .lock()
                .unwrap()
                .push(name.as_str().to_owned());
        }

        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            let labels: Vec<String> = key
                .labels()
                .map(|label| format!(" {}={}", label.key(), label.value()))
                .collect();
            let name = format!("{}{}", key.name(), labels.concat());
            let count = self.counts.lock().unwrap().entry(name).or_default().clone();
            Counter::from_arc(count)
        }

        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::noop()
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::noop()
        }
    }

    #[test]
    fn counts_items_by_outcome_and_limit() {
        let counters = Counters::default();
        let limit = Limit {
            cause: "module".to_owned(),
            name: "numpy.linalg".to_owned(),
        };
        with_local_recorder(&counters, || {
            limited("graded", &limit);
            limited("ungradable", &limit);
            limited("graded", &limit);
        });
        let counter = |outcome: &str| {
            format!("assay_sandbox_limits_total outcome={outcome} cause=module name=numpy")
        };
        assert_eq!(
            counters.counts(),
            BTreeMap::from([(counter("graded"), 2), (counter("ungradable"), 1)])
        );
    }

    #[test]
    fn labels_come_from_fixed_lists() {
        let labels_of = |cause: &str, name: &str| {
            labels(&Limit {
                cause: cause.to_owned(),
                name: name.to_owned(),
            })
        };
        assert_eq!(labels_of("module", "numpy.linalg"), ("module", "numpy"));
        assert_eq!(
            labels_of("module", "made_up_by_a_program"),
            ("module", "other")
        );
        assert_eq!(
            labels_of("process", "subprocess.Popen"),
            ("process", "subprocess.Popen")
        );
        assert_eq!(labels_of("process", "numpy"), ("process", "other"));
        assert_eq!(
            labels_of("extension", "inline_assembly"),
            ("extension", "inline_assembly")
        );
        assert_eq!(labels_of("made up", "open"), ("other", "open"));
        let calls = CALLS.iter().map(|(_, names)| *names);
        for list in calls.chain([MODULES]) {
            let names: Vec<&str> = list.split_whitespace().collect();
            assert!(names.is_sorted(), "a list of names is in order");
        }
    }
}
