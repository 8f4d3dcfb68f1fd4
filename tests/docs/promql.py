"""As much of Prometheus' query language as tells an expression from what is none."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"\s*(?:(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<number>\d+(?:\.\d+)?(?![\w]))"
    r"|(?P<range>\[\d+[smhdwy]\])|(?P<name>[A-Za-z_]\w*)|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^<>=(){},]))"
)
AGGREGATES = {"sum", "min", "max", "avg", "count", "topk"}
FUNCTIONS = {"absent", "vector", "rate", "increase", "max_over_time", "min_over_time", "time"}
OPERATORS = {"+", "-", "*", "/", "%", "^", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless"}
GROUPING = {"by", "without", "on", "ignoring"}


class Expression:
    """
    A parsed expression.

    Attributes:
        metrics: The metrics it asks for, each with the labels by which it chooses or groups.

    Raises:
        ValueError: It is none.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        text = text.strip()
        while place < len(text):
            found = TOKEN.match(text, place)
            if found is None:
                raise ValueError(f"promql: what is {text[place:]!r}?")
            self._tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            place = found.end()
        self._at = 0
        self.metrics: list[tuple[str, set[str]]] = []
        self._expression()
        if self._at < len(self._tokens):
            raise ValueError(f"promql: {self._tokens[self._at][1]!r} is too much")

    def _next(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str, kind: str | None = None) -> str:
        if self._at >= len(self._tokens):
            raise ValueError("promql: the end comes too soon")
        found, text = self._tokens[self._at]
        if (wanted and text not in wanted) or (kind and found != kind):
            raise ValueError(f"promql: {text!r} where {wanted or kind} should be")
        self._at += 1
        return text

    def _expression(self) -> None:
        self._operand()
        while self._next() in OPERATORS:
            self._take()
            if self._next() in GROUPING:
                self._grouping()
            self._operand()

    def _operand(self) -> None:
        if self._next() == "(":
            self._inside()
        elif self._at < len(self._tokens) and self._tokens[self._at][0] == "number":
            self._take()
        else:
            name = self._take(kind="name")
            if name in AGGREGATES:
                labels = self._grouping() if self._next() in GROUPING else set()
                before = len(self.metrics)
                self._inside()
                for _, asked in self.metrics[before:]:
                    asked |= labels
            elif self._next() == "(":
                if name not in FUNCTIONS:
                    raise ValueError(f"promql: no function {name}")
                self._inside()
            elif name in GROUPING | OPERATORS:
                raise ValueError(f"promql: {name} stands for nothing")
            else:
                self.metrics.append((name, self._choice()))

    def _inside(self) -> None:
        self._take("(")
        while True:
            self._expression()
            if self._take(",", ")") == ")":
                return

    def _grouping(self) -> set[str]:
        self._take(*GROUPING)
        self._take("(")
        labels = {self._take(kind="name")}
        while self._take(",", ")") == ",":
            labels.add(self._take(kind="name"))
        return labels

    def _choice(self) -> set[str]:
        labels: set[str] = set()
        if self._next() == "{":
            self._take("{")
            while self._next() != "}":
                labels.add(self._take(kind="name"))
                self._take("=", "!=", "=~", "!~")
                self._take(kind="string")
                if self._next() == ",":
                    self._take(",")
            self._take("}")
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "range":
            self._take()
        return labels
