"""A shop whose slow work is done by jobs."""
