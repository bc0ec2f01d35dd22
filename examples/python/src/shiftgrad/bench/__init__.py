"""Models of transformers as they are and after sg.accelerate, timed: `python -m shiftgrad.bench --help`."""
