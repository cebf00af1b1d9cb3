//! Waiting sequences, in one queue per caller. Independent of time, threads and models.
//!
//! Callers share by tokens, not by requests: the next sequence comes from the caller that has
//! received the fewest tokens, so a caller with long texts does not slow down one with short texts.
//! A new caller starts at the current virtual time, so an idle caller does not accumulate credit
//! (start-time fair queueing, Goyal, Vin and Cheng 1996, with equal weights).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// A waiting sequence with its payload.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    /// Ticket of its request.
    pub(super) ticket: u64,
    /// Length in tokens.
    pub(super) tokens: usize,
    pub(super) what: T,
}

/// Service order of callers: the smallest is next. The first number is the start tag, in tokens.
/// The second breaks ties and places the caller served last behind the others.
type Turn = (u64, u64);

pub(super) struct Lanes<T> {
    turns: BTreeMap<Turn, Lane<T>>,
    callers: HashMap<Arc<str>, Turn>,
    /// Start tag of the caller served last, at which new callers start.
    level: u64,
    tokens: usize,
    /// Counter for tickets and tie-breaking numbers.
    count: u64,
}

struct Lane<T> {
    caller: Arc<str>,
    requests: BTreeMap<u64, VecDeque<Waiting<T>>>,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self {
            turns: BTreeMap::new(),
            callers: HashMap::new(),
            level: 0,
            tokens: 0,
            count: 0,
        }
    }
}

impl<T> Lanes<T> {
    /// Appends the sequences of a request, at least one, to the queue of its caller. Returns the
    /// ticket of the request.
    pub(super) fn push(
        &mut self,
        caller: &Arc<str>,
        sequences: impl IntoIterator<Item = (usize, T)>,
    ) -> u64 {
        self.count += 1;
        let ticket = self.count;
        let waiting: VecDeque<_> = sequences
            .into_iter()
            .map(|(tokens, what)| Waiting {
                ticket,
                tokens,
                what,
            })
            .collect();
        self.tokens += waiting.iter().map(|waiting| waiting.tokens).sum::<usize>();
        let turn = *self
            .callers
            .entry(Arc::clone(caller))
            .or_insert((self.level, ticket));
        let lane = self.turns.entry(turn);
        let lane = lane.or_insert_with(|| Lane {
            caller: Arc::clone(caller),
            requests: BTreeMap::new(),
        });
        lane.requests.insert(ticket, waiting);
        ticket
    }

    /// Removes and returns the next sequence.
    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        loop {
            let ((given, _), mut lane) = self.turns.pop_first()?;
            self.level = given;
            let next = lane.pop();
            if lane.requests.is_empty() {
                self.callers.remove(&lane.caller);
            } else {
                self.count += 1;
                let tokens = next.as_ref().map_or(0, |next| next.tokens);
                let turn = (given.saturating_add(tokens as u64), self.count);
                self.callers.insert(Arc::clone(&lane.caller), turn);
                self.turns.insert(turn, lane);
            }
            if let Some(next) = next {
                self.tokens -= next.tokens;
                return Some(next);
            }
        }
    }

    /// Removes and returns the remaining sequences of a request.
    pub(super) fn remove(&mut self, caller: &Arc<str>, ticket: u64) -> VecDeque<Waiting<T>> {
        let Some(turn) = self.callers.get(caller).copied() else {
            return VecDeque::new();
        };
        let Some(lane) = self.turns.get_mut(&turn) else {
            return VecDeque::new();
        };
        let removed = lane.requests.remove(&ticket).unwrap_or_default();
        if lane.requests.is_empty() {
            self.turns.remove(&turn);
            self.callers.remove(caller);
        }
        self.tokens -= removed.iter().map(|waiting| waiting.tokens).sum::<usize>();
        removed
    }

    /// Returns whether no sequence is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Total number of waiting tokens.
    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }
}

