"""Durable background jobs that live in PostgreSQL."""
