"""One worker for the tests of a file."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from oi_engine.models.worker_client import ModelWorker, WorkerModel
from tests.integration.model_worker.asking import environ


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[ModelWorker]:
    worker = ModelWorker({"MISTRAL_API_KEY": "test-key-of-mistral"}, environ=environ())
    yield worker
    await worker.close()


@pytest.fixture
def model(worker: ModelWorker) -> WorkerModel:
    return WorkerModel(worker)
