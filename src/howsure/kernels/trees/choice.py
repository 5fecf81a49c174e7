"""The kernels of trees by name: `kernel(name, work)`, the work in steps of the inner loop."""

from howsure.kernels.choice import by_name, chosen
from howsure.kernels.trees import arc_models, charts, projective

kernel = chosen(by_name(arc_models, charts, projective), 30_000)
