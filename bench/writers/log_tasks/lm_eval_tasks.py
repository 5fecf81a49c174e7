"""Two small tasks of lm-evaluation-harness on its dummy model: multiple choice, and open answers with three samples each.

Run by ../write_log_fixtures.py inside an environment that has lm-eval: python lm_eval_tasks.py FOLDER
"""

import json
import random
import sys
import tempfile
from pathlib import Path

from lm_eval.__main__ import cli_evaluate

CHOICE = """\
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: QUESTIONS}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
OPEN = """\
task: products
dataset_path: json
dataset_kwargs: {data_files: {test: QUESTIONS}}
test_split: test
output_type: generate_until
generation_kwargs: {until: ["\\n"]}
repeats: 3
doc_to_text: "{{question}}"
doc_to_target: "{{result}}"
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


def main(folder: str) -> None:
    random.seed(7)
    with tempfile.TemporaryDirectory() as tasks:
        questions = [
            {
                "question": f"What is {i} + {i + 3}?",
                "choices": [str(2 * i + 3 + d) for d in (0, 1, -1, 10)],
                "answer": 0,
                "result": "lol" if i % 3 == 0 else str(2 * i + 3),
                "template": f"t{i % 3}",
            }
            for i in range(12)
        ]
        path = Path(tasks) / "questions.jsonl"
        path.write_text("".join(json.dumps(q) + "\n" for q in questions))
        for name, text in (("sums", CHOICE), ("products", OPEN)):
            (Path(tasks) / f"{name}.yaml").write_text(text.replace("QUESTIONS", str(path)))
        sys.argv = ["lm_eval", "run", "--model", "dummy", "--tasks", "sums,products", "--include_path", tasks]
        sys.argv += ["--log_samples", "--output_path", folder]
        cli_evaluate()


main(sys.argv[1])
