"""Speed and memory, each as a ratio measured in one run; `make bench` prints them all."""
