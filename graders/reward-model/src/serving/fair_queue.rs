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
pub(super) struct WaitingSequence<T> {
    /// Ticket of its request.
    pub(super) ticket: u64,
    /// Length in tokens.
    pub(super) tokens: usize,
    /// Hashes of its tiles that other sequences may share.
    pub(super) tiles: Vec<u64>,
    pub(super) payload: T,
}

/// Service order of callers: the smallest is next. The first number is the start tag, in tokens.
/// The second breaks ties and places the caller served last behind the others.
type ServiceOrder = (u64, u64);

pub(super) struct FairQueue<T> {
    queues: BTreeMap<ServiceOrder, CallerQueue<T>>,
    callers: HashMap<Arc<str>, ServiceOrder>,
    /// Start tag of the caller served last, at which new callers start.
    virtual_time: u64,
    tokens: usize,
    /// Counter for tickets and tie-breaking numbers.
    counter: u64,
}

struct CallerQueue<T> {
    caller: Arc<str>,
    requests: BTreeMap<u64, VecDeque<WaitingSequence<T>>>,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            queues: BTreeMap::new(),
            callers: HashMap::new(),
            virtual_time: 0,
            tokens: 0,
            counter: 0,
        }
    }
}

impl<T> FairQueue<T> {
    /// Appends the sequences of a request, at least one, to the queue of its caller. Returns the
    /// ticket of the request.
    pub(super) fn push(
        &mut self,
        caller: &Arc<str>,
        sequences: impl IntoIterator<Item = (usize, Vec<u64>, T)>,
    ) -> u64 {
        self.counter += 1;
        let ticket = self.counter;
        let waiting: VecDeque<_> = sequences
            .into_iter()
            .map(|(tokens, tiles, payload)| WaitingSequence {
                ticket,
                tokens,
                tiles,
                payload,
            })
            .collect();
        self.tokens += waiting.iter().map(|waiting| waiting.tokens).sum::<usize>();
        let order = *self
            .callers
            .entry(Arc::clone(caller))
            .or_insert((self.virtual_time, ticket));
        let queue = self.queues.entry(order);
        let queue = queue.or_insert_with(|| CallerQueue {
            caller: Arc::clone(caller),
            requests: BTreeMap::new(),
        });
        queue.requests.insert(ticket, waiting);
        ticket
    }

    /// Removes and returns the next sequence.
    pub(super) fn pop(&mut self) -> Option<WaitingSequence<T>> {
        loop {
            let ((start_tag, _), mut queue) = self.queues.pop_first()?;
            self.virtual_time = start_tag;
            let next = queue.pop();
            if queue.requests.is_empty() {
                self.callers.remove(&queue.caller);
            } else {
                self.counter += 1;
                let tokens = next.as_ref().map_or(0, |next| next.tokens);
                let order = (start_tag.saturating_add(tokens as u64), self.counter);
                self.callers.insert(Arc::clone(&queue.caller), order);
                self.queues.insert(order, queue);
            }
            if let Some(next) = next {
                self.tokens -= next.tokens;
                return Some(next);
            }
        }
    }

    /// Removes and returns the remaining sequences of a request.
    pub(super) fn remove(
        &mut self,
        caller: &Arc<str>,
        ticket: u64,
    ) -> VecDeque<WaitingSequence<T>> {
        let Some(order) = self.callers.get(caller).copied() else {
            return VecDeque::new();
        };
        let Some(queue) = self.queues.get_mut(&order) else {
            return VecDeque::new();
        };
        let removed = queue.requests.remove(&ticket).unwrap_or_default();
        if queue.requests.is_empty() {
            self.queues.remove(&order);
            self.callers.remove(caller);
        }
        self.tokens -= removed.iter().map(|waiting| waiting.tokens).sum::<usize>();
        removed
    }

    /// Returns whether no sequence is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Total number of waiting tokens.
    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }
}

