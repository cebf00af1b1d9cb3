//! Sessions of the image with numpy.

use assay_worker::program::{Call, End, WORK_PER_SECOND};
use bytes::Bytes;

use super::{call, called, returned, with_workers};

#[test]
fn arrays_survive_freezing_bit_for_bit() {
    with_workers(|workers| {
        let calls = [
            (
                "import numpy as np\nrng = np.random.default_rng(5)\na = rng.standard_normal((300, 400))\n\
                 v = a[::2, 1:].T\na.nbytes, v.shape, v.base is a",
                "(960000, (399, 150), True)",
            ),
            (
                "before = a.tobytes()\na[0, 1] = np.nan\nbool(np.isnan(v[0, 0]))",
                "True",
            ),
            (
                "b = np.frombuffer(before).reshape(a.shape)\nint((a != b).sum()), v.base is a, b.flags.writeable",
                "(1, True, False)",
            ),
            (
                "r = np.random.default_rng(5)\n_ = r.standard_normal((300, 400))\n\
                 float(r.random()) == float(rng.random())",
                "True",
            ),
            ("int(np.ma.masked_invalid(a).mask.sum())", "1"),
        ];
        let session = |worker: &dyn Fn(usize) -> usize| {
            let mut frozen: Option<Bytes> = None;
            let mut all = Vec::new();
            for (at, (code, displayed)) in calls.iter().enumerate() {
                let mut next = Call {
                    image: "python-scientific".to_owned(),
                    ..call(frozen.as_deref(), u32::try_from(at + 1).unwrap(), code)
                };
                next.limits.work = 5 * WORK_PER_SECOND;
                next.limits.memory_bytes = 512 << 20;
                let called = called(&workers[worker(at)], next);
                assert_eq!(called.ran.end, returned(displayed), "{code}");
                frozen.clone_from(&called.frozen);
                all.push(called);
            }
            all
        };
        assert!(
            session(&|_| 0) == session(&|at| at % 2),
            "what a call leaves depends on the worker"
        );
    });
}

#[test]
fn plots_are_not_available() {
    with_workers(|[worker, _]| {
        let plot = Call {
            image: "python-scientific".to_owned(),
            ..call(None, 1, "import matplotlib")
        };
        let ended = called(worker, plot).ran.end;
        assert!(
            matches!(&ended, End::Raised(text) if text.contains("No module named 'matplotlib'"))
        );
    });
}
