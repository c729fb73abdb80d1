"""Excuses: named reasons to believe AD where it disagrees with differences, or to say that nothing can be seen. One file each.

A new one is found by looking; see `base.Excuse`. Its tests stand in `tests/worker_side/excuses`, under its own name.
"""
