-- Scores strictly between 0 and 1, by batch, so that a list of a range of scores finds the few
-- grades of each batch without reading its rows. Most scores are 0 or 1 and have no entry.
create index grades_by_score on grades (key >> 24, score) where score > 0 and score < 1;
