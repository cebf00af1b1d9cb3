//! Attacks of sessions on other sessions, on forks, on limits and on workers.

use assay_wasm::ProgramHandler;
use assay_worker::program::{Call, Called, CompiledCall, End, Reply, Request, WORK_PER_SECOND};
use bytes::Bytes;

use super::{call, called, in_javascript, returned, with_workers};

/// Changes everything that a call can reach, also the driver, and leaves a secret in each place.
const TRACES: &str = r#"
import builtins, contextvars, decimal, gc, io, json, locale, logging, os, random, sys, warnings
secret = 'traces-of-another-session'
builtins.secret = secret
builtins.len = lambda _: 13
os.environ['SECRET'] = secret
os.chdir('/tmp') if hasattr(os, 'chdir') else None
json.dumps = lambda *_: secret
sys.modules['secret'] = type(sys)(secret)
sys.path.insert(0, '/' + secret)
sys.setrecursionlimit(321)
sys.displayhook = print
random.seed(3)
decimal.getcontext().prec = 5
warnings.simplefilter('error')
logging.getLogger().addHandler(logging.StreamHandler(io.StringIO(secret)))
contextvars.ContextVar('secret').set(secret)
kept = open('/tmp/' + secret, 'w+')
kept.write(secret)
open('secret.py', 'w').write(f'value = {secret!r}')
frame = sys._getframe()
while frame:
    frame.f_globals['secret'] = secret
    for module in [v for v in frame.f_globals.values() if type(v) is type(sys)]:
        try:
            module.secret = secret
        except Exception:
            pass
    frame = frame.f_back
for known in gc.get_objects():
    if type(known) is dict and known is not globals():
        try:
            known['secret'] = secret
        except Exception:
            pass
big = [bytearray(secret.encode() * 1000) for _ in range(400)]
"#;

/// Shows what [`TRACES`] changes.
const LOOK: &str = r"
import builtins, decimal, gc, json, logging, os, random, sys, warnings
(
    'secret' in globals(), hasattr(builtins, 'secret'), len('four'), dict(os.environ), os.getcwd(),
    json.dumps([1]), 'secret' in sys.modules, sys.path, sys.getrecursionlimit(),
    sys.displayhook is sys.__displayhook__, random.random(), decimal.getcontext().prec,
    warnings.filters, logging.getLogger().handlers, sorted(os.listdir('/')),
    sorted(os.listdir('/tmp')), sorted(os.listdir('/dev/fd')),
    sum(type(known) is dict and 'secret' in known for known in gc.get_objects()),
)
";

fn leave_traces(worker: &ProgramHandler) -> Called {
    let mut traces = call(None, 1, TRACES);
    traces.limits.work = 10 * WORK_PER_SECOND;
    traces.seed = 11;
    called(worker, traces)
}

#[test]
fn sessions_leave_nothing_in_their_worker() {
    with_workers(|[clean, used]| {
        let traces = leave_traces(used);
        assert!(
            !matches!(traces.ran.end, End::Raised(_)),
            "{:?}",
            traces.ran.end
        );
        for javascript in [
            "globalThis.secret = 1; Array.prototype.map = null",
            "process.exit(3)",
        ] {
            called(used, in_javascript(call(None, 1, javascript)));
        }
        // The whole state is compared, not only what a program can see of it.
        let expected = called(clean, call(None, 1, LOOK));
        assert!(
            matches!(expected.ran.end, End::Returned(_)),
            "{:?}",
            expected.ran.end
        );
        assert!(
            called(used, call(None, 1, LOOK)) == expected,
            "a session sees another"
        );
        let look = || in_javascript(call(None, 1, "[typeof secret, [1].map((x) => x)]"));
        let expected = called(clean, look());
        assert_eq!(expected.ran.end, returned("[ 'undefined', [ 1 ] ]"));
        assert!(called(used, look()) == expected, "a session sees another");
    });
}

