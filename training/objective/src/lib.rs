//! What a policy is trained towards. Owns advantages made of rewards, and the one loss with its axes and presets. Owns no model and
//! no optimiser: it sees log-probabilities.
