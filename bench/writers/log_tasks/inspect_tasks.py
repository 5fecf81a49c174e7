"""Two small tasks of inspect_ai on its mock model: multiple choice, and open answers with stated confidence, three epochs.

Run by ../write_log_fixtures.py inside an environment that has inspect_ai: python inspect_tasks.py FOLDER
"""

import math
import random
import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, GenerateConfig, Logprob, Logprobs, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, match
from inspect_ai.solver import generate, multiple_choice

RNG = random.Random(7)


def said(text: str) -> ModelOutput:
    """An answer of the mock model, with a log-probability for each word; usage is given so that nothing is downloaded."""
    made = ModelOutput.from_content("mockllm/model", text)
    made.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    tokens = [Logprob(token=t, logprob=math.log(RNG.uniform(0.5, 0.99)), bytes=None) for t in text.split()]
    made.choices[0].logprobs = Logprobs(content=tokens)
    return made


def main(folder: str) -> None:
    sums = [
        Sample(
            id=f"sum-{i}",
            input=f"What is {i} + {i + 3}?",
            choices=[str(2 * i + 3 + d) for d in (0, 1, -1, 10)],
            target="A",
            metadata={"template": f"t{i % 3}"},
        )
        for i in range(8)
    ]
    products = [
        Sample(
            id=f"product-{i}",
            input=f"What is {i} times {i + 2}?",
            target=str(i * (i + 2)),
            metadata={"template": f"t{i % 3}"},
        )
        for i in range(4)
    ]
    config = GenerateConfig(logprobs=True)

    def letter(*_: object) -> ModelOutput:
        return said(f"ANSWER: {RNG.choice('AAAB')}")

    def number(asked: list[ChatMessage], *_: object) -> ModelOutput:
        a, b = (int(w.strip("?")) for w in asked[-1].text.split() if w.strip("?").isdigit())
        return said(f"Confidence: {RNG.choice([60, 75, 90])}%\nThe answer is {a * b + (RNG.random() < 0.3)}")

    tasks = [
        (
            Task(MemoryDataset(sums), solver=multiple_choice(), scorer=choice(), name="sums", config=config),
            letter,
            "eval",
        ),
        (
            Task(
                MemoryDataset(products),
                solver=generate(),
                scorer=match(numeric=True),
                epochs=3,
                name="products",
                config=config,
            ),
            number,
            "json",
        ),
    ]
    for task, outputs, form in tasks:
        model = get_model("mockllm/model", custom_outputs=outputs)
        eval(task, model=model, log_dir=folder, log_format=form, display="none", max_samples=1)


main(sys.argv[1])
