def _assay_compare(text, changed_function):
    import ast
    import copy
    import json

    reference, sources, calls, name, marker, is_sorted = json.loads(text)
    right = {"__name__": "reference"}
    exec(reference, right)

    expected = right.get(name)
    if expected is None:
        expected = getattr(right["Solution"](), name)
    changed = changed_function()

    inputs = [list(call) for call in calls]
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if not named or node.func.id not in (name, "candidate") or node.keywords:
                continue
            try:
                inputs.append([ast.literal_eval(argument) for argument in node.args])
            except (ValueError, TypeError, SyntaxError):
                pass
    inputs = [given for given in inputs if given and len(given) == len(inputs[0])][:20]

    def lowest(numbers):
        least = min(numbers)
        return 1 if least >= 1 else 0 if least >= 0 else 2 * least

    def near(value, seen):
        if isinstance(value, bool):
            return [not value]
        if isinstance(value, int):
            low = lowest([v for v in seen if type(v) is int] + [value])
            made = (value - 1, value + 1, value // 2, 1, value * 2, 0)
            return [v for v in made if v >= low and v != value]
        if isinstance(value, float):
            low = lowest([v for v in seen if type(v) is float] + [value])
            return [v for v in (value + 0.5, value - 0.5, value * 2.0) if v >= low]
        if isinstance(value, str):
            short = lowest([len(v) for v in seen if isinstance(v, str)] + [len(value)])
            made = [value[1:], value[:-1], value + value[-1:]]
            made += [value[::-1], value[:1] + value, value * 2]
            return [v for v in made if len(v) >= short]
        if isinstance(value, (list, tuple)):
            kind = type(value)
            short = lowest([len(v) for v in seen if isinstance(v, kind)] + [len(value)])
            made = [value[1:], value[:-1], value + value[-1:]]
            made += [value[::-1], value[:1] + value, value * 2]
            inner = [one for other in seen if isinstance(other, kind) for one in other]
            for at in range(min(len(value), 4)):
                for one in near(value[at], inner)[:4]:
                    made.append(value[:at] + kind([one]) + value[at + 1 :])
            return [v for v in made if len(v) >= short]
        if isinstance(value, dict):
            return [dict(list(value.items())[1:])] if len(value) > 1 else []
        return []

    def shapes(value):
        if isinstance(value, str):
            depth, brackets = 0, [one for one in value if one in "()[]{}"]
            for one in brackets:
                depth += 1 if one in "([{" else -1
                if depth < 0:
                    return set()
            return {"balanced"} if brackets and depth == 0 else set()
        found = set()
        if isinstance(value, (list, tuple)) and value:
            if all(isinstance(row, (list, tuple)) for row in value):
                widths = {len(row) for row in value}
                found |= {"rectangular"} if len(widths) == 1 else set()
                found |= {"square"} if widths == {len(value)} else set()
            elif is_sorted:
                try:
                    if list(value) == sorted(value):
                        found.add("sorted")
                except TypeError:
                    pass
        return found

    def result(of, given):
        try:
            value = of(*copy.deepcopy(given))
            if hasattr(value, "__next__"):
                value = list(value)
            return True, value
        except Exception as error:
            return False, type(error).__name__

    def same(one, other):
        if isinstance(one, float) and isinstance(other, (int, float)):
            return one == other or abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
        return type(one) is type(other) and one == other or repr(one) == repr(other)

    tried = 0
    for given in inputs:
        for at in range(len(given)):
            seen = [other[at] for other in inputs]
            shared = set.intersection(*map(shapes, seen)) if len(seen) > 1 else set()
            for value in near(given[at], seen):
                if not shared <= shapes(value):
                    continue
                tried += 1
                if tried > 150:
                    return
                made = given[:at] + [value] + given[at + 1 :]
                works, want = result(expected, made)
                if not works or want != want or " at 0x" in repr(want):
                    continue
                if same(want, result(changed, made)[1]):
                    continue
                shown = ", ".join(map(repr, made))
                test = f"assert {name}({shown}) == {want!r}"
                if len(test) <= 400:
                    raise AssertionError(marker + test)
