"""Two hundred sentences for embeddings: plain ones in several languages, and some that tokenizers
find hard.
"""

SUBJECTS = (
    "The train to Bern",
    "A student of chemistry",
    "My neighbour's cat",
    "The second derivative",
    "An old recipe for bread",
    "The committee",
    "Nobody in the village",
    "This sorting algorithm",
    "Der Zug nach Zürich",
    "La bibliothèque municipale",
)
PREDICATES = (
    "arrived twenty minutes late.",
    "does not terminate on an empty list!",
    "was forgotten, then rediscovered in 1957.",
    "costs about 3.50 more than last year?",
    "is exactly what we were looking for",
    "needs salt; water; and patience...",
    "changed its sign twice between -1 and 1.",
    "öffnet erst um acht Uhr.",
    "sleeps on the warm side of the house, even in summer, when every other place would be cooler.",
    'and the other one (see above) are "equal" up to a constant.',
    "n'est pas ouverte le dimanche.",
    "runs in O(n log n) time.",
    "said: 'I'd rather not.'",
    "became popular after the war -- nobody knows why.",
    "has no inverse, since its determinant is 0.",
    "can be proved by induction on n.",
    "sold 1,204 tickets at $12 each.",
    "looks fine to me 👍",
    "should be read twice",
)
HARD = (
    "x",
    "42",
    "   spaces   around   ",
    "UPPER lower MiXeD",
    "naïve café e\u0301 façade",
    "日本語の文です。",
    "Это предложение на русском.",
    "هذه جملة",
    "def f(x):\n\treturn x ** 2",
    "a-very-long-hyphenated-word-that-goes-on-and-on-and-on",
)
SENTENCES = [f"{subject} {predicate}" for subject in SUBJECTS for predicate in PREDICATES] + list(
    HARD
)
