"""A process that installs: for each URL on stdin, when told; says how it went."""

from __future__ import annotations

import sys

from pycortex.install import install


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            done = install(line.strip())
        except Exception as error:
            print(f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)
        else:
            print(f"ok {len(done.applied)}", flush=True)


if __name__ == "__main__":
    main()
