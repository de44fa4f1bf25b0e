"""Charts of reports and comparisons: one call, one picture (needs the extra `plots`).

Each function takes a report, a comparison or a frame and gives an Altair chart, which a notebook
shows as it is. `svg`, `png` and `save` turn it into a file without a network. A chart never holds
more than 5,000 rows, however many queries there are: what is grouped, or left out, its subtitle
says. Colours are those of Okabe and Ito, which colour-blind readers can tell apart.
"""

from evalframe.plots.breakdowns import coverage, heat_map
from evalframe.plots.files import png, save, svg
from evalframe.plots.levels import curves, precision_recall
from evalframe.plots.spread import distribution
from evalframe.plots.versus import differences, scatter

__all__ = [
    "coverage",
    "curves",
    "differences",
    "distribution",
    "heat_map",
    "png",
    "precision_recall",
    "save",
    "scatter",
    "svg",
]
