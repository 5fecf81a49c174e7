"""Logs of language models: `howsure.Log`, which every verb that reads a table takes."""

from howsure.engines.logs.table import Log as Log
from howsure.engines.logs.table import logged as logged
