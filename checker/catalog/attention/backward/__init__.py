"""Attention's causal backward pass: gradients, cases, wrong ideas."""
