"""Speed, memory and interval width of the certified accountant beside two others: ``python -m tests.benchmarks``."""
