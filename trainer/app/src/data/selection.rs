//! Selection of prompts. Uniform selection depends only on seed and position, so a resumed run
//! continues where it stopped.

use std::collections::{BTreeMap, BTreeSet};

use assay_base::Random;
use assay_wire::channels::SuggestRequest;
use serde_json::{Map, Value};

use super::source::{DataError, Source};
use crate::rewards::{Rewards, RewardsError};

/// Random stream of the order of epochs: "prompts" in ASCII.
const PROMPTS: u64 = 0x70_726f_6d70_7473;

/// Random stream of the seeds of suggestions: "suggest" in ASCII.
const SUGGEST: u64 = 0x73_7567_6765_7374;

/// How prompts are selected.
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// Each epoch in a new order; an unbounded source in its own order.
    Uniform,
    /// By the service, from the history of the run. The map has `strategy`, `allocation` and the
    /// other settings of `POST /v1/prompts/suggest`, except `count`. A resumed run can select other
    /// prompts, because the service has more history by then.
    Suggest(Map<String, Value>),
}

/// A selected prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectedPrompt {
    /// Index of the prompt in its source.
    pub index: u64,
    /// Number of completions to generate; `None` for the default.
    pub rollouts: Option<u32>,
}

/// The order of the prompts of a run.
#[derive(Debug, Clone)]
pub struct Selection {
    seed: u64,
    size: Option<u64>,
    /// Number of prompts drawn uniformly so far.
    position: u64,
    /// The order of the current epoch.
    order: Option<(u64, Vec<u64>)>,
    suggest: Option<Suggest>,
}

#[derive(Debug, Clone)]
struct Suggest {
    settings: Map<String, Value>,
    index_of: BTreeMap<String, u64>,
    categories: BTreeMap<String, String>,
    warned: bool,
}

impl Selection {
    /// The selection from `source`, starting at `position`: 0, or an earlier value of
    /// [`Selection::position`].
    ///
    /// # Errors
    /// [`DataError::Empty`]; [`DataError::Unbounded`] for suggestions from an unbounded source.
    pub fn new(
        source: &dyn Source,
        strategy: Strategy,
        seed: u64,
        position: u64,
    ) -> Result<Self, DataError> {
        let size = source.size();
        if size == Some(0) {
            return Err(DataError::Empty);
        }
        let suggest = match strategy {
            Strategy::Uniform => None,
            Strategy::Suggest(settings) => Some(Suggest::new(
                source,
                size.ok_or(DataError::Unbounded)?,
                settings,
            )),
        };
        Ok(Self {
            seed,
            size,
            position,
            order: None,
            suggest,
        })
    }

    /// The position of uniform selection, for resuming.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next `count` prompts in uniform order.
    pub fn uniform(&mut self, count: usize) -> Vec<SelectedPrompt> {
        (0..count)
            .map(|_| SelectedPrompt {
                index: self.draw(),
                rollouts: None,
            })
            .collect()
    }

    /// The `count` prompts of a round; `round` is unique in the run. If the service suggests fewer,
    /// the others are drawn uniformly. If it has no visits of any suggested prompt yet, all are
    /// drawn uniformly.
    ///
    /// # Errors
    /// [`RewardsError`] of [`Rewards::suggest`].
    pub async fn next(
        &mut self,
        rewards: &Rewards,
        run: &str,
        round: u64,
        count: usize,
    ) -> Result<Vec<SelectedPrompt>, RewardsError> {
        let Some(suggest) = &mut self.suggest else {
            return Ok(self.uniform(count));
        };
        let mut request = suggest.request(run, count);
        request.seed = Some(Random::stream(&[SUGGEST, self.seed, round]).bits());
        let suggested = rewards.suggest(&request).await?;
        let mut picks = Vec::with_capacity(count);
        if suggested.iter().any(|prompt| prompt.visits > 0) {
            let pick = |prompt: &assay_wire::channels::SuggestionBody| {
                let index = *suggest.index_of.get(&prompt.prompt_key)?;
                Some(SelectedPrompt {
                    index,
                    rollouts: Some(prompt.rollouts),
                })
            };
            picks.extend(suggested.iter().filter_map(pick).take(count));
        } else if !suggest.warned {
            suggest.warned = true;
            tracing::warn!("the service has no history of the prompts yet; selecting uniformly");
        }
        self.fill(&mut picks, count);
        Ok(picks)
    }

    /// Adds prompts up to `count`, without repetition as long as possible.
    fn fill(&mut self, picks: &mut Vec<SelectedPrompt>, count: usize) {
        let mut taken: BTreeSet<u64> = picks.iter().map(|pick| pick.index).collect();
        while picks.len() < count {
            let index = self.draw();
            let all_taken = self.size.is_some_and(|size| taken.len() as u64 >= size);
            if taken.insert(index) || all_taken {
                picks.push(SelectedPrompt {
                    index,
                    rollouts: None,
                });
            }
        }
    }

