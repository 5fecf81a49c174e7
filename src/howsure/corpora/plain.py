"""Sentences as plain text of the corpora that serve language models, each with the number of the document it is from."""

import re
from pathlib import Path

NOT_SAID = re.compile(r"[<>()*{}:;!`]")  # marks of the transcribers inside words


def restaurant_utterances(path: str | Path) -> list[str]:
    """The Berkeley Restaurant Project's transcript: words said, without its names of files, noises and broken-off words."""
    made = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        words = [NOT_SAID.sub("", w) for w in line.split()[1:] if "[" not in w and "]" not in w]
        kept = [w for w in words if w not in ("", ".") and not w.endswith("-")]
        if kept:
            made.append(" ".join(kept))
    return made


def brown_sentences(folder: str | Path, pattern: str = "c[a-r][0-9][0-9]") -> tuple[list[str], list[int]]:
    """The Brown corpus in lower case, and the number of each sentence's file."""
    sentences, groups = [], []
    for number, path in enumerate(sorted(Path(folder).glob(pattern))):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                sentences.append(" ".join(t.rsplit("/", 1)[0] for t in line.split()).lower())
                groups.append(number)
    return sentences, groups


def chunked_sentences(folder: str | Path) -> list[str]:
    """The Wall Street Journal of CoNLL-2000 in lower case; it does not say where articles begin."""
    sentences = []
    for name in ("train.txt", "test.txt"):
        for block in (Path(folder) / name).read_text(encoding="utf-8").split("\n\n"):
            if block.strip():
                sentences.append(" ".join(line.split()[0] for line in block.strip().split("\n")).lower())
    return sentences


def speeches(folder: str | Path) -> tuple[list[str], list[int], list[str]]:
    """Speeches of plays in XML, the number of each one's scene, and its play."""
    from xml.etree import ElementTree

    made, scenes, plays, number = [], [], [], 0
    for path in sorted(Path(folder).glob("*.xml")):
        for scene in ElementTree.parse(path).getroot().iter("SCENE"):
            for speech in scene.iter("SPEECH"):
                text = re.sub(r"\s+", " ", " ".join("".join(line.itertext()) for line in speech.iter("LINE"))).strip()
                if text:
                    made.append(text)
                    scenes.append(number)
                    plays.append(path.stem)
            number += 1
    return made, scenes, plays


def marks_apart(text: str) -> str:
    """Lower case with punctuation marks set apart by spaces, as `--units punctuation` reads it.

    >>> marks_apart("What, ho! It's late.")
    "what , ho ! it's late ."
    """
    return " ".join(re.findall(r"\w+(?:['’]\w+)*|[^\w\s]", text.lower()))
