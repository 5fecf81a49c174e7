"""A social scientist: how many documents a year describe an attack by X, and how sure is that number?

    python examples/for_social_scientists.py

Sixty short stories ship with the package; their countries and events are made up. Every story is parsed, the whole posterior
over which mentions are the same entity is kept, and documents are counted under it: each year gets a distribution instead of
a number. The output goes down to the one link between two mentions that the least certain document hangs on.
"""

import textwrap

import howsure


def main():
    found = howsure.explore(every="year")
    print(textwrap.fill(found.verdict, 78) + "\n")

    print("Documents a year in which an agent of attack is of Valdoria or Kessia")
    print(f"  {'':<10}{'year':<6}{'mean':>6}{'95%':>8}{'one-best':>10}")
    for code in ("VAL", "KES"):
        for count in found.timeline(code):
            low, high = count.intervals[0.95]
            print(f"  {found.name(code):<10}{count.period:<6}{count.mean:>6.1f}{f'{low}–{high}':>8}{count.best:>10}")

    both = found.compare_all("VAL", "KES")
    print(f"\nP(Valdoria in more documents than Kessia) = {both.above(0):.2f}, over all years")

    least = found.top("VAL", uncertain=True, limit=1)[0]
    print(f"\nThe least certain document: {least.id}, {least.probability:.2f}")
    for chain in least.to_dict()["chains"]:
        for line in (f'"{chain["sentence"]}"', f"Hangs on {chain['hangs_on']}."):
            print(textwrap.fill(line, 80, initial_indent="  ", subsequent_indent="  "))

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    found.plot(axes, actors=["VAL", "KES"], every="quarter")
    figure.savefig("social-scientist.svg")
    return found


if __name__ == "__main__":
    main()
