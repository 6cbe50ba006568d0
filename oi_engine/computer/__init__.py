"""The computer: runs approved code in live kernels."""
