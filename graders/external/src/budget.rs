//! Tokens and money that a run spends on a judge. A call is made while the run has spent less than
//! its budget, so a budget is exceeded by at most the calls that are in flight.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of runs that are counted separately. Further ones of a caller share a budget, so that new
/// names do not give more of it.
const MAX_RUNS: usize = 16_384;

/// A run of a caller; without a run, all items of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Run {
    pub(crate) caller: Arc<str>,
    pub(crate) run: Option<Arc<str>>,
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost: f64,
}

/// The budget of each run.
pub(crate) struct Budget {
    max_tokens: Option<u64>,
    max_cost: Option<f64>,
    spent: Mutex<HashMap<Run, Spent>>,
}

impl Budget {
    /// 0 is no limit.
    pub(crate) fn new(tokens: u64, cost: f64) -> Self {
        Self {
            max_tokens: (tokens > 0).then_some(tokens),
            max_cost: (cost > 0.0).then_some(cost),
            spent: Mutex::default(),
        }
    }

    fn spent(&self) -> MutexGuard<'_, HashMap<Run, Spent>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the run may not call the judge again, if it may not.
    pub(crate) fn exceeded(&self, run: &Run) -> Option<String> {
        let spent = self.spent();
        let own = spent.get(&shared(&spent, run)).copied().unwrap_or_default();
        if let Some(max) = self.max_tokens.filter(|max| own.tokens >= *max) {
            return Some(format!("spent {} of {max} tokens", own.tokens));
        }
        let max = self.max_cost.filter(|max| own.cost >= *max)?;
        Some(format!("spent {:.4} of {max}", own.cost))
    }

    /// Counts a call.
    pub(crate) fn spend(&self, run: &Run, call: Spent) {
        if self.max_tokens.is_none() && self.max_cost.is_none() {
            return;
        }
        let mut spent = self.spent();
        let run = shared(&spent, run);
        let sum = spent.entry(run).or_default();
        sum.tokens = sum.tokens.saturating_add(call.tokens);
        sum.cost += call.cost;
    }
}

/// The run under which a run is counted: itself, or that of all items of its caller if there are
/// too many.
fn shared(spent: &HashMap<Run, Spent>, run: &Run) -> Run {
    if spent.contains_key(run) || spent.len() < MAX_RUNS {
        run.clone()
    } else {
        Run {
            caller: Arc::clone(&run.caller),
            run: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> Run {
        Run {
            caller: "c".into(),
            run: Some(name.into()),
        }
    }

    #[test]
    fn runs_have_budgets_of_their_own() {
        let budget = Budget::new(100, 1.0);
        let call = |tokens, cost| Spent { tokens, cost };
        budget.spend(&run("a"), call(99, 0.1));
        assert_eq!(budget.exceeded(&run("a")), None);
        budget.spend(&run("a"), call(50, 0.1));
        assert_eq!(
            budget.exceeded(&run("a")).unwrap(),
            "spent 149 of 100 tokens"
        );
        assert_eq!(budget.exceeded(&run("b")), None);
        budget.spend(&run("b"), call(1, 1.5));
        assert_eq!(budget.exceeded(&run("b")).unwrap(), "spent 1.5000 of 1");
    }

    #[test]
    fn new_names_beyond_the_maximum_share_a_budget() {
        let budget = Budget::new(2, 0.0);
        let call = Spent {
            tokens: 1,
            cost: 0.0,
        };
        for name in 0..MAX_RUNS {
            budget.spend(&run(&name.to_string()), call);
        }
        budget.spend(&run("x"), call);
        budget.spend(&run("y"), call);
        assert!(budget.exceeded(&run("z")).is_some());
        assert_eq!(budget.exceeded(&run("0")), None);
        let other = Run {
            caller: "other".into(),
            run: None,
        };
        assert_eq!(budget.exceeded(&other), None);
    }
}
