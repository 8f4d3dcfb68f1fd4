"""The bodies of the shop's jobs: one that takes a moment, one that takes its time."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pycortex


@pycortex.job("invoice")
def invoice(progress: pycortex.JobProgress) -> dict[str, Any]:
    """Add up the lines of an order: [{"item": "…", "price": "9.90", "quantity": 2}, …]."""
    lines = progress.params.get("lines", [])
    total = Decimal(0)
    for done, line in enumerate(lines, 1):
        if line["quantity"] < 1:
            raise pycortex.JobFailed(f"line {done} orders {line['quantity']} of {line['item']}")
        total += Decimal(line["price"]) * line["quantity"]
        progress.step(done, len(lines), line["item"])
    return {"total": total}


@pycortex.job("thumbnails")
def thumbnails(progress: pycortex.JobProgress) -> dict[str, Any]:
    """Pretend to make a small picture of each page."""
    pages = progress.params.get("pages", 10)
    for page in range(1, pages + 1):
        time.sleep(progress.params.get("seconds_per_page", 0.5))
        progress.step(page, pages, f"page {page}")
    return {"pages": pages}
