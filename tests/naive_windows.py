"""A naive twin: windows of a long sentence, from their definition, piece by piece."""


def windows(lengths: list[int], limit: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the first word of each window and that after its last, and the window that each word belongs to."""
    n, found = len(lengths), []
    start = 0
    while True:
        end = start
        while end < n and sum(lengths[start : end + 1]) <= limit:
            end += 1
        found.append((start, end))
        if end == n:
            break
        start = min(
            first
            for first in range(start + 1, end + 1)
            if sum(lengths[first:end]) <= limit // 4 and sum(lengths[first : end + 1]) <= limit
        )
    owners = []
    for word in range(n):
        distance = {
            number: min(sum(lengths[start:word]), sum(lengths[word + 1 : end]))
            for number, (start, end) in enumerate(found)
            if start <= word < end
        }
        owners.append(min(distance, key=lambda number: (-distance[number], number)))
    return found, owners
