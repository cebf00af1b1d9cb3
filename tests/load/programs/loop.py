# An empty loop with arithmetic at module level.
total = 0
for i in range(4_000_000):
    total += i & 3
print(total)
