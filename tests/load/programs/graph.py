# Shortest paths with a heap over objects.
import heapq


class Edge:
    def __init__(self, target, weight):
        self.target, self.weight = target, weight


n = 40_000
graph = [
    [Edge((i * 7 + 1) % n, i % 11 + 1), Edge((i * 13 + 5) % n, i % 17 + 1), Edge((i + 1) % n, 3)]
    for i in range(n)
]
distance, heap = [None] * n, [(0, 0)]
while heap:
    far, node = heapq.heappop(heap)
    if distance[node] is None:
        distance[node] = far
        for edge in graph[node]:
            if distance[edge.target] is None:
                heapq.heappush(heap, (far + edge.weight, edge.target))
print(max(distance), sum(distance))
