use std::sync::atomic::AtomicBool;
use std::task::Wake;

use super::*;
use assay_base::Random;

/// Counts how often a request was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request that is polled by hand.
struct Request {
    caller: Arc<str>,
    future: Pin<Box<Acquire>>,
    woken: Arc<Woken>,
}

impl Request {
    fn new(permits: &FairPermits, caller: &str) -> Self {
        Self::ranked(permits, caller, 1)
    }

    fn ranked(permits: &FairPermits, caller: &str, rank: u8) -> Self {
        let caller = caller.into();
        Self::of(&caller, permits.acquire_ranked(&caller, rank))
    }

    fn of(caller: &Arc<str>, future: Acquire) -> Self {
        Self {
            caller: Arc::clone(caller),
            future: Box::pin(future),
            woken: Arc::default(),
        }
    }

    /// The permit; `None` while it is waited for.
    fn poll(&mut self) -> Option<Result<FairPermit, Closed>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        }
    }

    fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::Relaxed) > 0
    }
}

/// A request that waits.
fn waiting(permits: &FairPermits, caller: &str) -> Request {
    let mut request = Request::new(permits, caller);
    assert!(request.poll().is_none(), "{caller} waits");
    request
}

fn taken(permits: &FairPermits, caller: &str) -> FairPermit {
    Request::new(permits, caller).poll().unwrap().unwrap()
}

/// Drops the permits one after another, and returns which waiting requests got one, in order.
fn served(
    held: &mut Vec<FairPermit>,
    waiting: &mut [(&'static str, Request)],
) -> Vec<&'static str> {
    let mut order = Vec::new();
    while let Some(permit) = held.pop() {
        drop(permit);
        for (name, request) in waiting.iter_mut().filter(|(_, request)| request.is_woken()) {
            request.woken.0.store(0, Ordering::Relaxed);
            order.push(*name);
            held.push(request.poll().unwrap().unwrap());
        }
    }
    order
}

#[test]
fn serves_the_caller_that_holds_the_fewest() {
    let permits = FairPermits::new(3, 3);
    let mut held: Vec<_> = (0..3).map(|_| taken(&permits, "a")).collect();
    let mut third = waiting(&permits, "a");
    let (mut first, mut second) = (waiting(&permits, "b"), waiting(&permits, "b"));
    assert_eq!(permits.waiting(), 3);
    drop(held.pop());
    let b = first.poll().unwrap().unwrap();
    assert!(second.poll().is_none());
    // Both callers would hold as many: `a` has waited longer.
    drop(held.pop());
    assert!(third.is_woken() && !second.is_woken());
    assert!(third.poll().is_some());
    drop(b);
    assert!(second.poll().is_some());
    assert_eq!(permits.waiting(), 0);
}

#[test]
fn serves_callers_in_turn_and_each_in_order() {
    let permits = FairPermits::new(1, 1);
    let mut held = vec![taken(&permits, "a")];
    let names = ["b1", "b2", "b3", "c1", "c2", "d1"];
    let mut all = names.map(|name| (name, waiting(&permits, &name[..1])));
    let order = served(&mut held, &mut all);
    assert_eq!(order, ["b1", "c1", "d1", "b2", "c2", "b3"]);
    assert_eq!(permits.free(), 1);
    assert!(permits.0.state().callers.is_empty());
}

#[test]
fn a_lower_rank_precedes_other_requests_of_its_caller_only() {
    let permits = FairPermits::new(1, 1);
    let mut held = vec![taken(&permits, "a")];
    let mut all = vec![("b", waiting(&permits, "b")), ("a", waiting(&permits, "a"))];
    let mut first = Request::ranked(&permits, "a", 0);
    assert!(first.poll().is_none());
    all.push(("a first", first));
    assert_eq!(served(&mut held, &mut all), ["b", "a first", "a"]);
}

#[test]
fn a_caller_never_holds_more_than_its_maximum() {
    let permits = FairPermits::new(3, 2);
    let (one, _two) = (taken(&permits, "a"), taken(&permits, "a"));
    let mut third = waiting(&permits, "a");
    let _other = taken(&permits, "b");
    drop(one);
    assert!(third.poll().is_some());
}

#[test]
fn an_abandoned_request_passes_its_permit_on() {
    let permits = FairPermits::new(1, 1);
    let held = taken(&permits, "a");
    let (first, second) = (waiting(&permits, "b"), waiting(&permits, "b"));
    let mut third = waiting(&permits, "c");
    drop(second);
    drop(held);
    assert!(first.is_woken() && !third.is_woken());
    drop(first);
    assert!(third.is_woken());
    drop(third.poll().unwrap().unwrap());
    assert_eq!((permits.free(), permits.waiting()), (1, 0));
}

#[test]
fn closing_fails_waiting_and_later_requests() {
    let permits = FairPermits::new(1, 1);
    let held = taken(&permits, "a");
    let mut waits = waiting(&permits, "b");
    permits.close();
    assert!(waits.is_woken());
    assert!(matches!(waits.poll(), Some(Err(Closed))));
    drop(held);
    let mut late = Request::new(&permits, "a");
    assert!(matches!(late.poll(), Some(Err(Closed))));
}

#[test]
fn a_permit_is_owed_to_a_caller_that_holds_fewer() {
    let permits = FairPermits::new(2, 2);
    let (first, _second) = (taken(&permits, "a"), taken(&permits, "a"));
    let own = waiting(&permits, "a");
    assert!(!first.is_owed());
    let mut other = waiting(&permits, "b");
    assert!(first.is_owed());
    let next = permits.next().unwrap();
    assert_eq!((&*next.caller, next.held), ("b", 0));
    assert_eq!(permits.most_held_by_others("b"), 2);
    drop(first);
    let b = other.poll().unwrap().unwrap();
    // `a` waits and holds as many.
    assert!(!b.is_owed());
    drop(own);
}

/// Checks the state after each of many random steps.
#[test]
fn random_steps_keep_the_invariants() {
    const CALLERS: [&str; 5] = ["a", "b", "c", "d", "e"];
    let mut random = Random::new(7);
    let mut below = |count: usize| random.below(count);
    let mut grants = 0;
    for (count, per_caller) in [(1, 1), (3, 3), (4, 2), (8, 3)] {
        let permits = FairPermits::new(count, per_caller);
        let (mut held, mut waits) = (Vec::<FairPermit>::new(), Vec::<Request>::new());
        for _ in 0..10_000 {
            match below(5) {
                0 | 1 if waits.len() < 40 => {
                    let caller = CALLERS[below(CALLERS.len())];
                    let rank = u8::from(below(4) > 0);
                    let mut request = Request::ranked(&permits, caller, rank);
                    match request.poll() {
                        Some(permit) => held.push(permit.unwrap()),
                        None => waits.push(request),
                    }
                }
                2 if !held.is_empty() => drop(held.swap_remove(below(held.len()))),
                3 if !waits.is_empty() => {
                    // Also requests that have a permit and were not polled since.
                    drop(waits.swap_remove(below(waits.len())));
                }
                _ if !waits.is_empty() => {
                    let at = below(waits.len());
                    let was_woken = waits[at].is_woken();
                    let permit = waits[at].poll();
                    assert_eq!(permit.is_some(), was_woken, "the permit is announced");
                    if let Some(permit) = permit {
                        grants += 1;
                        held.push(permit.unwrap());
                        waits.swap_remove(at);
                    }
                }
                _ => {}
            }
            let state = permits.0.state();
            let granted = waits.iter().filter(|request| request.is_woken());
            let mut holding: BTreeMap<&str, usize> = BTreeMap::new();
            let holders = held.iter().map(|permit| &permit.caller);
            for caller in holders.chain(granted.clone().map(|request| &request.caller)) {
                *holding.entry(caller).or_default() += 1;
            }
            assert_eq!(state.granted.len(), granted.count());
            assert_eq!(state.free + holding.values().sum::<usize>(), count);
            let queued: usize = state.callers.values().map(|of| of.waiting.len()).sum();
            let not_woken = waits.iter().filter(|request| !request.is_woken());
            assert_eq!((queued, queued), (permits.waiting(), not_woken.count()));
            for (caller, share) in &state.callers {
                assert_eq!(share.held, holding.remove(&**caller).unwrap_or_default());
                assert!(share.held <= per_caller);
                assert!(
                    share.held > 0 || !share.waiting.is_empty(),
                    "no idle caller is kept"
                );
                let may_have_more = !share.waiting.is_empty() && share.held < per_caller;
                assert!(
                    !may_have_more || state.free == 0,
                    "no free permit is waited for"
                );
            }
            assert!(holding.is_empty());
        }
        drop((held, waits));
        assert_eq!((permits.free(), permits.waiting()), (count, 0));
        assert!(permits.0.state().callers.is_empty());
    }
    assert!(
        grants > 1_000,
        "{grants} requests received a permit after waiting"
    );
}

/// Blocks a thread until the request has a permit.
fn block_on(mut acquire: Pin<Box<Acquire>>) -> FairPermit {
    struct Unpark(std::thread::Thread, AtomicBool);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.1.store(true, Ordering::SeqCst);
            self.0.unpark();
        }
    }
    let unpark = Arc::new(Unpark(std::thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&unpark));
    loop {
        if let Poll::Ready(permit) = acquire.as_mut().poll(&mut Context::from_waker(&waker)) {
            return permit.unwrap();
        }
        while !unpark.1.swap(false, Ordering::SeqCst) {
            std::thread::park();
        }
    }
}

