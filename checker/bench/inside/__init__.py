"""The process that times kernels: it is told what to launch, and knows no puzzle."""