    fn draw(&mut self) -> u64 {
        let position = self.position;
        self.position += 1;
        let Some(size) = self.size else {
            return position;
        };
        let (epoch, offset) = (position / size, position % size);
        if self.order.as_ref().is_none_or(|(known, _)| *known != epoch) {
            let mut order: Vec<u64> = (0..size).collect();
            Random::stream(&[PROMPTS, self.seed, epoch]).shuffle(&mut order);
            self.order = Some((epoch, order));
        }
        let order = self.order.as_ref().map_or(&[][..], |(_, order)| order);
        usize::try_from(offset)
            .ok()
            .and_then(|offset| order.get(offset))
            .copied()
            .unwrap_or_default()
    }
}

impl Suggest {
    fn new(source: &dyn Source, size: u64, settings: Map<String, Value>) -> Self {
        let (mut index_of, mut categories) = (BTreeMap::new(), BTreeMap::new());
        for (index, item) in (0..size).filter_map(|index| Some((index, source.problem(index)?))) {
            if let Some(channel) = item.channel {
                categories.insert(item.key.clone(), channel);
            }
            index_of.insert(item.key, index);
        }
        Self {
            settings,
            index_of,
            categories,
            warned: false,
        }
    }

    fn request(&self, run: &str, count: usize) -> SuggestRequest {
        let mut settings = self.settings.clone();
        settings.insert("count".to_owned(), Value::from(count));
        SuggestRequest {
            run: run.to_owned(),
            keys: self.index_of.keys().cloned().collect(),
            categories: self.categories.clone(),
            channel: None,
            seed: None,
            settings,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::value::RawValue;

    use super::super::Item;
    use super::*;

    /// A source of prompts with the given size, or an unbounded one.
    struct Numbers(Option<u64>);

    impl Source for Numbers {
        fn size(&self) -> Option<u64> {
            self.0
        }

        fn problem(&self, index: u64) -> Option<Item> {
            let task =
                RawValue::from_string(format!(r#"{{"type":"math","answer":"{index}"}}"#)).ok()?;
            let prompt = format!("{index}=");
            Some(Item {
                key: index.to_string(),
                prompt,
                task,
                channel: None,
                solution: None,
            })
        }
    }

    fn order(size: u64, seed: u64, position: u64, count: usize) -> Vec<u64> {
        let mut selection =
            Selection::new(&Numbers(Some(size)), Strategy::Uniform, seed, position).unwrap();
        selection
            .uniform(count)
            .iter()
            .map(|pick| pick.index)
            .collect()
    }

    #[test]
    fn visits_every_prompt_once_per_epoch_in_a_new_order() {
        let taken = order(40, 7, 0, 80);
        for epoch in taken.chunks(40) {
            assert_eq!(epoch.iter().copied().collect::<BTreeSet<_>>().len(), 40);
        }
        assert_ne!(taken[..40], taken[40..]);
        assert_ne!(taken[..40], order(40, 8, 0, 40));
    }

    #[test]
    fn resumes_at_any_position() {
        let whole = order(7, 3, 0, 30);
        for position in 0..30 {
            assert_eq!(
                order(7, 3, position as u64, 30 - position),
                whole[position..]
            );
        }
    }

    #[test]
    fn keeps_the_order_of_unbounded_sources() {
        let mut selection = Selection::new(&Numbers(None), Strategy::Uniform, 1, 5).unwrap();
        assert_eq!(
            selection
                .uniform(2)
                .iter()
                .map(|pick| pick.index)
                .collect::<Vec<_>>(),
            [5, 6]
        );
        assert_eq!(selection.position(), 7);
    }

    #[test]
    fn fills_up_without_repetition() {
        let mut selection = Selection::new(&Numbers(Some(5)), Strategy::Uniform, 1, 0).unwrap();
        let mut picks = vec![SelectedPrompt {
            index: 2,
            rollouts: Some(3),
        }];
        selection.fill(&mut picks, 5);
        assert_eq!(
            picks
                .iter()
                .map(|pick| pick.index)
                .collect::<BTreeSet<_>>()
                .len(),
            5
        );
        selection.fill(&mut picks, 9);
        assert_eq!(picks.len(), 9);
    }

    #[test]
    fn rejects_empty_sources_and_suggestions_from_unbounded_ones() {
        let new = |size, strategy| Selection::new(&Numbers(size), strategy, 0, 0);
        assert!(matches!(
            new(Some(0), Strategy::Uniform),
            Err(DataError::Empty)
        ));
        assert!(matches!(
            new(None, Strategy::Suggest(Map::new())),
            Err(DataError::Unbounded)
        ));
    }
}