impl<T> Lane<T> {
    fn pop(&mut self) -> Option<Waiting<T>> {
        let mut request = self.requests.first_entry()?;
        let next = request.get_mut().pop_front();
        if request.get().is_empty() {
            request.remove();
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(lanes: &mut Lanes<&'static str>) -> String {
        std::iter::from_fn(|| lanes.pop())
            .map(|waiting| waiting.what)
            .collect()
    }

    #[test]
    fn requests_of_one_caller_keep_their_order() {
        let mut lanes = Lanes::default();
        let caller = Arc::from("a");
        lanes.push(&caller, [(3, "1"), (1, "2")]);
        lanes.push(&caller, [(1, "3")]);
        assert_eq!(order(&mut lanes), "123");
    }

    #[test]
    fn callers_share_by_tokens() {
        let mut lanes = Lanes::default();
        lanes.push(&Arc::from("long"), [(4, "L"), (4, "L"), (4, "L")]);
        lanes.push(
            &Arc::from("short"),
            [(1, "s"), (1, "s"), (1, "s"), (1, "s"), (1, "s")],
        );
        assert_eq!(order(&mut lanes), "LssssLsL");
    }

    #[test]
    fn late_callers_start_at_the_current_virtual_time() {
        let mut lanes = Lanes::default();
        lanes.push(
            &Arc::from("early"),
            [(5, "e"), (5, "e"), (5, "e"), (5, "e")],
        );
        lanes.pop();
        lanes.pop();
        lanes.push(&Arc::from("late"), [(5, "l"), (5, "l"), (5, "l")]);
        assert_eq!(
            order(&mut lanes),
            "lelel",
            "without credit or debt"
        );
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push { caller: u8, tokens: Vec<usize> },
        Pop,
        Remove { caller: u8, ticket: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..4u8, prop::collection::vec(1..50usize, 1..5))
                .prop_map(|(caller, tokens)| Step::Push { caller, tokens }),
            Just(Step::Pop),
            Just(Step::Pop),
            (0..4u8, 0..40u64).prop_map(|(caller, ticket)| Step::Remove { caller, ticket }),
        ]
    }

    /// The same rule on a flat list, evaluated from scratch at each step.
    #[derive(Default)]
    struct Naive {
        waiting: Vec<(u8, u64, usize)>,
        lanes: Vec<(u8, u64)>,
        level: u64,
    }

    impl Naive {
        fn push(&mut self, caller: u8, ticket: u64, tokens: &[usize]) {
            self.waiting
                .extend(tokens.iter().map(|tokens| (caller, ticket, *tokens)));
            if self.lanes.iter().all(|(other, _)| *other != caller) {
                self.lanes.push((caller, self.level));
            }
        }

        fn pop(&mut self) -> Option<(u64, usize)> {
            let at = self
                .lanes
                .iter()
                .enumerate()
                .min_by_key(|(at, (_, given))| (*given, *at))?
                .0;
            let (caller, given) = self.lanes.remove(at);
            self.level = given;
            let place = self
                .waiting
                .iter()
                .position(|(other, ..)| *other == caller)?;
            let (_, ticket, tokens) = self.waiting.remove(place);
            self.lanes.push((caller, given + tokens as u64));
            self.close();
            Some((ticket, tokens))
        }

        fn remove(&mut self, caller: u8, ticket: u64) -> usize {
            let before = self.waiting.len();
            self.waiting
                .retain(|(other, of, _)| (*other, *of) != (caller, ticket));
            self.close();
            before - self.waiting.len()
        }

        fn close(&mut self) {
            let Self { waiting, lanes, .. } = self;
            lanes.retain(|(caller, _)| waiting.iter().any(|(other, ..)| other == caller));
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_flat_list(steps in prop::collection::vec(step(), 1..60)) {
            let mut lanes = Lanes::default();
            let mut naive = Naive::default();
            for step in steps {
                match step {
                    Step::Push { caller, tokens } => {
                        let ticket = lanes.push(&Arc::from(caller.to_string()), tokens.iter().map(|tokens| (*tokens, ())));
                        naive.push(caller, ticket, &tokens);
                    }
                    Step::Pop => {
                        let popped = lanes.pop().map(|waiting| (waiting.ticket, waiting.tokens));
                        prop_assert_eq!(popped, naive.pop());
                    }
                    Step::Remove { caller, ticket } => {
                        let removed = lanes.remove(&Arc::from(caller.to_string()), ticket).len();
                        prop_assert_eq!(removed, naive.remove(caller, ticket));
                    }
                }
                prop_assert_eq!(lanes.tokens(), naive.waiting.iter().map(|(.., tokens)| tokens).sum::<usize>());
                prop_assert_eq!(lanes.turns.len(), naive.lanes.len());
                prop_assert_eq!(lanes.callers.len(), naive.lanes.len());
            }
        }
    }
}
