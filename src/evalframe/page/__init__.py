"""One file to hand on: a page of tables, charts and texts that needs nothing but itself."""

from evalframe.page.charts import figures
from evalframe.page.document import document, section, write_document, write_table
from evalframe.page.parts import (
    details,
    facts,
    left_out,
    listed,
    paragraph,
    subheading,
    table,
    text_block,
)

__all__ = [
    "details",
    "document",
    "facts",
    "figures",
    "left_out",
    "listed",
    "paragraph",
    "section",
    "subheading",
    "table",
    "text_block",
    "write_document",
    "write_table",
]
