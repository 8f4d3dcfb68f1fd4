"""The dashboard, the alerts and the collector ask for what the database tells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psycopg
import pytest
import yaml

from tests.docs.promql import Expression
from tests.factories import Factory

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "grafana"
BOARD = json.loads((FOLDER / "pycortex.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
COLLECTOR = yaml.safe_load((FOLDER / "sql_exporter.yml").read_text(encoding="utf-8"))
PANELS = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
RULES = {rule["alert"]: rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]}


@pytest.fixture
def told(database) -> dict[str, set[str]]:
    """Every metric of a database in which everything happens, with the labels that it has."""
    with psycopg.connect(database, autocommit=True) as conn:
        factory = Factory(conn)
        for status in ("queued", "running", "succeeded", "failed", "interrupted", "cancelled"):
            factory.make_job(status)
        conn.execute("select cortex.maintain()")
        [page] = conn.execute("select cortex.metrics()").fetchone()
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", page, re.M):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    return found


@pytest.mark.parametrize("text", [*PANELS, *RULES.values()])
def test_every_expression_parses_and_asks_for_what_there_is(told, text):
    expression = Expression(text)

    assert expression.metrics
    for name, labels in expression.metrics:
        assert name in told
        assert labels <= told[name] | {"instance", "job"}


def test_every_metric_has_its_place_on_the_dashboard(told):
    shown = {name for text in PANELS for name, _ in Expression(text).metrics}

    assert shown == set(told)


@pytest.mark.parametrize(
    "text",
    [
        "sum(cortex_jobs_active",
        "cortex_jobs_active{status=}",
        "cortex_jobs_active > ",
        "by (kind) cortex",
        "a b",
        'x{y="z}',
        "sum by kind (x)",
        "nosuch(x)",
    ],
)
def test_what_is_no_expression_does_not_parse(text):
    with pytest.raises(ValueError, match="promql"):
        Expression(text)


def test_no_two_panels_stand_in_one_place():
    places = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & places, panel["title"]
        places |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_the_page_explains_every_alert_with_its_expression():
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")

    explained = dict(re.findall(r"^\| (Cortex\w+) \| `(.*?)` \|", page, re.M))

    assert {name: text.replace(r"\|", "|") for name, text in explained.items()} == RULES


def test_the_collector_finds_the_same_metrics_with_the_same_labels(told, database):
    found = {}
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("set role cortex_reader")
        for metric in COLLECTOR["metrics"]:
            cursor = conn.execute(metric["query"])
            columns = {column.name for column in cursor.description}
            labels = set(metric.get("key_labels", ()))
            assert columns == labels | set(metric["values"])
            assert cursor.fetchall()
            found[metric["metric_name"]] = labels

    assert found == told
