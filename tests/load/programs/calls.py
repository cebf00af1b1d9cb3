# Function calls and local variables.
def step(x, y):
    return (x * 31 + y) % 1_000_003


value = 1
for i in range(1_500_000):
    value = step(value, i)
print(value)
