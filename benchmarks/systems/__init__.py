"""The job systems that are compared: each a program that sets up, enqueues and works."""