#[test]
fn forks_leave_nothing_in_each_other() {
    with_workers(|[clean, used]| {
        let start = called(
            clean,
            call(None, 1, "shared = {'n': [1]}\nopen('f', 'w').write('a');"),
        );
        let start = start.frozen.unwrap();
        let expected = called(clean, call(Some(&start), 2, LOOK));
        let mut fork = call(Some(&start), 2, TRACES);
        fork.limits.work = 10 * WORK_PER_SECOND;
        let fork = called(used, fork);
        assert_ne!(fork.frozen, None, "{:?}", fork.ran.end);
        assert!(
            called(used, call(Some(&start), 2, LOOK)) == expected,
            "a fork sees another"
        );
    });
}

#[test]
fn traces_stay_in_their_own_session() {
    with_workers(|[first, second]| {
        let traces = leave_traces(first).frozen.unwrap();
        let own =
            "(secret, os.environ['SECRET'], len(''), kept.tell() > 0, json.dumps(1) == secret)";
        let next = called(second, call(Some(&traces), 2, own));
        let secret = "'traces-of-another-session'";
        assert_eq!(
            next.ran.end,
            returned(&format!("({secret}, {secret}, 13, True, True)"))
        );
    });
}

/// Calls of one session, in order.
const STATE: [&str; 8] = [
    "import random, io, itertools\nrandom.seed(5)\ndraws = [random.random() for _ in range(3)]",
    "def walk(n):\n    for i in range(n):\n        sent = yield i\n        if sent: yield sent * 2\n\
     g = walk(5)\nnext(g), g.send(21)",
    "class Node:\n    count = 0\n    __slots__ = ('left', 'value')\n    def __init__(self, value, left=None):\n\
     \x20       Node.count += 1\n        self.value, self.left = value, left\ntree = Node(1, Node(2))",
    "f = io.BytesIO(b'0123456789')\nf.seek(4)\nw = open('log', 'w', buffering=4096)\nw.write('kept')",
    "draws + [random.gauss(0, 1), random.getrandbits(70)], next(g)",
    "f.read(3), f.tell(), w.tell(), open('log').read()",
    "w.close(), open('log').read(), tree.left.value, Node.count, hash('text')",
    "(list(g), random.sample(range(100), 5), id(tree) == id(tree), sorted({'a', 'b', 'c'}))",
];

fn run_session<'w>(worker: impl Fn(usize) -> &'w ProgramHandler, seed: u64) -> Vec<Called> {
    let mut frozen: Option<Bytes> = None;
    let calls = STATE.iter().enumerate().map(|(at, code)| {
        let mut next = call(frozen.as_deref(), u32::try_from(at + 1).unwrap(), code);
        next.seed = seed;
        let called = called(worker(at), next);
        assert!(
            !matches!(called.ran.end, End::Raised(_)),
            "{code}: {:?}",
            called.ran.end
        );
        frozen.clone_from(&called.frozen);
        called
    });
    calls.collect()
}

#[test]
fn state_survives_freezing_as_if_nothing_had_been_frozen() {
    with_workers(|[worker, _]| {
        let last = run_session(|_| worker, 7).pop().unwrap();
        let together = called(worker, call(None, 1, &STATE.join("\n")));
        assert_eq!(together.ran.end, last.ran.end);
    });
}

#[test]
fn calls_leave_the_same_bytes_in_a_crowd() {
    with_workers(|workers| {
        let alone: Vec<_> = (0..4)
            .map(|seed| run_session(|_| &workers[0], seed))
            .collect();
        assert!(alone[0] != alone[1], "the seed has no effect");
        // Four sessions take turns in two workers, between sessions that leave traces.
        let mut frozen = vec![None::<Bytes>; alone.len()];
        for (at, code) in STATE.iter().enumerate() {
            leave_traces(&workers[at % 2]);
            for (session, state) in frozen.iter_mut().enumerate() {
                let mut next = call(state.as_deref(), u32::try_from(at + 1).unwrap(), code);
                next.seed = session as u64;
                let called = called(&workers[(at + session) % 2], next);
                assert!(
                    called == alone[session][at],
                    "call {at} of session {session} differs"
                );
                *state = called.frozen;
            }
        }
    });
}

