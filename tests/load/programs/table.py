# Dynamic programming over two strings.
a = [i * i % 26 for i in range(1_100)]
b = [i * 7 % 26 for i in range(1_100)]
row = [0] * (len(b) + 1)
for x in a:
    diagonal = 0
    for j, y in enumerate(b, 1):
        diagonal, row[j] = row[j], diagonal + 1 if x == y else max(row[j], row[j - 1])
print(row[-1])
