"""Makes ``python -m pycortex`` the command."""

from pycortex.cli import main

if __name__ == "__main__":
    main(prog_name="pycortex")
