"""What the makers of pycortex use; nothing of it is shipped."""