#[test]
fn limits_hold_over_all_calls() {
    with_workers(|[worker, _]| {
        let repeat = |code: &str, most: usize| {
            let mut frozen: Option<Bytes> = None;
            for number in 1..=most {
                let request = call(frozen.as_deref(), u32::try_from(number).unwrap(), code);
                let limit = request.limits.memory_bytes;
                let called = called(worker, request);
                assert!(
                    called.ran.memory_bytes <= limit,
                    "{} bytes",
                    called.ran.memory_bytes
                );
                match called.ran.end {
                    End::Finished => frozen = called.frozen,
                    end => return (number, end),
                }
            }
            panic!("no limit: {code}")
        };
        let keep = "try: kept\nexcept NameError: kept = []\n";
        let grow = format!("{keep}kept.append(b'x' * (32 << 20))");
        let (calls, end) = repeat(&grow, 10);
        assert!(
            calls > 2 && end == End::OutOfMemory,
            "{calls} calls, {end:?}"
        );
        let write = "with open('all', 'ab') as f: f.write(b'x' * (16 << 20));";
        let (calls, end) = repeat(write, 10);
        assert_eq!(calls, 5, "16 MiB each");
        assert!(
            matches!(&end, End::Raised(text) if text.contains("OSError")),
            "{end:?}"
        );
        let open = format!("{keep}kept.extend(open('/tmp/a', 'w') for _ in range(100))");
        let (calls, end) = repeat(&open, 10);
        assert_eq!(calls, 3);
        assert!(
            matches!(&end, End::Raised(text) if text.contains("OSError")),
            "{end:?}"
        );
    });
}

/// A session with something in each part of its state.
fn full_session(worker: &ProgramHandler) -> Bytes {
    let code = "import os\nos.makedirs('a/b')\nopened = [open(f'a/b/{i}', 'w+') for i in range(3)]\n\
                opened[0].write('text' * 9000)\nos.remove('a/b/2')\nx = os.urandom(100_000)";
    called(worker, call(None, 1, code)).frozen.unwrap()
}

#[test]
fn altered_sessions_end_alone() {
    with_workers(|[worker, clean]| {
        let frozen = full_session(clean);
        let use_all = "for f in opened: f.seek(0); f.read(); f.write('more')\n\
                       import os\nsum(len(files) for _, _, files in os.walk('/')), len(x)";
        let expected = called(clean, call(None, 1, LOOK));
        let (mut refused, mut ran) = (0, 0);
        for round in 0..400_usize {
            let mut altered = frozen.to_vec();
            // Most of the structure is at the start.
            let at = match round % 2 {
                0 => round * 4 % altered.len().min(4_000),
                _ => round * altered.len() / 400,
            };
            altered[at] = altered[at].wrapping_add([1, 0x80, 0xff][round % 3]);
            let mut next = call(Some(&altered), 2, use_all);
            next.limits.work = WORK_PER_SECOND / 20;
            match worker.reply(&Request::Call(next)) {
                Reply::Unable(reason) => {
                    assert!(reason.contains("session"), "{reason}");
                    refused += 1;
                }
                Reply::Called(called) => {
                    assert!(called.ran.memory_bytes <= 256 << 20);
                    ran += 1;
                }
                other => panic!("byte {at}: {other:?}"),
            }
        }
        assert!(refused > 20 && ran > 20, "{refused} refused, {ran} ran");
        // Whatever they did to their instance, the next session gets another one.
        assert!(
            called(worker, call(None, 1, LOOK)) == expected,
            "a session sees another"
        );
    });
}

#[test]
fn a_session_of_another_image_or_size_is_refused() {
    with_workers(|[worker, _]| {
        let frozen = called(worker, call(None, 1, "x = bytes(100 << 20)"))
            .frozen
            .unwrap();
        let mut small = call(Some(&frozen), 2, "1");
        small.limits.memory_bytes = 96 << 20;
        let reply = worker.reply(&Request::Call(small));
        assert!(
            matches!(&reply, Reply::Unable(reason) if reason.contains("thawed")),
            "{reply:?}"
        );
        let compiled = Call {
            image: "cpp".to_owned(),
            ..call(Some(&frozen), 2, "int main() {}")
        };
        let standard = "gnu++17".to_owned();
        for request in [
            Request::Call(compiled.clone()),
            Request::CompiledCall(CompiledCall {
                call: compiled,
                standard,
            }),
        ] {
            let reply = worker.reply(&request);
            assert!(
                matches!(&reply, Reply::Unable(reason) if reason.contains("image")),
                "{reply:?}"
            );
        }
    });
}
