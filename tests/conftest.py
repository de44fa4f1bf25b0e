"""Where the tests find the data they share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public evaluation data beside the project (`EVALFRAME_SHARED`)."""
    folder = Path(os.environ.get("EVALFRAME_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no shared test data at {folder}; set EVALFRAME_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def retrieval_data(shared: Path) -> Path:
    """Public qrels, runs and expected values."""
    return shared / "data" / "retrieval"


@pytest.fixture(scope="session")
def rag_data(shared: Path) -> Path:
    """Public RAG samples and expected values."""
    return shared / "data" / "rag"


@pytest.fixture(scope="session")
def handbook() -> Path:
    """The test collection that ships with the project."""
    return ROOT / "data" / "handbook"
