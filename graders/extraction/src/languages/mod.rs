//! The words that introduce an answer, by language, in one table. Contains no logic;
//! [`word_roles`](crate::word_roles) looks words up in it.

mod english;
mod europe;
mod language;
mod world;

pub(crate) use language::Language;

/// The languages in which answers are recognised.
pub(crate) const LANGUAGES: &[Language] = &[
    english::ENGLISH,
    world::CHINESE,
    europe::FRENCH,
    europe::GERMAN,
    europe::SPANISH,
    europe::PORTUGUESE,
    europe::ITALIAN,
    europe::RUSSIAN,
    world::ARABIC,
    world::HINDI,
    world::JAPANESE,
    world::KOREAN,
    europe::DUTCH,
    europe::POLISH,
    europe::SWEDISH,
    europe::TURKISH,
    world::VIETNAMESE,
    world::INDONESIAN,
    world::SWAHILI,
    world::BENGALI,
    world::PERSIAN,
];
