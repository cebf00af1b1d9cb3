//! What holds of every extraction, whatever the text.
