"""Write the demo table: top probability of a 36-class relation classifier, whether it was right, and its sense.

    HOWSURE_DATA=… python bench/writers/make_demo_table.py

Source: relation-probabilities (CC BY); only numbers and label names are kept.
"""

import csv
import json
import os
from pathlib import Path

SOURCE = Path(os.environ["HOWSURE_DATA"]) / "relation-probabilities" / "predictions.jsonl"
TARGET = Path(__file__).parents[2] / "src" / "howsure" / "data" / "relations.csv"

with SOURCE.open() as lines, TARGET.open("w", newline="") as out:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["confidence", "correct", "predicted"])
    for line in lines:
        record = json.loads(line)
        probs = record["relation_probs"]
        top = max(probs, key=probs.get)
        # Softmax in single precision may sum to a hair above one.
        writer.writerow([f"{min(probs[top], 1.0):.9g}", int(top == record["gold_relation"]), top.split(".")[0]])
