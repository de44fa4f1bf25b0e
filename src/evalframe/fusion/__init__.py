"""Several runs as one: normalised scores, methods by name, and parameters found by trying."""

from evalframe.fusion.fusing import fuse
from evalframe.fusion.methods import METHODS
from evalframe.fusion.normalising import normalise
from evalframe.fusion.tuning import Tuning, tune

__all__ = ["METHODS", "Tuning", "fuse", "normalise", "tune"]