#[test]
fn threads_lose_no_permit_and_no_wake_up() {
    let permits = FairPermits::new(2, 2);
    let running = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for caller in ["a", "a", "b", "b", "c"] {
            let (permits, running) = (&permits, &running);
            scope.spawn(move || {
                for round in 0..2_000 {
                    let mut abandoned = Box::pin(permits.acquire(&caller.into()));
                    if round % 3 == 0 {
                        let _ = abandoned
                            .as_mut()
                            .poll(&mut Context::from_waker(Waker::noop()));
                    }
                    drop(abandoned);
                    let permit = block_on(Box::pin(permits.acquire(&caller.into())));
                    assert!(running.fetch_add(1, Ordering::SeqCst) < 2);
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            });
        }
    });
    assert_eq!((permits.free(), permits.waiting()), (2, 0));
    assert!(permits.0.state().callers.is_empty());
}

#[test]
fn work_in_the_background_gives_way_once_it_has_a_permit() {
    let permits = FairPermits::new(3, 3);
    let background = crate::background::share_of("job");
    let mut held: Vec<FairPermit> = (0..3).map(|_| taken(&permits, &background)).collect();
    let mut waits = [
        ("job", waiting(&permits, &background)),
        ("first", waiting(&permits, "request")),
        ("second", waiting(&permits, "request")),
    ];
    assert!(held[0].is_owed());
    let granted = |waits: &mut [(&'static str, Request)]| -> Vec<&'static str> {
        let woken = waits.iter().filter(|(_, request)| request.is_woken());
        woken.map(|(name, _)| *name).collect()
    };
    held.pop();
    assert_eq!(granted(&mut waits), ["first"]);
    held.pop();
    assert_eq!(
        granted(&mut waits),
        ["first", "second"],
        "although both then hold as many"
    );
    assert!(!held[0].is_owed());
    held.pop();
    assert_eq!(granted(&mut waits), ["job", "first", "second"]);
}
