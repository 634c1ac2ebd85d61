"""From notebook source to page: each step is a program with explicit inputs and outputs, and Snakemake joins them."""
