# Lists of booleans and slice assignment.
n = 3_000_000
prime = [True] * (n + 1)
for i in range(2, int(n**0.5) + 1):
    if prime[i]:
        prime[i * i :: i] = [False] * len(range(i * i, n + 1, i))
print(sum(prime) - 2)
