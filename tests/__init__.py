"""Tests of pycortex: a package, so that its helpers import the same way everywhere."""
