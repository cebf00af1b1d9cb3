# Strings and dictionaries.
counts = {}
for i in range(500_000):
    word = "w" + str(i * 7919 % 50_021)
    counts[word] = counts.get(word, 0) + 1
best = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
print(len(counts), best)
