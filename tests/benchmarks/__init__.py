"""Speed, memory and accuracy beside what others do: ``python -m tests.benchmarks [accountant] [denoiser]``."""