impl<T> CallerQueue<T> {
    fn pop(&mut self) -> Option<WaitingSequence<T>> {
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

    fn drain(queue: &mut FairQueue<&'static str>) -> String {
        std::iter::from_fn(|| queue.pop())
            .map(|waiting| waiting.payload)
            .collect()
    }

    #[test]
    fn requests_of_one_caller_keep_their_order() {
        let mut queue = FairQueue::default();
        let caller = Arc::from("a");
        queue.push(&caller, [(3, Vec::new(), "1"), (1, Vec::new(), "2")]);
        queue.push(&caller, [(1, Vec::new(), "3")]);
        assert_eq!(drain(&mut queue), "123");
    }

    #[test]
    fn callers_share_by_tokens() {
        let mut queue = FairQueue::default();
        queue.push(
            &Arc::from("long"),
            [
                (4, Vec::new(), "L"),
                (4, Vec::new(), "L"),
                (4, Vec::new(), "L"),
            ],
        );
        queue.push(
            &Arc::from("short"),
            [
                (1, Vec::new(), "s"),
                (1, Vec::new(), "s"),
                (1, Vec::new(), "s"),
                (1, Vec::new(), "s"),
                (1, Vec::new(), "s"),
            ],
        );
        assert_eq!(drain(&mut queue), "LssssLsL");
    }

    #[test]
    fn late_callers_start_at_the_current_virtual_time() {
        let mut queue = FairQueue::default();
        queue.push(
            &Arc::from("early"),
            [
                (5, Vec::new(), "e"),
                (5, Vec::new(), "e"),
                (5, Vec::new(), "e"),
                (5, Vec::new(), "e"),
            ],
        );
        queue.pop();
        queue.pop();
        queue.push(
            &Arc::from("late"),
            [
                (5, Vec::new(), "l"),
                (5, Vec::new(), "l"),
                (5, Vec::new(), "l"),
            ],
        );
        assert_eq!(drain(&mut queue), "lelel", "without credit or debt");
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
    struct NaiveQueue {
        waiting: Vec<(u8, u64, usize)>,
        callers: Vec<(u8, u64)>,
        virtual_time: u64,
    }

    impl NaiveQueue {
        fn push(&mut self, caller: u8, ticket: u64, tokens: &[usize]) {
            self.waiting
                .extend(tokens.iter().map(|tokens| (caller, ticket, *tokens)));
            if self.callers.iter().all(|(other, _)| *other != caller) {
                self.callers.push((caller, self.virtual_time));
            }
        }

        fn pop(&mut self) -> Option<(u64, usize)> {
            let at = self
                .callers
                .iter()
                .enumerate()
                .min_by_key(|(at, (_, start_tag))| (*start_tag, *at))?
                .0;
            let (caller, start_tag) = self.callers.remove(at);
            self.virtual_time = start_tag;
            let index = self
                .waiting
                .iter()
                .position(|(other, ..)| *other == caller)?;
            let (_, ticket, tokens) = self.waiting.remove(index);
            self.callers.push((caller, start_tag + tokens as u64));
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
            let Self {
                waiting, callers, ..
            } = self;
            callers.retain(|(caller, _)| waiting.iter().any(|(other, ..)| other == caller));
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_flat_list(steps in prop::collection::vec(step(), 1..60)) {
            let mut queue = FairQueue::default();
            let mut naive = NaiveQueue::default();
            for step in steps {
                match step {
                    Step::Push { caller, tokens } => {
                        let sequences = tokens.iter().map(|tokens| (*tokens, Vec::new(), ()));
                        let ticket = queue.push(&Arc::from(caller.to_string()), sequences);
                        naive.push(caller, ticket, &tokens);
                    }
                    Step::Pop => {
                        let popped = queue.pop().map(|waiting| (waiting.ticket, waiting.tokens));
                        prop_assert_eq!(popped, naive.pop());
                    }
                    Step::Remove { caller, ticket } => {
                        let removed = queue.remove(&Arc::from(caller.to_string()), ticket).len();
                        prop_assert_eq!(removed, naive.remove(caller, ticket));
                    }
                }
                let waiting: usize = naive.waiting.iter().map(|(.., tokens)| tokens).sum();
                prop_assert_eq!(queue.tokens(), waiting);
                prop_assert_eq!(queue.queues.len(), naive.callers.len());
                prop_assert_eq!(queue.callers.len(), naive.callers.len());
            }
        }
    }
}
