//! Problems to learn from, made by rule, with the tasks that grade them. Owns no completion and no grading.
