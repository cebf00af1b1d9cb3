# Floating-point arithmetic through the math module.
import math

total = 0.0
for i in range(1, 1_000_001):
    total += math.sin(i) * math.sqrt(i) / (1.0 + i % 7)
print(f"{total:.6f}")
