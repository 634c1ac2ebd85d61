"""Accountants: they see mechanisms and numbers only, never models or data."""
