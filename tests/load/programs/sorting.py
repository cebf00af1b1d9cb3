# Sorting integers from a linear congruential generator.
state, values = 12345, []
for _ in range(500_000):
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    values.append(state)
values.sort()
print(values[0], values[len(values) // 2], values[-1])
